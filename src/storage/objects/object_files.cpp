#include "storage/objects/object_files.hpp"

#include <algorithm>
#include <cerrno>
#include <map>
#include <mutex>

#include "storage/backend.hpp"
#include "storage/objects/put_file.hpp"
#include "storage/objects/rados_store.hpp"
#include "storage/objects/stores.hpp"
#include "storage/objects/striped_file.hpp"

namespace hakobi::storage {
namespace {

struct Split {
    std::string root, name;
};
/// At the first slash behind the leading ones.
Split split(const std::string& path) {
    const std::size_t begin = std::min(path.find_first_not_of('/'), path.size());
    const std::size_t slash = path.find('/', begin);
    if (slash == std::string::npos) return {path, ""};
    std::string name = path.substr(slash);
    name.erase(0, name.find_first_not_of('/'));
    while (name.ends_with('/')) name.pop_back();
    return {path.substr(0, slash), std::move(name)};
}

/// Made once for each pool or bucket: it holds connections.
template <class Place>
struct KeptPlaces {
    std::mutex mutex;
    std::map<std::string, Place> all;
    static KeptPlaces& get() {
        static KeptPlaces made;
        return made;
    }
};
template <class Place>
Result<Place> kept(const std::string& root, Result<Place> (*make)(const std::string&)) {
    KeptPlaces<Place>& places = KeptPlaces<Place>::get();
    const std::scoped_lock lock(places.mutex);
    const auto found = places.all.find(root);
    if (found != places.all.end()) return found->second;
    Result<Place> made = make(root);
    if (made.ok()) places.all.emplace(root, made.value());
    return made;
}

Result<StripedPlace> pool_of(const std::string& pool) {
    return kept<StripedPlace>(pool, [](const std::string& name) -> Result<StripedPlace> {
        Result<ObjectsPtr> heads = open_rados_objects_in(name, "");
        if (!heads.ok()) return heads.status();
        Result<ObjectsPtr> data = open_rados_objects_in(name, "hakobi.data");
        if (!data.ok()) return data.status();
        return StripedPlace{heads.value(), data.value(), "rados"};
    });
}

Result<ObjectsPtr> bucket_of(const std::string& bucket) {
    return kept<ObjectsPtr>(bucket, open_s3_objects);
}

/// An object as it was when it was opened.
class ObjectFile final : public File {
  public:
    ObjectFile(std::string path, ObjectsPtr objects, std::string name, ObjectFacts facts)
        : path_(std::move(path)),
          objects_(std::move(objects)),
          name_(std::move(name)),
          facts_(std::move(facts)) {
        abilities_.file_system = objects_->abilities().kind;
        abilities_.has_ranges = abilities_.has_holes = abilities_.renames = false;
        abilities_.stripe_bytes = objects_->abilities().min_part_bytes;
        abilities_.passes_cache = true;
    }
    Status write_at(std::span<const std::byte> /*data*/, std::int64_t /*offset*/) override {
        return refusal("write");
    }
    Result<std::int64_t> read_at(std::span<std::byte> data, std::int64_t offset) override {
        if (Status status = check_range(offset, data.size(), "cannot read", path_); !status.ok())
            return status;
        const std::int64_t there = std::clamp<std::int64_t>(facts_.size_bytes - offset, 0, std::ssize(data));
        if (there == 0) return std::int64_t{0};
        return objects_->get(name_, offset, data.first(static_cast<std::size_t>(there)),
                             {.version = facts_.version});
    }
    Result<std::int64_t> size_bytes() override { return facts_.size_bytes; }
    Status set_size(std::int64_t /*bytes*/) override { return refusal("resize"); }
    Status preallocate(std::int64_t /*bytes*/) override { return refusal("preallocate"); }
    Status sync() override { return {}; }
    Status close() override { return {}; }
    [[nodiscard]] const std::string& path() const noexcept override { return path_; }
    [[nodiscard]] const Abilities& abilities() const noexcept override { return abilities_; }

  private:
    [[nodiscard]] Status refusal(std::string_view verb) const {
        return status_of_errno(EBADF, "cannot " + std::string(verb), path_);
    }

    std::string path_;
    ObjectsPtr objects_;
    std::string name_;
    ObjectFacts facts_;
    Abilities abilities_;
};

Result<FilePtr> open_object(const ObjectsPtr& objects, const std::string& name, const std::string& path) {
    Result<ObjectFacts> facts = objects->facts(name);
    if (!facts.ok()) return facts.status();
    return FilePtr(std::make_unique<ObjectFile>(path, objects, name, facts.value()));
}

Status unwritable(const std::string& path) {
    return {
        ErrorCode::unsupported,
        "cannot write s3:" + path +
            ": S3 takes whole objects, not ranges of a file: steps go there over a stage, a folder of this "
            "node (option stage, HAKOBI_STAGE)"};
}

}  // namespace

Result<FilePtr> open_rados(const std::string& path, const OpenMode& mode) {
    const auto [pool, name] = split(path);
    Result<StripedPlace> place = pool_of(pool);
    if (!place.ok()) return place.status();
    Result<FilePtr> striped = open_striped(place.value(), name, mode);
    // An object without a head was put whole, as those of a Zarr group are.
    if (striped.status().code() != ErrorCode::format || mode.write) return striped;
    return open_object(place.value().heads, name, mode.name.empty() ? "rados:" + path : mode.name);
}

Status commit_rados(const std::string& from, const std::string& to, const CommitMode& mode) {
    const Split source = split(from), target = split(to);
    if (source.root != target.root)
        return {ErrorCode::invalid_argument,
                "cannot rename rados:" + from + " to rados:" + to + ": not the same pool"};
    Result<StripedPlace> place = pool_of(source.root);
    return place.ok() ? commit_striped(place.value(), source.name, target.name, mode) : place.status();
}

Status remove_rados(const std::string& path) {
    const auto [pool, name] = split(path);
    Result<StripedPlace> place = pool_of(pool);
    return place.ok() ? remove_striped(place.value(), name) : place.status();
}

Result<std::vector<Listed>> list_rados(const std::string& folder) {
    const auto [pool, name] = split(folder);
    Result<StripedPlace> place = pool_of(pool);
    if (!place.ok()) return place.status();
    return list_names(*place.value().heads, name);
}

Result<FilePtr> open_s3(const std::string& path, const OpenMode& mode) {
    if (mode.write) return unwritable(path);
    const auto [root, name] = split(path);
    Result<ObjectsPtr> bucket = bucket_of(root);
    if (!bucket.ok()) return bucket.status();
    return open_object(bucket.value(), name, mode.name.empty() ? "s3:" + path : mode.name);
}

Status commit_s3(const std::string& /*from*/, const std::string& to, const CommitMode& /*mode*/) {
    return unwritable(to);
}

Status remove_s3(const std::string& path) {
    const auto [root, name] = split(path);
    Result<ObjectsPtr> bucket = bucket_of(root);
    return bucket.ok() ? bucket.value()->remove(name) : bucket.status();
}

Result<std::vector<Listed>> list_s3(const std::string& folder) {
    const auto [root, name] = split(folder);
    Result<ObjectsPtr> bucket = bucket_of(root);
    if (!bucket.ok()) return bucket.status();
    return list_names(*bucket.value(), name);
}

void set_bucket(const std::string& bucket, ObjectsPtr objects) {
    KeptPlaces<ObjectsPtr>& places = KeptPlaces<ObjectsPtr>::get();
    const std::scoped_lock lock(places.mutex);
    places.all.insert_or_assign(bucket, std::move(objects));
}

Result<ObjectAt> object_at(const std::string& path) {
    const Location location = locate(path);
    const auto [root, name] = split(location.path);
    if (!location.backend->is_on_objects || !location.decorations.empty() || name.empty())
        return Status(ErrorCode::invalid_argument, path + " names no object");
    if (!location.backend->takes_ranges) {
        Result<ObjectsPtr> bucket = bucket_of(root);
        if (!bucket.ok()) return bucket.status();
        return ObjectAt{bucket.value(), name};
    }
    Result<StripedPlace> place = pool_of(root);
    if (!place.ok()) return place.status();
    return ObjectAt{place.value().heads, name};
}

}  // namespace hakobi::storage
