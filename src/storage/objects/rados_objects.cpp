// Objects of a pool of Ceph, by librados. An object's operation is atomic on its server, and librados repeats
// what a server's restart interrupts without doing it twice. The following is added here:
//
//  1. Names and errors.
//  2. A request that no server answers is given up by librados after a while, and sent again here
//     (RadosPool::patiently). The first may have been carried out: a conditional put has a random word as an
//     attribute, by which it knows its own object again.
//  3. A listing asks every placement group of the pool for all it has. Names that are listed often
//     (keep_names) are therefore entries (omap) of one object, the holder, which one request reads: made
//     after the object and before `put` returns, removed after the object. A kill in between leaves an object
//     that is not listed, or an entry without its object.
#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <functional>
#include <utility>

#include "base/random.hpp"
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

constexpr const char* word_attribute = "hakobi.put";  // by whom it was put, where it was absent
std::string random_word() {
    return std::to_string(random_bits());
}

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
        const std::string word = mode.only_if_absent ? random_word() : "";
        int error = 0;
        Status status = change(
            "write", name,
            [&](Rados::Op op) {
                rados_.add_create(
                    op, mode.only_if_absent ? Rados::create_exclusive : Rados::create_idempotent, nullptr);
                rados_.add_write_full(op, chars(bytes), bytes.size());
                if (mode.only_if_absent) rados_.add_attribute(op, word_attribute, word.data(), word.size());
            },
            &error, [&] { return has_word(name, word); });
        const bool is_there = status.ok() || error == -EEXIST;
        if (is_there && is_kept(name)) {
            if (Status kept = keep(name); !kept.ok()) return kept;
        }
        return status;
    }

    Result<std::string> replace(const std::string& name, std::span<const std::byte> bytes,
                                const std::string& version) override {
        if (Status status = check_object_name(name); !status.ok()) return status;
        if (std::ssize(bytes) > rados_abilities.max_object_bytes) return too_large(name);
        const std::string word = random_word();
        std::uint64_t now = 0;
        const int error = RadosPool::patiently([&](bool is_again) {
            Rados::Op op = rados_.new_write();
            if (version.empty()) {
                rados_.add_create(op, Rados::create_exclusive, nullptr);
            } else {
                rados_.add_assert_written(op, std::strtoull(version.c_str(), nullptr, 10));
            }
            rados_.add_write_full(op, chars(bytes), bytes.size());
            rados_.add_attribute(op, word_attribute, word.data(), word.size());
            const int done = complete(now, [&](Rados::Completion completion) {
                return rados_.start_write(op, pool_->get(), completion, key(name).c_str(), nullptr, 0);
            });
            rados_.free_write(op);
            return is_again && done < 0 && done != -ETIMEDOUT && is_own(name, word, now) ? 0 : done;
        });
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
        int error = read(name, [&](Rados::Op op) {
            if (!mode.version.empty())
                rados_.add_assert_version(op, std::strtoull(mode.version.c_str(), nullptr, 10));
            rados_.add_read(op, static_cast<std::uint64_t>(offset), into.size(),
                            reinterpret_cast<char*>(into.data()), &num_read, &read_error);
        });
        if (error == -ERANGE || error == -EOVERFLOW)
            return Status(ErrorCode::io, place(name) + " has been replaced since it was opened");
        if (error >= 0) error = read_error;
        if (error < 0) return failure(error, "read", name);
        return static_cast<std::int64_t>(num_read);
    }

    Result<ObjectFacts> facts(const std::string& name) override {
        if (Status status = check_object_name(name); !status.ok()) return status;
        std::uint64_t size = 0, version = 0;
        std::time_t time = 0;
        int stat_error = 0;
        int error = RadosPool::patiently([&](bool /*is_again*/) {
            Rados::Op op = rados_.new_read();
            rados_.add_stat(op, &size, &time, &stat_error);
            const int done = complete(version, [&](Rados::Completion completion) {
                return rados_.start_read(op, pool_->get(), completion, key(name).c_str(), 0);
            });
            rados_.free_read(op);
            return done;
        });
        if (error >= 0) error = stat_error;
        if (error < 0) return failure(error, "find", name);
        return ObjectFacts{static_cast<std::int64_t>(size), std::to_string(version),
                           std::int64_t{time} * 1'000'000'000};
    }

    Result<Listing> list(const ListMode& mode) override {
        std::vector<std::string> names;
        const int error =
            is_kept(mode.prefix)
                ? kept_names(mode.prefix, names)
                : RadosPool::patiently([&](bool /*is_again*/) { return walk(mode.prefix, names); });
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
        const int error = RadosPool::patiently(
            [&](bool /*is_again*/) { return rados_.remove(pool_->get(), key(name).c_str()); });
        if (error < 0 && error != -ENOENT) return failure(error, "remove", name);
        if (!is_kept(name)) return {};
        int forgotten = 0;
        Status status = change(
            "write", holder_,
            [&](Rados::Op op) {
                const char* const entry = name.c_str();
                rados_.add_remove_entries(op, &entry, 1);
            },
            &forgotten);
        return forgotten == -ENOENT ? Status() : status;  // where the holder is gone, so are they
    }
    void keep_names(const std::string& prefix, const std::string& holder) override {
        kept_prefix_ = prefix;
        holder_ = holder;
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
        const Result<std::string> text = attribute(name, number_attribute);
        if (!text.ok()) return text.status();
        std::int64_t number = 0;
        std::from_chars(text.value().data(), text.value().data() + text.value().size(), number, 16);
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
    /// Waits until the operation that `start` began is over, and gets the object's version, which comes with
    /// a completion only: the pool's last one may be another thread's.
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
    bool has_word(const std::string& name, const std::string& word) {
        const Result<std::string> found = attribute(name, word_attribute);
        return found.ok() && found.value() == word;
    }
    /// Whether what is there was put with `word`, by a try whose answer was lost; then `version` is its own.
    bool is_own(const std::string& name, const std::string& word, std::uint64_t& version) {
        const Result<ObjectFacts> found =
            facts(name);  // before its word: what another puts in between has another
        if (!found.ok()) return false;
        const Result<std::string> found_word = attribute(name, word_attribute);
        if (!found_word.ok() || found_word.value() != word) return false;
        version = std::strtoull(found.value().version.c_str(), nullptr, 10);
        return true;
    }
    [[nodiscard]] Status failure(int error, const std::string& verb, const std::string& name) const {
        return rados_failure(error, "cannot " + verb + " " + place(name));
    }
    /// `is_ours` is asked where an earlier try, whose answer was lost, may have made what is there now.
    Status change(const std::string& verb, const std::string& name, const std::function<void(Rados::Op)>& add,
                  int* result = nullptr, const std::function<bool()>& is_ours = {}) {
        if (Status status = check_object_name(name); !status.ok()) return status;
        const int error = RadosPool::patiently([&](bool is_again) {
            Rados::Op op = rados_.new_write();
            add(op);
            const int done = rados_.do_write(op, pool_->get(), key(name).c_str(), nullptr, 0);
            rados_.free_write(op);
            return is_again && done == -EEXIST && is_ours && is_ours() ? 0 : done;
        });
        if (result != nullptr) *result = error;
        return error < 0 ? failure(error, verb, name) : Status();
    }
    int read(const std::string& name, const std::function<void(Rados::Op)>& add) {
        return RadosPool::patiently([&](bool /*is_again*/) {
            Rados::Op op = rados_.new_read();
            add(op);
            const int done = rados_.do_read(op, pool_->get(), key(name).c_str(), 0);
            rados_.free_read(op);
            return done;
        });
    }
    /// "" where the object has none.
    Result<std::string> attribute(const std::string& name, const char* which) {
        std::array<char, 64> text{};
        const int length = RadosPool::patiently([&](bool /*is_again*/) {
            return rados_.get_attribute(pool_->get(), key(name).c_str(), which, text.data(), text.size());
        });
        if (length == -ENODATA) return std::string();
        if (length < 0) return failure(length, std::string("read ") + which + " of", name);
        return std::string(text.data(), static_cast<std::size_t>(length));
    }

    /// Names below the root, from all placement groups. -ENOENT: that is all.
    int walk(const std::string& prefix, std::vector<std::string>& names) {
        names.clear();
        Rados::Cursor cursor = nullptr;
        if (const int error = rados_.open_list(pool_->get(), &cursor); error < 0) return error;
        const char* object = nullptr;
        int error = 0;
        while ((error = rados_.next(cursor, &object, nullptr, nullptr)) >= 0) {
            const std::string_view found = object;
            if (found.starts_with(prefix_) && found.substr(prefix_.size()).starts_with(prefix))
                names.emplace_back(found.substr(prefix_.size()));
        }
        rados_.close_list(cursor);
        return error;
    }
    [[nodiscard]] bool is_kept(const std::string& name) const {
        return !kept_prefix_.empty() && name.starts_with(kept_prefix_);
    }
    Status keep(const std::string& name) {
        return change("write", holder_, [&](Rados::Op op) {
            const char* const entry = name.c_str();
            const char* const value = "";
            const std::size_t length = 0;
            rados_.add_assert_exists(op);
            rados_.add_entries(op, &entry, &value, &length, 1);
        });
    }
    /// -ENOENT: that is all.
    int kept_names(const std::string& prefix, std::vector<std::string>& names) {
        constexpr std::uint64_t most_at_once = 1024;  // osd_max_omap_entries_per_request
        for (unsigned char has_more = 1; has_more != 0;) {
            Rados::Cursor cursor = nullptr;
            int entries_error = 0;
            const std::string after = names.empty() ? "" : names.back();
            const int error = read(holder_, [&](Rados::Op op) {
                if (cursor != nullptr) rados_.close_entries(std::exchange(cursor, nullptr));
                has_more = 0;
                rados_.add_list_entries(op, after.c_str(), prefix.c_str(), most_at_once, &cursor, &has_more,
                                        &entries_error);
            });
            char *entry = nullptr, *value = nullptr;
            std::size_t length = 0;
            while (error >= 0 && rados_.next_entry(cursor, &entry, &value, &length) == 0 && entry != nullptr)
                names.emplace_back(entry);
            if (cursor != nullptr) rados_.close_entries(cursor);
            if (error < 0) return error;
            if (entries_error < 0) return entries_error;
        }
        return -ENOENT;
    }

    std::string root_, prefix_;
    std::string kept_prefix_, holder_;
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
