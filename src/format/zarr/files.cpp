#include "format/zarr/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "storage/beneath.hpp"
#include "storage/file.hpp"
#include "storage/posix.hpp"

namespace hakobi::format::zarr {
namespace {

constexpr int objects_at_once = 4;  // which bounds memory

storage::OpenMode to_read(const std::string& store) {
    return {.regular_only = true, .root = store};
}

/// Makes the file under a temporary name, by `write`, and lets it replace the one of its name.
template <class Write>
Status make_file(const std::string& store, const std::string& inside, bool sync, const Write& write) {
    const std::string path = path_in(store, inside), part = path + ".part";
    storage::discard_file(part, store);  // of a killed run: one process writes the group
    Result<storage::FilePtr> file = storage::open_file(part, {.read = false,
                                                              .write = true,
                                                              .create = true,
                                                              .exclusive = true,
                                                              .regular_only = true,
                                                              .root = store});
    if (!file.ok()) return file.status();
    Status status = write(*file.value());
    if (status.ok() && sync) status = file.value()->sync();
    status.keep_first(file.value()->close());
    if (status.ok())
        status = storage::commit_file(part, path, {.replaces = true, .is_durable = sync, .root = store});
    if (!status.ok()) storage::discard_file(part, store);
    return status;
}

Result<storage::Reached> reach_in(const std::string& store, const std::string& inside) {
    return storage::reach(storage::system_path(path_in(store, inside)), storage::system_path(store));
}

}  // namespace

std::string path_in(const std::string& store, std::string_view inside) {
    return inside.empty() ? store : std::string(store).append("/").append(inside);
}

Status make_store(const std::string& store, bool sync) {
    if (storage::is_object_store(store)) return {};
    std::error_code error;
    const std::string path = storage::system_path(store);
    const bool is_new = std::filesystem::create_directories(path, error);
    if (error) return status_of_errno(error.value(), "cannot make folder", store);
    const std::string parent = std::filesystem::path(path).parent_path().string();
    return is_new && sync ? storage::sync_posix_folder(parent.empty() ? "." : parent) : Status();
}

Status make_folder(const std::string& store, const std::string& inside, bool sync) {
    if (storage::is_object_store(store)) return {};
    const Result<storage::Reached> reached = reach_in(store, inside);
    if (!reached.ok()) return reached.status();
    // What has the name and is no folder is told by who goes through it.
    if (::mkdirat(reached.value().from(), reached.value().name.c_str(), 0777) == 0)
        return sync ? storage::sync_posix_folder(storage::system_path(store)) : Status();
    if (errno == EEXIST) return {};
    return status_of_errno(errno, "cannot make folder", path_in(store, inside));
}

Status put(const std::string& store, const std::string& inside, std::span<const std::byte> bytes, bool sync) {
    if (storage::is_object_store(store)) {
        const Result<storage::ObjectAt> object = storage::object_at(path_in(store, inside));
        return object.ok() ? object.value().objects->put(object.value().name, bytes) : object.status();
    }
    return make_file(store, inside, sync, [&](storage::File& file) { return file.write_at(bytes, 0); });
}

Status replace(const std::string& store, const std::string& inside, std::span<const std::byte> bytes,
               std::string& version, bool sync) {
    if (!storage::is_object_store(store)) return put(store, inside, bytes, sync);
    const Result<storage::ObjectAt> object = storage::object_at(path_in(store, inside));
    if (!object.ok()) return object.status();
    Result<std::string> replaced = object.value().objects->replace(object.value().name, bytes, version);
    if (!replaced.ok()) return replaced.status();
    version = std::move(replaced).value();
    return {};
}

Result<std::optional<storage::WholeObject>> get(const std::string& store, const std::string& inside) {
    using Found = std::optional<storage::WholeObject>;
    const std::string path = path_in(store, inside);
    if (storage::is_object_store(store)) {
        const Result<storage::ObjectAt> object = storage::object_at(path);
        return object.ok() ? storage::get_object(object.value()) : object.status();
    }
    Result<std::vector<std::byte>> read = storage::read_whole(path, to_read(store));
    if (read.status().code() == ErrorCode::not_found) return Found();
    if (!read.ok()) return read.status();
    return Found({std::move(read).value(), ""});
}

Status place(const std::string& from, const std::string& store, const std::string& inside, bool sync) {
    Status status = storage::commit_file(from, path_in(store, inside),
                                         {.replaces = true, .is_durable = sync, .root = store});
    if (status.code() != ErrorCode::not_found) return status;
    struct stat info {};
    const bool is_gone = ::stat(storage::system_path(from).c_str(), &info) != 0;
    const Result<std::optional<std::int64_t>> placed = size_of(store, inside);
    return is_gone && placed.ok() && placed.value() ? Status() : status;
}

Status place_copy(const std::string& from, std::int64_t file_bytes, const std::string& store,
                  const std::string& inside, bool sync, const storage::Pace& pace) {
    if (storage::is_object_store(store)) {
        const Result<storage::ObjectAt> object = storage::object_at(path_in(store, inside));
        return object.ok() ? storage::put_file(from, file_bytes, object.value(), {}, pace) : object.status();
    }
    Result<storage::FilePtr> source = storage::open_file(from, {.regular_only = true});
    if (!source.ok()) return source.status();
    return make_file(store, inside, sync, [&](storage::File& file) {
        return storage::copy_paced(*source.value(), file, file_bytes, pace);
    });
}

Result<std::string> version_of(const std::string& store, const std::string& inside) {
    const Result<storage::ObjectAt> object = storage::object_at(path_in(store, inside));
    if (!object.ok()) return object.status();
    Result<storage::ObjectFacts> facts = object.value().objects->facts(object.value().name);
    if (!facts.ok()) return facts.status();
    return std::move(facts.value().version);
}

Result<std::optional<std::int64_t>> size_of(const std::string& store, const std::string& inside) {
    using Found = std::optional<std::int64_t>;
    const std::string path = path_in(store, inside);
    if (storage::is_object_store(store)) {
        const Result<storage::ObjectAt> object = storage::object_at(path);
        if (!object.ok()) return object.status();
        const Result<storage::ObjectFacts> facts = object.value().objects->facts(object.value().name);
        if (facts.ok()) return Found(facts.value().size_bytes);
        return facts.status().code() == ErrorCode::not_found ? Result<Found>(Found()) : facts.status();
    }
    const Result<storage::Reached> reached = reach_in(store, inside);
    if (reached.status().code() == ErrorCode::not_found) return Found();
    if (!reached.ok()) return reached.status();
    struct stat info {};
    if (::fstatat(reached.value().from(), reached.value().name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? Result<Found>(Found()) : status_of_errno(errno, "cannot stat", path);
    if (!S_ISREG(info.st_mode)) return Status(ErrorCode::format, path + ": it is not a regular file");
    return Found(static_cast<std::int64_t>(info.st_size));
}

int num_at_once(const std::string& store) {
    return storage::is_object_store(store) ? objects_at_once : 1;
}

Result<std::vector<std::string>> names_in(const std::string& store, const std::string& inside) {
    const Result<std::vector<storage::Listed>> listed = storage::list_folder(path_in(store, inside), store);
    if (!listed.ok()) return listed.status();
    std::vector<std::string> names;
    for (const storage::Listed& each : listed.value()) names.push_back(each.name);
    return names;
}

Status remove(const std::string& store, const std::string& inside) {
    const std::string path = path_in(store, inside);
    if (storage::is_object_store(store)) {
        const Result<storage::ObjectAt> object = storage::object_at(path);
        return object.ok() ? object.value().objects->remove(object.value().name) : object.status();
    }
    Status status = storage::remove_file(path, store);
    return status.code() == ErrorCode::not_found ? Status() : status;
}

Status remove_folder(const std::string& store, const std::string& inside) {
    if (storage::is_object_store(store)) return {};
    const Result<storage::Reached> reached = reach_in(store, inside);
    if (!reached.ok()) return reached.status();
    if (::unlinkat(reached.value().from(), reached.value().name.c_str(), AT_REMOVEDIR) == 0 ||
        errno == ENOTEMPTY || errno == EEXIST || errno == ENOENT)
        return {};
    return status_of_errno(errno, "cannot remove folder", path_in(store, inside));
}

}  // namespace hakobi::format::zarr
