#include "bucket.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <set>

#include "base/checksum.hpp"
#include "storage/file.hpp"
#include "storage/objects.hpp"
#include "storage/objects/listing.hpp"
#include "storage/objects/object_files.hpp"

namespace hakobi::test {
namespace {

namespace fs = std::filesystem;
using storage::ObjectFacts;
using storage::UploadedPart;
using Bytes = std::vector<std::byte>;

constexpr char slash = '%';  // in the names of files
constexpr const char* uploads_begin = ".upload";
constexpr const char* if_absent = "absent";

/// S3's abilities.
constexpr storage::ObjectAbilities abilities_of_bucket = {.kind = "s3",
                                                          .max_object_bytes = std::int64_t{5} << 30,
                                                          .min_part_bytes = std::int64_t{5} << 20,
                                                          .max_part_bytes = std::int64_t{5} << 30,
                                                          .max_parts = 10'000,
                                                          .num_requests = 8};

std::string with(std::string text, char from, char to) {
    std::ranges::replace(text, from, to);
    return text;
}

class Bucket final : public storage::Objects {
  public:
    void move_to(const std::string& root, const Mishap& mishap) {
        const std::scoped_lock lock(mutex_);
        folder_ = root + bucket_folder;
        mishap_ = mishap;
        num_changes_ = 0;
        late_.reset();
        has_happened_ = is_delivery_ = false;
    }
    void deliver(const Operation& put, std::size_t nth) {
        const std::scoped_lock lock(mutex_);
        late_ = put;
        until_late_ = nth;
        has_happened_ = false;
        is_delivery_ = true;
    }
    bool end_mishaps() {
        const std::scoped_lock lock(mutex_);
        mishap_ = {};
        if (late_) (void)arrive(*late_);
        late_.reset();
        is_delivery_ = false;
        return has_happened_;
    }

    Status put(const std::string& name, std::span<const std::byte> bytes,
               const storage::PutMode& mode) override {
        if (Status status = storage::check_object_name(name); !status.ok()) return status;
        const std::scoped_lock lock(mutex_);
        return send(put_of(name, bytes, mode.only_if_absent ? if_absent : "")).status();
    }
    Result<std::string> replace(const std::string& name, std::span<const std::byte> bytes,
                                const std::string& version) override {
        if (Status status = storage::check_object_name(name); !status.ok()) return status;
        const std::scoped_lock lock(mutex_);
        return send(put_of(name, bytes, version.empty() ? if_absent : version));
    }
    Result<std::int64_t> get(const std::string& name, std::int64_t offset, std::span<std::byte> into,
                             const storage::GetMode& mode) override {
        const std::scoped_lock lock(mutex_);
        access();
        const std::optional<Bytes> bytes = read(name);
        if (!bytes) return missing(name);
        if (!mode.version.empty() && mode.version != version_of(*bytes))
            return Status(ErrorCode::io, place(name) + " has been replaced since it was opened");
        const std::int64_t begin = std::min(offset, std::ssize(*bytes));
        const std::int64_t there = std::min(std::ssize(*bytes) - begin, std::ssize(into));
        std::copy_n(bytes->begin() + begin, there, into.begin());
        return there;
    }
    Result<ObjectFacts> facts(const std::string& name) override {
        const std::scoped_lock lock(mutex_);
        access();
        const std::optional<Bytes> bytes = read(name);
        if (!bytes) return missing(name);
        return ObjectFacts{std::ssize(*bytes), version_of(*bytes), 1};
    }
    Result<storage::Listing> list(const storage::ListMode& mode) override {
        const std::scoped_lock lock(mutex_);
        access();
        storage::ListingMaker listing(mode);
        for (const std::string& name : names()) {
            const std::optional<Bytes> bytes = read(name);
            const bool is_wanted = name.starts_with(mode.prefix) && !name.starts_with(uploads_begin) && bytes;
            if (is_wanted && !listing.take(name, {std::ssize(*bytes), version_of(*bytes), 1})) break;
        }
        return listing.finish();
    }
    Status remove(const std::string& name) override {
        const std::scoped_lock lock(mutex_);
        return send({.kind = Kind::remove_object, .path = path_of(name), .to = {}, .bytes = {}}).status();
    }

    Result<std::string> begin_upload(const std::string& name) override {
        const std::scoped_lock lock(mutex_);
        access();
        // An ended upload's identifier is not given again: a part of it that arrives late is nobody's.
        std::string id;
        for (int number = 0; id.empty() || read(part_of(id, "name")) || read(part_of(id, "ended")); ++number)
            id = std::to_string(number);
        (void)arrive(put_of(part_of(id, "name"), std::as_bytes(std::span(name)), ""));
        return id;
    }
    Result<UploadedPart> put_part(const std::string& name, const std::string& upload, int number,
                                  std::span<const std::byte> bytes) override {
        const std::scoped_lock lock(mutex_);
        access();
        if (!read(part_of(upload, "name"))) return missing(name);
        (void)arrive(put_of(part_of(upload, std::to_string(number)), bytes, ""));
        return UploadedPart{number, version_of(bytes), std::ssize(bytes)};
    }
    Result<std::vector<UploadedPart>> parts(const std::string& name, const std::string& upload) override {
        const std::scoped_lock lock(mutex_);
        access();
        if (!read(part_of(upload, "name"))) return missing(name);
        std::vector<UploadedPart> all;
        for (int number = 1;; ++number) {
            const std::optional<Bytes> bytes = read(part_of(upload, std::to_string(number)));
            if (!bytes) return all;
            all.push_back({number, version_of(*bytes), std::ssize(*bytes)});
        }
    }
    Status complete_upload(const std::string& name, const std::string& upload,
                           std::span<const UploadedPart> parts, const storage::PutMode& mode) override {
        const std::scoped_lock lock(mutex_);
        Bytes whole;
        for (const UploadedPart& part : parts) {
            const std::optional<Bytes> bytes = read(part_of(upload, std::to_string(part.number)));
            if (!bytes) return missing(name);
            whole.insert(whole.end(), bytes->begin(), bytes->end());
        }
        Status status = send(put_of(name, whole, mode.only_if_absent ? if_absent : "")).status();
        if (status.ok()) forget(upload);
        return status;
    }
    Status abort_upload(const std::string& /*name*/, const std::string& upload) override {
        const std::scoped_lock lock(mutex_);
        access();
        forget(upload);
        return {};
    }
    Result<std::vector<storage::OpenUpload>> uploads(const std::string& prefix) override {
        const std::scoped_lock lock(mutex_);
        access();
        std::vector<storage::OpenUpload> open;
        for (int id = 0; id < most_uploads; ++id) {
            const std::optional<Bytes> name = read(part_of(std::to_string(id), "name"));
            if (!name) continue;
            const std::string text(reinterpret_cast<const char*>(name->data()), name->size());
            if (text.starts_with(prefix)) open.push_back({text, std::to_string(id)});
        }
        return open;
    }

    [[nodiscard]] const storage::ObjectAbilities& abilities() const noexcept override {
        return abilities_of_bucket;
    }
    [[nodiscard]] const std::string& root() const noexcept override { return name_; }

  private:
    static constexpr int most_uploads = 100;

    [[nodiscard]] std::string place(const std::string& name) const { return name_ + "/" + name; }
    [[nodiscard]] Status missing(const std::string& name) const {
        return {ErrorCode::not_found, place(name) + ": no such object"};
    }
    static std::string part_of(const std::string& upload, const std::string& part) {
        return std::string(uploads_begin) + "/" + upload + "/" + part;
    }
    static std::string path_of(const std::string& name) {
        return std::string(bucket_folder) + "/" + with(name, '/', slash);
    }
    /// As an ETag, the bytes alone determine it.
    static std::string version_of(std::span<const std::byte> bytes) {
        return std::to_string(checksum_of(bytes)) + "." + std::to_string(bytes.size());
    }
    static Operation put_of(const std::string& name, std::span<const std::byte> bytes,
                            std::string condition) {
        return {.kind = Kind::put,
                .path = path_of(name),
                .to = std::move(condition),
                .bytes = Bytes(bytes.begin(), bytes.end())};
    }
    [[nodiscard]] std::string file_of(const std::string& path) const {
        return folder_ + path.substr(std::string_view(bucket_folder).size());
    }
    [[nodiscard]] std::optional<Bytes> read_file(const std::string& file) const {
        const AsServer server;
        std::ifstream stream(file, std::ios::binary);
        if (!stream) return {};
        const std::string text{std::istreambuf_iterator<char>(stream), {}};
        const auto bytes = std::as_bytes(std::span(text));
        return Bytes(bytes.begin(), bytes.end());
    }
    [[nodiscard]] std::optional<Bytes> read(const std::string& name) const {
        return read_file(file_of(path_of(name)));
    }
    [[nodiscard]] std::set<std::string> names() const {
        const AsServer server;
        std::set<std::string> all;
        for (const auto& entry : fs::directory_iterator(folder_))
            all.insert(with(entry.path().filename(), slash, '/'));
        return all;
    }
    void forget(const std::string& upload) {
        const std::string mark = part_of(upload, "ended");
        (void)arrive(put_of(mark, {}, ""));
        for (const std::string& name : names())
            if (name.starts_with(part_of(upload, "")) && name != mark)
                (void)arrive({.kind = Kind::remove_object, .path = path_of(name), .to = {}, .bytes = {}});
    }

    /// Every request begins so.
    void access() {
        if (!late_ || until_late_-- > 0) return;
        const Operation put = *std::exchange(late_, std::nullopt);
        if (is_delivery_) has_happened_ = true;
        (void)arrive(put);
    }
    /// A request on its way, with what may happen to it.
    Result<std::string> send(const Operation& change) {
        access();
        if (change.kind == Kind::remove_object && late_ && late_->path == change.path) {
            until_late_ = 0;
            access();
        }
        const bool is_it = num_changes_++ == mishap_.nth && mishap_.kind != Mishap::Kind::none;
        if (!is_it) return arrive(change);
        has_happened_ = true;
        const bool is_put = change.kind == Kind::put;
        const Status no_answer(ErrorCode::io, "the server does not answer: " + change.path);
        if (mishap_.kind != Mishap::Kind::lost && is_put) {
            late_ = change;
            until_late_ = mishap_.until;
        }
        if (mishap_.kind == Mishap::Kind::late && is_put) return no_answer;
        Result<std::string> answer = arrive(change);
        return mishap_.kind == Mishap::Kind::lost ? Result<std::string>(no_answer) : answer;
    }
    /// The server has it; returns a put object's version.
    Result<std::string> arrive(const Operation& change) {
        const std::string file = file_of(change.path);
        std::optional<Status> refused;
        carry_out([&]() -> std::optional<Operation> {
            const std::optional<Bytes> before = read_file(file);
            if (change.kind == Kind::remove_object) {
                if (before) fs::remove(file);
                return before ? std::optional(change) : std::nullopt;
            }
            const std::string now = before ? version_of(*before) : if_absent;
            if (!change.to.empty() && change.to != now) {
                refused = Status(ErrorCode::exists, change.path + " is there, or another one");
                return std::nullopt;
            }
            const std::string draft = folder_ + ".new";
            std::ofstream(draft, std::ios::binary)
                .write(reinterpret_cast<const char*>(change.bytes.data()), std::ssize(change.bytes));
            fs::rename(draft, file);
            return change;
        });
        if (refused) return *refused;
        return change.kind == Kind::put ? version_of(change.bytes) : std::string();
    }

    std::string name_ = "s3://crash", folder_;
    std::mutex mutex_;
    Mishap mishap_;
    std::size_t num_changes_ = 0, until_late_ = 0;
    std::optional<Operation> late_;
    bool has_happened_ = false, is_delivery_ = false;
};

std::shared_ptr<Bucket> the_bucket() {
    static const auto bucket = std::make_shared<Bucket>();
    return bucket;
}

}  // namespace

void serve_bucket(const std::string& root, const Mishap& mishap) {
    the_bucket()->move_to(root, mishap);
    storage::set_bucket("//crash", the_bucket());
}

void deliver(const Operation& put, std::size_t nth) {
    the_bucket()->deliver(put, nth);
}

bool end_mishaps() {
    return the_bucket()->end_mishaps();
}

}  // namespace hakobi::test
