#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "storage/file.hpp"
#include "store/checksum.hpp"
#include "store/maintenance.hpp"

namespace hakobi::store {

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t copy_bytes_at_once = 8 << 20;

/// The checksum of all bytes of a file, as they are read; with a target they are written there.
std::uint64_t pass_through(const std::string& from, storage::File* target) {
    auto source = storage::open_file(from, {});
    source.status().throw_if_error();
    Checksum checksum;
    std::vector<std::byte> bytes(copy_bytes_at_once);
    for (std::int64_t at = 0;;) {
        const Result<std::int64_t> length = source.value()->read_at(bytes, at);
        length.status().throw_if_error();
        if (length.value() == 0) return checksum.value();
        const auto part = std::span(bytes).first(static_cast<std::size_t>(length.value()));
        checksum.add(part);
        if (target != nullptr) target->write_at(part, at).throw_if_error();
        at += length.value();
    }
}

void copy_verified(const std::string& from, const std::string& to) {
    std::uint64_t written = 0;
    {
        auto target =
            storage::open_file(to, {.read = false, .write = true, .create = true, .exclusive = true});
        target.status().throw_if_error();
        written = pass_through(from, target.value().get());
        target.value()->sync().throw_if_error();
        target.value()->close().throw_if_error();
    }
    if (pass_through(to, nullptr) != written) {
        throw Error(ErrorCode::io, to + " reads back other bytes than were written: the store is not moved");
    }
}

void copy_store(const std::string& from, const std::string& to) {
    // The marker is copied last: until then the copy is no store.
    std::vector<std::string> names;
    for (const fs::directory_entry& entry : fs::directory_iterator(from))
        names.push_back(entry.path().filename());
    std::ranges::sort(names, {},
                      [](const std::string& name) { return std::pair(name == "hakobi-store", name); });
    fs::create_directories(to);
    for (const std::string& name : names) copy_verified(from + "/" + name, to + "/" + name);
    sync_folder(to);
}

}  // namespace

void move_store(const Folder& folder, const std::string& target) {
    if (fs::exists(target))
        throw Error(ErrorCode::exists, "cannot move the store to " + target + ": it exists");
    for (const WriterFiles& files : folder.contents().writers) {
        if (files.has_index && is_writer_alive(folder, files)) {
            throw Error(ErrorCode::exists, "cannot move the store " + folder.path() + ": the writer " +
                                               files.stem + " is at work");
        }
    }
    const std::string parent = fs::absolute(target).parent_path().string();
    if (!fs::is_directory(parent)) throw Error(ErrorCode::not_found, "no folder " + parent);
    if (std::rename(folder.path().c_str(), target.c_str()) == 0) {
        sync_folder(parent);
        return;
    }
    if (errno != EXDEV) status_of_errno(errno, "cannot move the store to", target).throw_if_error();
    const std::string part = target + ".part";
    std::error_code ignored;
    try {
        copy_store(folder.path(), part);
        if (std::rename(part.c_str(), target.c_str()) != 0) {
            status_of_errno(errno, "cannot move the store to", target).throw_if_error();
        }
        sync_folder(parent);
    } catch (...) {
        fs::remove_all(part, ignored);
        throw;
    }
    // The copy is whole and in place. The marker goes first: what is left of the source is no store any more.
    storage::remove_file(folder.path() + "/hakobi-store").throw_if_error();
    std::error_code error;
    fs::remove_all(folder.path(), error);
    if (error)
        status_of_errno(error.value(), "the store is moved, but not all could be removed of", folder.path())
            .throw_if_error();
}

std::int64_t move_fields(Store& source, std::string_view request, const std::string& target) {
    const Folder folder = Folder::open(source.path(), "");
    const Listing fields = source.list(request);
    if (fields.size() == 0) return 0;
    const bool is_new = !fs::exists(target + "/hakobi-store");
    // The schema's own file is what a new store is made of.
    Store to = Store::open(target, {.schema = is_new ? source.path() + "/schema" : std::string()});
    if (fs::equivalent(source.path(), target)) {
        throw Error(ErrorCode::invalid_argument, "fields cannot be moved to the store that holds them");
    }
    source.retrieve(fields, [&](const FieldInfo& info, std::span<const std::byte> bytes) {
        to.archive(info.key, bytes, info.form);
    });
    to.flush();
    to.close();
    // Read back before anything is removed.
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < fields.size(); ++i) {
        const std::vector<std::byte> bytes = to.retrieve(fields[i].key);
        if (checksum_of(bytes) != fields[i].checksum) {
            throw Error(ErrorCode::io, "a field in " + target +
                                           " reads back other bytes than were written: nothing is removed");
        }
        ++count;
    }
    wipe(folder, plan_wipe(folder, fields));
    return count;
}

}  // namespace hakobi::store
