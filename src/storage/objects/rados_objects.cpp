// Objects of a pool of Ceph, by librados. An object's operation is atomic on its server, and librados repeats what a server's
// restart interrupts without doing it twice. Nothing is to be added but names and errors.
#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <functional>

#include "storage/objects/listing.hpp"
#include "storage/objects/rados.hpp"
#include "storage/objects/rados_store.hpp"
#include "storage/objects/stores.hpp"

namespace hakobi::storage {
namespace {

constexpr ObjectAbilities rados_abilities = {
    .kind = "rados",
    .max_object_bytes = std::int64_t{64} << 20,  // osd_max_write_size is 90 MB
    .lists_by_prefix = false,
    .num_requests = 8};

// Its text is compared by the server, as text: of a fixed length, with the first digit first.
constexpr const char* number_attribute = "hakobi.number";
std::string number_text(std::int64_t number) {
    std::array<char, 17> text{};
    std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(number));
    return text.data();
}

const char* chars(std::span<const std::byte> bytes) {
    return reinterpret_cast<const char*>(bytes.data());
}

class RadosObjects final : public RangedObjects {
  public:
    RadosObjects(std::string root, std::string prefix, std::shared_ptr<RadosPool> pool)
        : root_(std::move(root)),
          prefix_(std::move(prefix)),
          pool_(std::move(pool)),
          rados_(pool_->rados()) {}

    Status put(const std::string& name, std::span<const std::byte> bytes, const PutMode& mode) override {
        if (std::ssize(bytes) > rados_abilities.max_object_bytes) return too_large(name);
        return change("write", name, [&](Rados::Op op) {
            rados_.add_create(op, mode.only_if_absent ? Rados::create_exclusive : Rados::create_idempotent,
                              nullptr);
            rados_.add_write_full(op, chars(bytes), bytes.size());
        });
    }

    Result<std::string> replace(const std::string& name, std::span<const std::byte> bytes,
                                const std::string& version) override {
        if (Status status = check_object_name(name); !status.ok()) return status;
        if (std::ssize(bytes) > rados_abilities.max_object_bytes) return too_large(name);
        Rados::Op op = rados_.new_write();
        if (version.empty()) {
            rados_.add_create(op, Rados::create_exclusive, nullptr);
        } else {
            rados_.add_assert_written(op, std::strtoull(version.c_str(), nullptr, 10));
        }
        rados_.add_write_full(op, chars(bytes), bytes.size());
        std::uint64_t now = 0;
        const int error = complete(now, [&](Rados::Completion done) {
            return rados_.start_write(op, pool_->get(), done, key(name).c_str(), nullptr, 0);
        });
        rados_.free_write(op);
        const bool is_missing = error == -ENOENT && !version.empty();
        if (error == -ERANGE || error == -EOVERFLOW || error == -EEXIST || is_missing)
            return replaced_before(place(name));
        if (error < 0) return failure(error, "write", name);
        return std::to_string(now);
    }

    Result<std::int64_t> get(const std::string& name, std::int64_t offset, std::span<std::byte> into,
                             const GetMode& mode) override {
        if (Status status = check_object_name(name); !status.ok()) return status;
        if (offset < 0) return Status(ErrorCode::invalid_argument, place(name) + ": a negative offset");
        if (into.empty()) return std::int64_t{0};  // to librados a length of 0 is all
        std::size_t num_read = 0;
        int read_error = 0;
        Rados::Op op = rados_.new_read();
        if (!mode.version.empty())
            rados_.add_assert_version(op, std::strtoull(mode.version.c_str(), nullptr, 10));
        rados_.add_read(op, static_cast<std::uint64_t>(offset), into.size(),
                        reinterpret_cast<char*>(into.data()), &num_read, &read_error);
        int error = rados_.do_read(op, pool_->get(), key(name).c_str(), 0);
        rados_.free_read(op);
        if (error == -ERANGE || error == -EOVERFLOW)
            return Status(ErrorCode::io, place(name) + " has been replaced since it was opened");
        if (error >= 0) error = read_error;
        if (error < 0) return failure(error, "read", name);
        return static_cast<std::int64_t>(num_read);
    }

    Result<ObjectFacts> facts(const std::string& name) override {
        if (Status status = check_object_name(name); !status.ok()) return status;
        std::uint64_t size = 0;
        std::time_t time = 0;
        int stat_error = 0;
        Rados::Op op = rados_.new_read();
        rados_.add_stat(op, &size, &time, &stat_error);
        std::uint64_t version = 0;
        int error = complete(version, [&](Rados::Completion done) {
            return rados_.start_read(op, pool_->get(), done, key(name).c_str(), 0);
        });
        rados_.free_read(op);
        if (error >= 0) error = stat_error;
        if (error < 0) return failure(error, "find", name);
        return ObjectFacts{static_cast<std::int64_t>(size), std::to_string(version),
                           std::int64_t{time} * 1'000'000'000};
    }

    Result<Listing> list(const ListMode& mode) override {
        std::vector<std::string> names;
        Rados::Cursor cursor = nullptr;
        int error = rados_.open_list(pool_->get(), &cursor);
        if (error >= 0) {
            const char* object = nullptr;
            while ((error = rados_.next(cursor, &object, nullptr, nullptr)) >= 0) {
                const std::string_view found = object;
                if (found.starts_with(prefix_) && found.substr(prefix_.size()).starts_with(mode.prefix))
                    names.emplace_back(found.substr(prefix_.size()));
            }
            rados_.close_list(cursor);
        }
        if (error != -ENOENT) return rados_failure(error, "cannot list " + root_);  // which ends a listing
        std::ranges::sort(names);
        ListingMaker listing(mode);
        for (const std::string& name : names) {
            if (!listing.take(name, ObjectFacts{-1, "", 0})) break;
        }
        return listing.finish();
    }

    Status remove(const std::string& name) override {
        if (Status status = check_object_name(name); !status.ok()) return status;
        const int error = rados_.remove(pool_->get(), key(name).c_str());
        return error >= 0 || error == -ENOENT ? Status() : failure(error, "remove", name);
    }

    Status write(const std::string& name, std::int64_t offset, std::span<const std::byte> bytes) override {
        return change("write", name, [&](Rados::Op op) {
            rados_.add_write(op, chars(bytes), bytes.size(), static_cast<std::uint64_t>(offset));
        });
    }
    Status resize(const std::string& name, std::int64_t size_bytes) override {
        return change("resize", name, [&](Rados::Op op) {
            rados_.add_create(op, Rados::create_idempotent, nullptr);
            rados_.add_truncate(op, static_cast<std::uint64_t>(size_bytes));
        });
    }
    Status set_number(const std::string& name, std::int64_t number) override {
        const std::string text = number_text(number);
        return change("write", name, [&](Rados::Op op) {
            rados_.add_create(op, Rados::create_idempotent, nullptr);
            rados_.add_attribute(op, number_attribute, text.data(), text.size());
        });
    }
    Status raise_number(const std::string& name, std::int64_t number) override {
        const std::string text = number_text(number);
        for (;;) {
            int error = 0;
            Status status = change(
                "write", name,
                [&](Rados::Op op) {
                    rados_.add_compare(op, number_attribute, Rados::compare_greater, text.data(),
                                       text.size());
                    rados_.add_attribute(op, number_attribute, text.data(), text.size());
                },
                &error);
            if (error == -ECANCELED) return {};  // it is as high already
            if (error != -ENOENT) return status;
            status = change(
                "write", name,
                [&](Rados::Op op) {
                    rados_.add_create(op, Rados::create_exclusive, nullptr);
                    rados_.add_attribute(op, number_attribute, text.data(), text.size());
                },
                &error);
            if (error != -EEXIST) return status;
        }
    }
    Result<std::int64_t> number(const std::string& name) override {
        if (Status status = check_object_name(name); !status.ok()) return status;
        std::array<char, 17> text{};
        const int length =
            rados_.get_attribute(pool_->get(), key(name).c_str(), number_attribute, text.data(), text.size());
        if (length == -ENODATA) return std::int64_t{0};
        if (length < 0) return failure(length, "read the number of", name);
        std::int64_t number = 0;
        std::from_chars(text.data(), text.data() + length, number, 16);
        return number;
    }

    [[nodiscard]] const ObjectAbilities& abilities() const noexcept override { return rados_abilities; }
    [[nodiscard]] const std::string& root() const noexcept override { return root_; }

  private:
    [[nodiscard]] std::string place(const std::string& name) const { return root_ + "/" + name; }
    [[nodiscard]] std::string key(const std::string& name) const { return prefix_ + name; }
    [[nodiscard]] Status too_large(const std::string& name) const {
        return {ErrorCode::invalid_argument, place(name) + ": an object of Ceph has at most 64 MiB"};
    }
    /// What `start` began, until it is over, and the object's version, which comes with a completion only: the pool's last one may be
    /// another thread's.
    template <class Start>
    int complete(std::uint64_t& version, const Start& start) const {
        Rados::Completion done = nullptr;
        int error = rados_.new_completion(nullptr, nullptr, &done);
        if (error < 0) return error;
        error = start(done);
        if (error >= 0) {
            rados_.wait(done);
            error = rados_.result(done);
            version = rados_.version(done);
        }
        rados_.free_completion(done);
        return error;
    }
    [[nodiscard]] Status failure(int error, const std::string& verb, const std::string& name) const {
        return rados_failure(error, "cannot " + verb + " " + place(name));
    }
    Status change(const std::string& verb, const std::string& name, const std::function<void(Rados::Op)>& add,
                  int* result = nullptr) {
        if (Status status = check_object_name(name); !status.ok()) return status;
        Rados::Op op = rados_.new_write();
        add(op);
        const int error = rados_.do_write(op, pool_->get(), key(name).c_str(), nullptr, 0);
        rados_.free_write(op);
        if (result != nullptr) *result = error;
        return error < 0 ? failure(error, verb, name) : Status();
    }

    std::string root_, prefix_;
    std::shared_ptr<RadosPool> pool_;
    const Rados& rados_;
};

}  // namespace

Result<ObjectsPtr> open_rados_objects_in(const std::string& root, const std::string& name_space) {
    std::string rest = root;
    while (rest.ends_with('/')) rest.pop_back();
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    const std::string pool_name = rest.substr(0, slash);
    std::string prefix = slash < rest.size() ? rest.substr(slash + 1) : "";
    if (pool_name.empty())
        return Status(ErrorCode::invalid_argument,
                      "rados:" + root + ": it names no pool (rados:POOL/PREFIX)");
    if (!prefix.empty()) {
        if (Status status = check_object_name(prefix); !status.ok()) return status;
        prefix += "/";
    }
    Result<std::shared_ptr<RadosPool>> pool = RadosPool::open(pool_name, name_space);
    if (!pool.ok()) return Status(pool.status().code(), "rados:" + rest + ": " + pool.status().text());
    return ObjectsPtr(
        std::make_shared<RadosObjects>("rados:" + rest, std::move(prefix), std::move(pool).value()));
}

Result<ObjectsPtr> open_rados_objects(const std::string& root) {
    return open_rados_objects_in(root, "");
}

}  // namespace hakobi::storage
