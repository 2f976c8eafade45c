#include "series/step_file.hpp"

#include <algorithm>
#include <cassert>
#include <vector>

#include "format/registry.hpp"
#include "series/series.hpp"
#include "storage/file.hpp"
#include "storage/joined.hpp"

namespace hakobi::series {

Status check_free(const std::string& path, bool is_file_right) {
    const storage::FileFacts found = storage::facts_of(path);
    if (!found.is_there()) return {};
    const bool is_file = found.is_file() || found.kind == storage::FileFacts::Kind::link;
    if (is_file && is_file_right) return {};
    const char* const what = found.is_folder() ? "folder" : is_file ? "file" : "special file";
    return {ErrorCode::exists, "cannot write " + path + ": a " + what + " of that name is in the way"};
}

bool has_other_names(const std::string& path) {
    const storage::FileFacts found = storage::facts_of(path);
    return found.is_file() && found.num_names > 1;
}

Status write_metadata(storage::File& file, std::span<const format::Extent> metadata) {
    Status status;
    for (const format::Extent& extent : metadata) {
        if (status.ok()) status = file.write_at(extent.bytes, extent.offset_bytes);
    }
    return status;
}

Status create_file(const std::string& path, std::span<const format::Extent> metadata, std::int64_t file_bytes,
                   bool is_made) {
    Result<storage::FilePtr> opened = storage::open_file(
        path,
        {.read = false, .write = true, .create = !is_made, .exclusive = !is_made, .regular_only = true});
    if (!opened.ok() && is_made) storage::discard_file(path);
    if (!opened.ok()) return opened.status();
    Discarding part(path);
    storage::File& file = *opened.value();
    Status status = write_metadata(file, metadata);
    if (status.ok()) status = file.set_size(file_bytes);
    status.keep_first(file.close());
    if (status.ok()) part.keep();
    return status;
}

Status commit_step(const std::string& path, std::span<const format::Extent> commit,
                   std::span<const std::byte> before, bool sync) {
    Result<storage::FilePtr> opened =
        storage::open_file(path, {.read = true, .write = true, .regular_only = true});
    if (!opened.ok()) return opened.status();
    assert(!commit.empty() && before.size() <= commit.back().bytes.size());
    storage::File& file = *opened.value();
    std::vector<std::byte> begins(before.size());
    const Result<std::int64_t> read = begins.empty() ? Result<std::int64_t>(0) : file.read_at(begins, 0);
    if (!read.ok()) return read.status();
    if (!std::ranges::equal(begins, before)) {
        return {ErrorCode::exists, "cannot add a step to " + path +
                                       ": another program has written to the file since the step before, "
                                       "whose steps are left as they are"};
    }
    Status status = write_metadata(file, commit.first(commit.size() - 1));
    if (status.ok() && sync) status = file.sync();
    if (status.ok()) status = write_metadata(file, commit.last(1));
    if (status.ok() && sync) status = file.sync();
    status.keep_first(file.close());
    return status;
}

Result<std::vector<std::byte>> read_beginning(const std::string& path, std::int64_t num_bytes) {
    Result<storage::FilePtr> file = storage::open_file(path, {.regular_only = true});
    if (!file.ok()) return file.status();
    std::vector<std::byte> bytes(static_cast<std::size_t>(num_bytes));
    const Result<std::int64_t> read = file.value()->read_at(bytes, 0);
    if (!read.ok()) return read.status();
    bytes.resize(static_cast<std::size_t>(read.value()));
    return bytes;
}

Status make_longer(const std::string& path, std::int64_t file_bytes) {
    Result<storage::FilePtr> file =
        storage::open_file(path, {.read = true, .write = true, .regular_only = true});
    if (!file.ok()) return file.status();
    const Result<std::int64_t> size = file.value()->size_bytes();
    Status status = size.status();
    if (status.ok() && size.value() < file_bytes) status = file.value()->set_size(file_bytes);
    status.keep_first(file.value()->close());
    return status;
}

Status cut_file(const std::string& path, std::int64_t file_bytes, std::span<const std::byte> begins) {
    Result<storage::FilePtr> file =
        storage::open_file(path, {.read = true, .write = true, .regular_only = true});
    if (!file.ok()) return file.status();
    std::vector<std::byte> found(begins.size());
    const Result<std::int64_t> read =
        found.empty() ? Result<std::int64_t>(0) : file.value()->read_at(found, 0);
    if (!read.ok()) return read.status();
    if (!std::ranges::equal(found, begins)) return {};
    const Result<std::int64_t> size = file.value()->size_bytes();
    Status status = size.status();
    if (status.ok() && size.value() > file_bytes) status = file.value()->set_size(file_bytes);
    status.keep_first(file.value()->close());
    return status;
}

namespace {

std::string description_path(const std::string& folder) {
    return folder + "/step";
}

/// A folder whose remover was killed.
Status no_description(const std::string& folder) {
    return {ErrorCode::format, description_path(folder) + " is missing"};
}

Status sync_file(const std::string& path) {
    Result<storage::FilePtr> file =
        storage::open_file(path, {.read = true, .write = true, .regular_only = true});
    if (!file.ok()) return file.status();
    Status status = file.value()->sync();
    status.keep_first(file.value()->close());
    return status;
}

}  // namespace

Status sync_named(const std::string& path) {
    Status status = sync_file(path);
    const std::string folder = storage::system_path(folder_of(path));
    if (status.ok() && !folder.empty()) status = storage::sync_posix_folder(folder);
    return status;
}

Status finish_file(const std::string& part, const std::string& path, bool sync) {
    if (Status status = check_free(path); !status.ok()) return status;
    if (Status status = sync ? sync_file(part) : Status(); !status.ok()) return status;
    return storage::commit_file(part, path, {.is_durable = sync});
}

Status create_step(const std::string& path, const format::Layout& layout,
                   std::span<const format::Extent> metadata, const format::StepDescription& step,
                   bool is_made) {
    const std::string folder = storage::joined_folder(path);
    if (folder.empty()) return create_file(path, metadata, layout.file_bytes, is_made);
    if (Status made = storage::make_joined(folder, layout.members); !made.ok()) return made;
    Discarding part(path);
    Status status = create_file(path, metadata, layout.file_bytes, true);
    const format::Extent description{0, format::encode_step(step)};
    if (status.ok())
        status =
            create_file(description_path(folder), std::span(&description, 1), std::ssize(description.bytes));
    if (status.ok()) part.keep();
    return status;
}

Status finish_step(const std::string& part, const std::string& path, bool sync) {
    const std::string folder = storage::joined_folder(part);
    if (folder.empty()) return finish_file(part, path, sync);
    Status synced = sync ? sync_file(description_path(folder)) : Status();
    if (synced.code() == ErrorCode::not_found) return no_description(folder);
    if (synced.ok() && sync) synced = sync_file(part);  // with the folder's names
    if (!synced.ok()) return synced;
    if (series_on_stage(folder_of(path)).empty()) return add_to_store(folder, path, {.sync = sync});
    if (Status status = check_free(path); !status.ok()) return status;
    return storage::commit_file(folder, path, {.replaces = true, .is_durable = sync});
}

Status add_to_store(const std::string& folder, const std::string& path, const format::Adding& how) {
    const Result<std::vector<std::byte>> bytes =
        storage::read_whole(description_path(folder), {.regular_only = true});
    if (bytes.status().code() == ErrorCode::not_found) return no_description(folder);
    if (!bytes.ok()) return bytes.status();
    const Result<format::StepDescription> step = format::decode_step(bytes.value());
    if (!step.ok()) return Status(step.status().code(), folder + ": " + step.status().text());
    const format::Format& format = *format_of_step(path);
    if (Status status = format::check_description(step.value(), format.rules()); !status.ok())
        return {ErrorCode::format, folder + ": " + status.text()};
    return format.store()->add_step(folder, store_of(path), parse(path).step, step.value(), how);
}

bool is_of_step_alone(ErrorCode code) noexcept {
    return code == ErrorCode::format || code == ErrorCode::exists || code == ErrorCode::invalid_argument;
}

const format::Format* format_of_step(const std::string& path) {
    const Name name = parse(path);
    return name.is_of_step() ? format::format_with(name.extension) : nullptr;
}

std::string store_of(const std::string& path) {
    const format::Format* const format = format_of_step(path);
    if (format == nullptr || format->store() == nullptr) return {};
    return parse(path).prefix + std::string(format->extension());
}

Result<format::FoundStep> read_step(const std::string& path) {
    const format::Format* const format = format_of_step(path);
    if (format == nullptr) return Status(ErrorCode::format, path + ": it has no name of a step");
    return format->store() != nullptr ? format->store()->read_stored(store_of(path), parse(path).step)
                                      : format->read(path);
}

Status replace_file(const std::string& part, const std::string& path, bool sync) {
    if (Status status = sync ? sync_file(part) : Status(); !status.ok()) return status;
    return storage::commit_file(part, path, {.replaces = true, .is_durable = sync});
}

}  // namespace hakobi::series
