#include <algorithm>
#include <cerrno>
#include <chrono>
#include <map>
#include <mutex>

#include "storage/objects/listing.hpp"
#include "storage/objects/stores.hpp"

namespace hakobi::storage {
namespace {

using Bytes = std::vector<std::byte>;

constexpr ObjectAbilities memory_abilities = {.kind = "memory",
                                              .max_object_bytes = std::int64_t{1} << 40,
                                              .min_part_bytes = 1,
                                              .max_part_bytes = std::int64_t{1} << 40,
                                              .max_parts = 10'000,
                                              .num_requests = 2};

struct MemoryObject {
    Bytes bytes;
    std::int64_t version = 0;
    std::int64_t modified_ns = 0;
    std::int64_t number = 0;
};
struct MemoryUpload {
    std::string name;
    std::map<int, Bytes> parts;
};
struct Bucket {
    std::mutex mutex;
    std::map<std::string, MemoryObject> objects;
    std::map<std::string, MemoryUpload> uploads;
    std::int64_t last = 0;  // version or upload that was given out
};

std::shared_ptr<Bucket> contents_of(const std::string& root) {
    static std::mutex mutex;
    static std::map<std::string, std::shared_ptr<Bucket>> all;
    const std::scoped_lock lock(mutex);
    std::shared_ptr<Bucket>& contents = all[root];
    if (!contents) contents = std::make_shared<Bucket>();
    return contents;
}

class MemoryObjects final : public RangedObjects {
  public:
    explicit MemoryObjects(const std::string& root) : root_("memory:" + root), contents_(contents_of(root)) {}

    Status put(const std::string& name, std::span<const std::byte> bytes, const PutMode& mode) override {
        if (Status status = check_object_name(name); !status.ok()) return status;
        const std::scoped_lock lock(contents_->mutex);
        return put_locked(name, Bytes(bytes.begin(), bytes.end()), mode);
    }

    Result<std::string> replace(const std::string& name, std::span<const std::byte> bytes,
                                const std::string& version) override {
        if (Status status = check_object_name(name); !status.ok()) return status;
        const std::scoped_lock lock(contents_->mutex);
        const auto found = contents_->objects.find(name);
        const bool is_there = found != contents_->objects.end();
        if ((is_there ? std::to_string(found->second.version) : "") != version)
            return replaced_before(place(name));
        Status status = put_locked(name, Bytes(bytes.begin(), bytes.end()), {});
        if (!status.ok()) return status;
        return std::to_string(contents_->objects.at(name).version);
    }

    Result<std::int64_t> get(const std::string& name, std::int64_t offset, std::span<std::byte> into,
                             const GetMode& mode) override {
        const std::scoped_lock lock(contents_->mutex);
        const auto found = contents_->objects.find(name);
        if (found == contents_->objects.end()) return missing("cannot read", name);
        if (offset < 0) return Status(ErrorCode::invalid_argument, place(name) + ": a negative offset");
        if (!mode.version.empty() && mode.version != std::to_string(found->second.version))
            return Status(ErrorCode::io, place(name) + " has been replaced since it was opened");
        const Bytes& bytes = found->second.bytes;
        const std::int64_t there = std::clamp<std::int64_t>(std::ssize(bytes) - offset, 0, std::ssize(into));
        std::copy_n(bytes.begin() + std::min<std::int64_t>(offset, std::ssize(bytes)), there, into.begin());
        return there;
    }

    Result<ObjectFacts> facts(const std::string& name) override {
        const std::scoped_lock lock(contents_->mutex);
        const auto found = contents_->objects.find(name);
        if (found == contents_->objects.end()) return missing("cannot find", name);
        return facts_of(found->second);
    }

    Result<Listing> list(const ListMode& mode) override {
        const std::scoped_lock lock(contents_->mutex);
        ListingMaker listing(mode);
        for (auto each = contents_->objects.lower_bound(mode.prefix); each != contents_->objects.end();
             ++each) {
            if (!each->first.starts_with(mode.prefix) || !listing.take(each->first, facts_of(each->second)))
                break;
        }
        return listing.finish();
    }

    Status remove(const std::string& name) override {
        const std::scoped_lock lock(contents_->mutex);
        contents_->objects.erase(name);
        return {};
    }

    Result<std::string> begin_upload(const std::string& name) override {
        if (Status status = check_object_name(name); !status.ok()) return status;
        const std::scoped_lock lock(contents_->mutex);
        std::string id = std::to_string(++contents_->last);
        contents_->uploads[id].name = name;
        return id;
    }
    Result<UploadedPart> put_part(const std::string& name, const std::string& upload, int number,
                                  std::span<const std::byte> bytes) override {
        const std::scoped_lock lock(contents_->mutex);
        MemoryUpload* const found = find_upload(name, upload);
        if (found == nullptr) return missing("cannot send a part of", name);
        found->parts[number] = Bytes(bytes.begin(), bytes.end());
        return UploadedPart{number, std::to_string(number), std::ssize(bytes)};
    }
    Result<std::vector<UploadedPart>> parts(const std::string& name, const std::string& upload) override {
        const std::scoped_lock lock(contents_->mutex);
        const MemoryUpload* const found = find_upload(name, upload);
        if (found == nullptr) return missing("cannot list the parts of", name);
        std::vector<UploadedPart> all;
        for (const auto& [number, bytes] : found->parts)
            all.push_back({number, std::to_string(number), std::ssize(bytes)});
        return all;
    }
    Status complete_upload(const std::string& name, const std::string& upload,
                           std::span<const UploadedPart> parts, const PutMode& mode) override {
        const std::scoped_lock lock(contents_->mutex);
        MemoryUpload* const found = find_upload(name, upload);
        if (found == nullptr) return missing("cannot complete", name);
        Bytes whole;
        for (const UploadedPart& part : parts) {
            const auto bytes = found->parts.find(part.number);
            if (bytes == found->parts.end())
                return {ErrorCode::invalid_argument,
                        place(name) + ": no part " + std::to_string(part.number)};
            whole.insert(whole.end(), bytes->second.begin(), bytes->second.end());
        }
        Status status = put_locked(name, std::move(whole), mode);
        if (status.ok()) contents_->uploads.erase(upload);
        return status;
    }
    Status abort_upload(const std::string& name, const std::string& upload) override {
        const std::scoped_lock lock(contents_->mutex);
        if (find_upload(name, upload) != nullptr) contents_->uploads.erase(upload);
        return {};
    }
    Result<std::vector<OpenUpload>> uploads(const std::string& prefix) override {
        const std::scoped_lock lock(contents_->mutex);
        std::vector<OpenUpload> open;
        for (const auto& [id, upload] : contents_->uploads) {
            if (upload.name.starts_with(prefix)) open.push_back({upload.name, id});
        }
        return open;
    }

    Status write(const std::string& name, std::int64_t offset, std::span<const std::byte> bytes) override {
        if (Status status = check_object_name(name); !status.ok()) return status;
        const std::scoped_lock lock(contents_->mutex);
        MemoryObject& object = touch(name);
        if (std::ssize(object.bytes) < offset + std::ssize(bytes))
            object.bytes.resize(static_cast<std::size_t>(offset) + bytes.size());
        std::ranges::copy(bytes, object.bytes.begin() + offset);
        return {};
    }
    Status resize(const std::string& name, std::int64_t size_bytes) override {
        if (Status status = check_object_name(name); !status.ok()) return status;
        const std::scoped_lock lock(contents_->mutex);
        touch(name).bytes.resize(static_cast<std::size_t>(size_bytes));
        return {};
    }
    Status set_number(const std::string& name, std::int64_t number) override {
        const std::scoped_lock lock(contents_->mutex);
        touch(name).number = number;
        return {};
    }
    Status raise_number(const std::string& name, std::int64_t number) override {
        const std::scoped_lock lock(contents_->mutex);
        MemoryObject& object = touch(name);
        object.number = std::max(object.number, number);
        return {};
    }
    Result<std::int64_t> number(const std::string& name) override {
        const std::scoped_lock lock(contents_->mutex);
        const auto found = contents_->objects.find(name);
        if (found == contents_->objects.end()) return missing("cannot read the number of", name);
        return found->second.number;
    }

    [[nodiscard]] const ObjectAbilities& abilities() const noexcept override { return memory_abilities; }
    [[nodiscard]] const std::string& root() const noexcept override { return root_; }

  private:
    [[nodiscard]] std::string place(const std::string& name) const { return root_ + "/" + name; }
    [[nodiscard]] Status missing(std::string_view what, const std::string& name) const {
        return status_of_errno(ENOENT, what, place(name));
    }
    static ObjectFacts facts_of(const MemoryObject& object) {
        return {std::ssize(object.bytes), std::to_string(object.version), object.modified_ns};
    }
    MemoryObject& touch(const std::string& name) {
        MemoryObject& object = contents_->objects[name];
        object.version = ++contents_->last;
        object.modified_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(
                                 std::chrono::system_clock::now().time_since_epoch())
                                 .count();
        return object;
    }
    Status put_locked(const std::string& name, Bytes bytes, const PutMode& mode) {
        if (mode.only_if_absent && contents_->objects.contains(name))
            return status_of_errno(EEXIST, "cannot create", place(name));
        MemoryObject& object = touch(name);
        object.bytes = std::move(bytes);
        return {};
    }
    MemoryUpload* find_upload(const std::string& name, const std::string& id) {
        const auto found = contents_->uploads.find(id);
        return found == contents_->uploads.end() || found->second.name != name ? nullptr : &found->second;
    }

    std::string root_;
    std::shared_ptr<Bucket> contents_;
};

}  // namespace

Result<ObjectsPtr> open_memory_objects(const std::string& root) {
    return ObjectsPtr(std::make_shared<MemoryObjects>(root));
}

}  // namespace hakobi::storage
