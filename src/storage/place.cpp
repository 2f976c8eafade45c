#include "storage/place.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <limits>

#include "storage/backend.hpp"
#include "storage/beneath.hpp"
#include "storage/posix.hpp"

namespace hakobi::storage {
namespace {

constexpr int objects_at_once = 4;  // which bounds memory

class FolderPlace final : public Place {
  public:
    using Place::Place;

    Status make_folder(const std::string& inside, bool sync) const override {
        if (inside.empty()) {
            std::error_code error;
            const std::string folder = system_path(path());
            std::filesystem::create_directories(folder, error);
            if (error) return status_of_errno(error.value(), "cannot make folder", path());
            const std::string parent = std::filesystem::path(folder).parent_path().string();
            return sync ? sync_posix_folder(parent.empty() ? "." : parent) : Status();
        }
        const Result<Reached> reached = reach_in(inside);
        if (!reached.ok()) return reached.status();
        // One that is there may be a killed process's, who had no time to sync its name.
        if (::mkdirat(reached.value().from(), reached.value().name.c_str(), 0777) == 0 || errno == EEXIST)
            return sync ? sync_posix_folder(system_path(path())) : Status();
        return status_of_errno(errno, "cannot make folder", path_of(inside));
    }
    Status put(const std::string& inside, std::span<const std::byte> bytes, bool sync) const override {
        return make_file(inside, sync, [&](File& file) { return file.write_at(bytes, 0); });
    }
    Status replace(const std::string& inside, std::span<const std::byte> bytes, std::string& /*version*/,
                   bool sync) const override {
        return put(inside, bytes, sync);
    }
    Status put_new(const std::string& inside, std::span<const std::byte> bytes) const override {
        return make_file(
            inside, true, [&](File& file) { return file.write_at(bytes, 0); }, false);
    }
    Status put_file(const std::string& from, std::int64_t file_bytes, const std::string& inside, bool sync,
                    const Pace& pace, const PutMode& /*mode*/) const override {
        Result<FilePtr> source = open_file(from, {.regular_only = true});
        if (!source.ok()) return source.status();
        return make_file(inside, sync,
                         [&](File& file) { return copy_paced(*source.value(), file, file_bytes, pace); });
    }
    Status commit(const std::string& from, const std::string& inside, bool sync) const override {
        Status status =
            commit_file(from, path_of(inside), {.replaces = true, .is_durable = sync, .root = path()});
        if (status.code() != ErrorCode::not_found) return status;
        const bool is_gone = !facts_behind(from).is_there();
        const Result<std::optional<std::int64_t>> placed = size_of(inside);
        if (!is_gone || !placed.ok() || !placed.value()) return status;
        // A process that was killed has renamed it, perhaps without the time to sync the name.
        return sync ? sync_posix_folder(
                          std::filesystem::path(system_path(path_of(inside))).parent_path().string())
                    : Status();
    }
    [[nodiscard]] Result<std::optional<WholeObject>> get_beginning(const std::string& inside,
                                                                   std::int64_t most_bytes) const override {
        using Found = std::optional<WholeObject>;
        Result<std::vector<std::byte>> read =
            read_whole(path_of(inside), {.regular_only = true, .root = path()}, most_bytes);
        if (read.status().code() == ErrorCode::not_found) return Found();
        if (!read.ok()) return read.status();
        return Found({std::move(read).value(), ""});
    }
    [[nodiscard]] Result<std::string> version_of(const std::string& /*inside*/) const override {
        return std::string();
    }
    [[nodiscard]] Result<std::optional<std::int64_t>> size_of(const std::string& inside) const override {
        using Found = std::optional<std::int64_t>;
        const Result<Reached> reached = reach_in(inside);
        if (reached.status().code() == ErrorCode::not_found) return Found();
        if (!reached.ok()) return reached.status();
        struct stat info {};
        if (::fstatat(reached.value().from(), reached.value().name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
            return errno == ENOENT ? Result<Found>(Found())
                                   : status_of_errno(errno, "cannot stat", path_of(inside));
        if (!S_ISREG(info.st_mode))
            return Status(ErrorCode::format, path_of(inside) + ": it is not a regular file");
        return Found(static_cast<std::int64_t>(info.st_size));
    }
    [[nodiscard]] Result<FileLimit> file_limit() const override {
        return FileLimit{std::numeric_limits<std::int64_t>::max(), path()};
    }
    Status remove(const std::string& inside) const override {
        Status status = remove_file(path_of(inside), path());
        return status.code() == ErrorCode::not_found ? Status() : status;
    }
    Status remove_folder(const std::string& inside) const override {
        const Result<Reached> reached = reach_in(inside);
        if (!reached.ok()) return reached.status();
        if (::unlinkat(reached.value().from(), reached.value().name.c_str(), AT_REMOVEDIR) == 0 ||
            errno == ENOTEMPTY || errno == EEXIST || errno == ENOENT)
            return {};
        return status_of_errno(errno, "cannot remove folder", path_of(inside));
    }

  private:
    [[nodiscard]] Result<Reached> reach_in(const std::string& inside) const {
        return reach(system_path(path_of(inside)), system_path(path()));
    }
    /// Makes the file under a temporary name, by `write`, and gives it its own.
    template <class Write>
    Status make_file(const std::string& inside, bool sync, const Write& write, bool replaces = true) const {
        const std::string whole = path_of(inside), part = whole + ".part";
        discard_file(part, path());  // of a killed run: one process writes the place
        Result<FilePtr> file = open_file(part, {.read = false,
                                                .write = true,
                                                .create = true,
                                                .exclusive = true,
                                                .regular_only = true,
                                                .root = path()});
        if (!file.ok()) return file.status();
        Status status = write(*file.value());
        if (status.ok() && sync) status = file.value()->sync();
        status.keep_first(file.value()->close());
        if (status.ok())
            status = commit_file(part, whole, {.replaces = replaces, .is_durable = sync, .root = path()});
        if (!status.ok()) discard_file(part, path());
        return status;
    }
};

class ObjectPlace final : public Place {
  public:
    using Place::Place;

    Status make_folder(const std::string& /*inside*/, bool /*sync*/) const override { return {}; }
    Status put(const std::string& inside, std::span<const std::byte> bytes, bool /*sync*/) const override {
        return at(inside,
                  [&](Objects& objects, const std::string& name) { return objects.put(name, bytes); });
    }
    Status replace(const std::string& inside, std::span<const std::byte> bytes, std::string& version,
                   bool /*sync*/) const override {
        return at(inside, [&](Objects& objects, const std::string& name) -> Status {
            Result<std::string> replaced = objects.replace(name, bytes, version);
            if (replaced.ok()) version = std::move(replaced).value();
            return replaced.status();
        });
    }
    Status put_new(const std::string& inside, std::span<const std::byte> bytes) const override {
        return at(inside, [&](Objects& objects, const std::string& name) {
            return objects.put(name, bytes, {.only_if_absent = true});
        });
    }
    Status put_file(const std::string& from, std::int64_t file_bytes, const std::string& inside,
                    bool /*sync*/, const Pace& pace, const PutMode& mode) const override {
        const Result<ObjectAt> object = object_at(path_of(inside));
        return object.ok() ? storage::put_file(from, file_bytes, object.value(), mode, pace)
                           : object.status();
    }
    Status commit(const std::string& from, const std::string& inside, bool /*sync*/) const override {
        return commit_file(from, path_of(inside), {.replaces = true});
    }
    [[nodiscard]] Result<std::optional<WholeObject>> get_beginning(
        const std::string& inside, std::int64_t /*most_bytes*/) const override {
        const Result<ObjectAt> object = object_at(path_of(inside));
        return object.ok() ? get_object(object.value()) : object.status();
    }
    [[nodiscard]] Result<std::string> version_of(const std::string& inside) const override {
        Result<ObjectFacts> found = facts(inside);
        if (!found.ok()) return found.status();
        return std::move(found.value().version);
    }
    [[nodiscard]] Result<std::optional<std::int64_t>> size_of(const std::string& inside) const override {
        using Found = std::optional<std::int64_t>;
        const Result<ObjectFacts> found = facts(inside);
        if (found.ok()) return Found(found.value().size_bytes);
        return found.status().code() == ErrorCode::not_found ? Result<Found>(Found()) : found.status();
    }
    [[nodiscard]] Result<FileLimit> file_limit() const override {
        const Result<ObjectAt> object = object_at(path_of("any"));
        if (!object.ok()) return object.status();
        const Objects& objects = *object.value().objects;
        return FileLimit{most_file_bytes(objects.abilities()), objects.root()};
    }
    Status remove(const std::string& inside) const override {
        return at(inside, [](Objects& objects, const std::string& name) { return objects.remove(name); });
    }
    Status remove_folder(const std::string& /*inside*/) const override { return {}; }

  private:
    template <class Work>
    Status at(const std::string& inside, const Work& work) const {
        const Result<ObjectAt> object = object_at(path_of(inside));
        return object.ok() ? work(*object.value().objects, object.value().name) : object.status();
    }
    [[nodiscard]] Result<ObjectFacts> facts(const std::string& inside) const {
        const Result<ObjectAt> object = object_at(path_of(inside));
        return object.ok() ? object.value().objects->facts(object.value().name) : object.status();
    }
};

}  // namespace

std::string Place::path_of(std::string_view inside) const {
    return inside.empty() ? path_ : std::string(path_).append("/").append(inside);
}

std::string Place::system_name(const std::string& path) const {
    return limits_.has_system_names ? system_path(path) : std::string();
}

Result<std::vector<Listed>> Place::list(const std::string& inside) const {
    return list_folder(path_of(inside), path_);
}

PlaceLimits limits_of(const std::string& path) {
    const Backend& backend = *locate(path).backend;
    return {.has_system_names = backend.has_system_paths,
            .takes_ranges = backend.takes_ranges,
            .is_on_objects = backend.is_on_objects,
            .keeps_names = backend.keeps_names,
            .num_at_once = backend.is_on_objects ? objects_at_once : 1};
}

PlacePtr open_place(const std::string& path) {
    const PlaceLimits limits = limits_of(path);
    if (limits.is_on_objects) return std::make_shared<ObjectPlace>(path, limits);
    return std::make_shared<FolderPlace>(path, limits);
}

PlacedName open_place_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    if (slash != std::string::npos)
        return {open_place(slash == 0 ? "/" : path.substr(0, slash)), path.substr(slash + 1)};
    if (limits_of(path).has_system_names) return {open_place("."), system_path(path)};
    return {open_place(path), ""};
}

}  // namespace hakobi::storage
