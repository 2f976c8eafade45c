#include "format/zarr/files.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "storage/file.hpp"

namespace hakobi::format::zarr {
namespace {

constexpr int objects_at_once = 4;  // which bounds memory

/// Makes the file under a temporary name, by `write`, and lets it replace the one of its name.
template <class Write>
Status make_file(const std::string& path, bool sync, const Write& write) {
    const std::string part = path + ".part";
    storage::discard_file(part);  // of a killed run: one process writes the group
    Result<storage::FilePtr> file = storage::open_file(
        part, {.read = false, .write = true, .create = true, .exclusive = true, .regular_only = true});
    if (!file.ok()) return file.status();
    Status status = write(*file.value());
    if (status.ok() && sync) status = file.value()->sync();
    status.keep_first(file.value()->close());
    if (status.ok()) status = storage::commit_file(part, path, {.replaces = true, .is_durable = sync});
    if (!status.ok()) storage::discard_file(part);
    return status;
}

}  // namespace

Status make_folder(const std::string& folder) {
    if (storage::is_object_store(folder)) return {};
    std::error_code error;
    std::filesystem::create_directories(storage::system_path(folder), error);
    return error ? status_of_errno(error.value(), "cannot make folder", folder) : Status();
}

Status put(const std::string& path, std::span<const std::byte> bytes, bool sync) {
    if (storage::is_object_store(path)) {
        const Result<storage::ObjectAt> object = storage::object_at(path);
        return object.ok() ? object.value().objects->put(object.value().name, bytes) : object.status();
    }
    return make_file(path, sync, [&](storage::File& file) { return file.write_at(bytes, 0); });
}

Status replace(const std::string& path, std::span<const std::byte> bytes, std::string& version, bool sync) {
    if (!storage::is_object_store(path)) return put(path, bytes, sync);
    const Result<storage::ObjectAt> object = storage::object_at(path);
    if (!object.ok()) return object.status();
    Result<std::string> replaced = object.value().objects->replace(object.value().name, bytes, version);
    if (!replaced.ok()) return replaced.status();
    version = std::move(replaced).value();
    return {};
}

Result<std::optional<storage::WholeObject>> get(const std::string& path) {
    using Found = std::optional<storage::WholeObject>;
    if (storage::is_object_store(path)) {
        const Result<storage::ObjectAt> object = storage::object_at(path);
        return object.ok() ? storage::get_object(object.value()) : object.status();
    }
    Result<std::vector<std::byte>> read = storage::read_whole(path, {.regular_only = true});
    if (read.status().code() == ErrorCode::not_found) return Found();
    if (!read.ok()) return read.status();
    return Found({std::move(read).value(), ""});
}

Status place(const std::string& from, const std::string& to, bool sync) {
    Status status = storage::commit_file(from, to, {.replaces = true, .is_durable = sync});
    if (status.code() == ErrorCode::not_found && !is_there(from) && is_there(to)) return {};
    return status;
}

Status place_copy(const std::string& from, std::int64_t file_bytes, const std::string& to, bool sync,
                  const storage::Pace& pace) {
    if (storage::is_object_store(to)) {
        const Result<storage::ObjectAt> object = storage::object_at(to);
        return object.ok() ? storage::put_file(from, file_bytes, object.value(), {}, pace) : object.status();
    }
    Result<storage::FilePtr> source = storage::open_file(from, {.regular_only = true});
    if (!source.ok()) return source.status();
    return make_file(to, sync, [&](storage::File& file) {
        return storage::copy_paced(*source.value(), file, file_bytes, pace);
    });
}

Result<std::string> version_of(const std::string& path) {
    const Result<storage::ObjectAt> object = storage::object_at(path);
    if (!object.ok()) return object.status();
    Result<storage::ObjectFacts> facts = object.value().objects->facts(object.value().name);
    if (!facts.ok()) return facts.status();
    return std::move(facts.value().version);
}

bool is_there(const std::string& path) {
    if (storage::is_object_store(path)) {
        const Result<storage::ObjectAt> object = storage::object_at(path);
        return object.ok() && object.value().objects->facts(object.value().name).ok();
    }
    struct stat info {};
    return ::stat(storage::system_path(path).c_str(), &info) == 0;
}

int num_at_once(const std::string& store) {
    return storage::is_object_store(store) ? objects_at_once : 1;
}

Result<std::vector<std::string>> names_in(const std::string& folder) {
    const Result<std::vector<storage::Listed>> listed = storage::list_folder(folder);
    if (!listed.ok()) return listed.status();
    std::vector<std::string> names;
    for (const storage::Listed& each : listed.value()) names.push_back(each.name);
    return names;
}

Status remove(const std::string& path) {
    if (storage::is_object_store(path)) {
        const Result<storage::ObjectAt> object = storage::object_at(path);
        return object.ok() ? object.value().objects->remove(object.value().name) : object.status();
    }
    Status status = storage::remove_file(path);
    return status.code() == ErrorCode::not_found ? Status() : status;
}

Status remove_folder(const std::string& folder) {
    if (storage::is_object_store(folder)) return {};
    if (::rmdir(storage::system_path(folder).c_str()) == 0 || errno == ENOTEMPTY || errno == EEXIST ||
        errno == ENOENT)
        return {};
    return status_of_errno(errno, "cannot remove folder", folder);
}

}  // namespace hakobi::format::zarr
