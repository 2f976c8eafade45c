// A store in a folder of the file system: the files of format.hpp.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <map>

#include "base/descriptor.hpp"
#include "base/forked.hpp"
#include "store/files.hpp"
#include "store/place.hpp"

namespace hakobi::store {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view gate_name = "moving";
constexpr std::string_view index_suffix = ".index";
constexpr std::string_view data_suffix = ".data";
constexpr std::string_view temporary_suffix = ".tmp";
constexpr std::int64_t block_bytes = 4096;
// A temporary file that is younger may be a writer's that is just being made.
constexpr double leftover_age_s = 2;
/// A folder's time of change may stand still for this long while it changes: the kernel's clock tick, twice.
constexpr std::int64_t mtime_grain_ns = 20'000'000;

/// Takes the lock that says "this writer lives"; false where another process holds it. Where the file system
/// knows no such locks the answer is true.
bool lock_as_owner(const OwnDescriptor& index) {
    while (::flock(index.get(), LOCK_EX | LOCK_NB) != 0) {
        if (errno == EWOULDBLOCK) return false;
        if (errno != EINTR) return true;
    }
    return true;
}

class FolderLog final : public OwnLog {
  public:
    FolderLog(std::string path, std::span<const std::byte> header, bool sync) : path_(std::move(path)) {
        // Locked and whole before anybody can see it.
        const std::string temporary = path_ + std::string(temporary_suffix);
        auto opened = storage::open_file(
            temporary, {.read = true, .write = true, .create = true, .exclusive = true, .name = path_});
        opened.status().throw_if_error();
        file_ = std::move(opened).value();
        lock_ = OwnDescriptor([&] { return ::open(temporary.c_str(), O_RDWR | O_CLOEXEC); });
        // Without its lock it would pass for dead.
        Status status = lock_.get() >= 0 ? Status() : status_of_errno(errno, "cannot open", temporary);
        if (status.ok()) (void)lock_as_owner(lock_);
        if (status.ok()) status = file_->write_at(header, 0);
        if (status.ok() && sync) status = file_->sync();
        if (status.ok()) status = storage::rename_file(temporary, path_);
        if (!status.ok()) {
            (void)storage::remove_file(temporary);
            status.throw_if_error();
        }
    }

    Status append(std::span<const std::byte> bytes, std::int64_t end_bytes, bool sync) override {
        Status status = file_->write_at(bytes, end_bytes);
        if (status.ok() && sync) status = file_->sync();
        return status;
    }
    Status cut(std::int64_t end_bytes, std::span<const std::byte> /*end*/) override {
        Status status = file_->set_size(end_bytes);
        if (status.ok()) status = file_->sync();
        return status;
    }
    void remove() override { (void)storage::remove_file(path_); }
    Status close() override { return file_->close(); }

  private:
    std::string path_;
    OwnDescriptor lock_;
    storage::FilePtr file_;
};

/// Who made it: "host pid, to target".
std::string maker_of(const Descriptor& gate) {
    std::array<char, 512> text{};
    const ssize_t length = ::pread(gate.get(), text.data(), text.size(), 0);
    return {text.data(), length > 0 ? static_cast<std::size_t>(length) : 0};
}

/// Takes or tries the lock. True where nobody holds it, and its maker was on this host: another host's lock
/// may not show.
bool is_dead(const Descriptor& gate, int operation) {
    if (::flock(gate.get(), operation | LOCK_NB) != 0) return false;
    return maker_of(gate).starts_with(host_name() + " ");
}

bool is_still(const Descriptor& gate, const std::string& path) {
    struct stat opened {};
    struct stat named {};
    return ::fstat(gate.get(), &opened) == 0 && ::stat(path.c_str(), &named) == 0 &&
           opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

class FolderGate final : public HeldGate {
  public:
    FolderGate(std::string path, const std::string& maker, const std::string& store)
        : path_(std::move(path)) {
        // Locked and whole before anybody can see it, and made by one only.
        const std::string temporary = temporary_path(path_);
        lock_ = OwnDescriptor(
            [&] { return ::open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666); });
        if (lock_.get() < 0) status_of_errno(errno, "cannot close the store by", path_).throw_if_error();
        (void)lock_as_owner(lock_);
        const bool is_written = ::write(lock_.get(), maker.data(), maker.size()) == std::ssize(maker);
        const bool is_made = is_written && ::link(temporary.c_str(), path_.c_str()) == 0;
        const int error = errno;
        (void)storage::remove_file(temporary);
        if (is_made) return;
        const Descriptor other(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
        if (other.get() >= 0) refuse_closed(store, maker_of(other), path_);
        status_of_errno(error, "cannot close the store by", path_).throw_if_error();
    }
    ~FolderGate() override { storage::discard_file(path_); }
    FolderGate(const FolderGate&) = delete;
    FolderGate& operator=(const FolderGate&) = delete;
    void follow(const std::string& path) override { path_ = path + "/" + std::string(gate_name); }

  private:
    std::string path_;
    OwnDescriptor lock_;
};

class FolderPlace final : public Place {
  public:
    using Place::Place;

    [[nodiscard]] bool is_folder() const override { return true; }

    [[nodiscard]] Result<std::optional<std::int64_t>> size_of(std::string_view name) override {
        std::error_code error;
        if (!fs::exists(path_of(name), error)) return std::optional<std::int64_t>();
        return std::optional(file_size(path_of(name)));
    }
    [[nodiscard]] Result<std::vector<std::byte>> read(std::string_view name) override {
        return storage::read_whole(path_of(name), {.regular_only = true});
    }
    Status write(std::string_view name, std::span<const std::byte> bytes, IfExists if_exists) override {
        const std::string path = path_of(name), temporary = temporary_path(path);
        Status status;
        {
            Result<storage::FilePtr> file = storage::open_file(
                temporary, {.read = false, .write = true, .create = true, .exclusive = true});
            if (!file.ok()) return file.status();
            status = file.value()->write_at(bytes, 0);
            if (status.ok()) status = file.value()->sync();
            status.keep_first(file.value()->close());
        }
        if (status.ok() && if_exists == IfExists::replace) {
            status = storage::rename_file(temporary, path);
        } else if (status.ok()) {
            if (::link(temporary.c_str(), path.c_str()) != 0 && errno != EEXIST) {
                status = status_of_errno(errno, "cannot make", path);
            }
            (void)storage::remove_file(temporary);
        }
        if (!status.ok()) {
            (void)storage::remove_file(temporary);
            return status;
        }
        sync_folder(this->path());
        return {};
    }
    Status remove(std::string_view name) override { return remove_if_there(path_of(name)); }

    [[nodiscard]] Result<std::string> in_the_way() override {
        std::error_code error;
        if (!fs::create_directory(path(), error) && error) {
            return status_of_errno(error.value(), "cannot make the store", path());
        }
        sync_folder(fs::absolute(path()).parent_path().string());
        for (const fs::directory_entry& entry : fs::directory_iterator(path())) {
            std::string name = entry.path().filename();
            if (name != schema_name && name != marker_name && !name.ends_with(temporary_suffix)) return name;
        }
        return std::string();
    }
    Status remove_all() override {
        std::error_code error;
        fs::remove_all(path(), error);
        if (!error) return {};
        return status_of_errno(error.value(), "cannot remove all of", path());
    }

    [[nodiscard]] FolderContents contents(Look /*look*/) override {
        FolderContents contents;
        std::map<std::string, WriterFiles> writers;
        // Not by std::filesystem, whose iterators end the program where there is no memory.
        const auto listed = storage::list_folder(path());
        listed.status().throw_if_error();
        for (const auto& [name, kind] : listed.value()) {
            if (name == catalogue_name) contents.has_catalogue = true;
            if (name.ends_with(temporary_suffix)) contents.leftovers.push_back(name);
            const bool is_index = name.ends_with(index_suffix), is_data = name.ends_with(data_suffix);
            if (!is_index && !is_data) continue;
            const std::string stem =
                name.substr(0, name.size() - (is_index ? index_suffix : data_suffix).size());
            const auto id = id_of_stem(stem);
            if (!id) continue;
            WriterFiles& files = writers[stem];
            files.stem = stem;
            files.id = *id;
            (is_index ? files.has_index : files.has_data) = true;
        }
        for (auto& [stem, files] : writers) contents.writers.push_back(std::move(files));
        return contents;
    }
    [[nodiscard]] bool has_changed(std::int64_t& stamp) override {
        struct stat info {};
        if (::stat(path().c_str(), &info) != 0) return true;
        const std::int64_t mtime_ns = info.st_mtim.tv_sec * 1'000'000'000LL + info.st_mtim.tv_nsec;
        const bool is_same = mtime_ns == stamp;
        // Kept only when it is old enough that a later change must differ.
        stamp = wall_clock_ns() - mtime_ns > mtime_grain_ns ? mtime_ns : 0;
        return !is_same;
    }
    void sync_names() override { sync_folder(path()); }
    std::optional<std::int64_t> remove_leftover(const std::string& name) override {
        const std::string path = path_of(name);
        std::error_code error;
        const auto changed = fs::last_write_time(path, error);
        if (error ||
            fs::file_time_type::clock::now() - changed < std::chrono::duration<double>(leftover_age_s))
            return {};
        const std::int64_t bytes = file_size(path);
        if (!storage::remove_file(path).ok()) return {};
        return bytes;
    }

    [[nodiscard]] std::string index_path(std::string_view stem) const override {
        return path() + "/" + std::string(stem) + std::string(index_suffix);
    }
    [[nodiscard]] std::unique_ptr<OwnLog> make_log(const std::string& stem, std::span<const std::byte> header,
                                                   bool sync) override {
        return std::make_unique<FolderLog>(index_path(stem), header, sync);
    }
    [[nodiscard]] std::string own_process() const override { return ""; }
    [[nodiscard]] bool ends_logs() const override { return false; }
    void read_logs(std::span<LogTail> tails) override {
        for (LogTail& tail : tails) tail.status = read_log(tail);
    }
    [[nodiscard]] bool has_log(const std::string& stem) override { return fs::exists(index_path(stem)); }
    Status cut_log(const std::string& stem, std::int64_t bytes) override {
        return cut(index_path(stem), bytes);
    }
    Status remove_log(const std::string& stem) override { return remove_if_there(index_path(stem)); }

    [[nodiscard]] bool is_alive(const WriterFiles& files) override {
        const std::string index = index_path(files.stem);
        const auto age_s = [](const std::string& path) {
            struct stat info {};
            if (::stat(path.c_str(), &info) != 0) return 1e9;
            return static_cast<double>(wall_clock_ns()) * 1e-9 - static_cast<double>(info.st_mtim.tv_sec);
        };
        const Descriptor file(::open(index.c_str(), O_RDONLY | O_CLOEXEC));
        if (file.get() < 0) return errno != ENOENT;  // the index is made first
        const bool has_locks = ::flock(file.get(), LOCK_SH | LOCK_NB) == 0;
        if (!has_locks && errno == EWOULDBLOCK) return true;
        std::array<std::byte, 4096> head{};
        const ssize_t length = ::pread(file.get(), head.data(), head.size(), 0);
        const auto header =
            decode_header(std::span(head).first(static_cast<std::size_t>(std::max<ssize_t>(0, length))));
        const bool is_others = header.ok() && header.value().header.host != host_name();
        if (has_locks && !is_others) return false;
        return std::min(age_s(index), age_s(data_path(files.stem))) < quiet_s;
    }
    [[nodiscard]] bool is_over(const WriterFiles& files) override { return !is_alive(files); }

    [[nodiscard]] std::string data_path(std::string_view stem) const override {
        return path() + "/" + std::string(stem) + std::string(data_suffix);
    }
    [[nodiscard]] std::pair<std::string, std::int64_t> data_place(std::string_view stem,
                                                                  std::int64_t offset_bytes) const override {
        return {data_path(stem), offset_bytes};
    }
    [[nodiscard]] std::int64_t most_object_bytes() const override { return 0; }
    [[nodiscard]] Result<storage::FilePtr> make_data(const std::string& stem, bool direct) override {
        return storage::open_file(
            data_path(stem),
            {.read = false, .write = true, .create = true, .exclusive = true, .direct = direct});
    }
    [[nodiscard]] Result<storage::FilePtr> open_data(const std::string& path) override {
        return storage::open_file(path, {.regular_only = true});
    }
    [[nodiscard]] std::vector<Extent> data_extents(const std::string& stem) override {
        const std::int64_t bytes = file_size(data_path(stem));
        if (bytes == 0) return {};
        return {{0, bytes}};
    }
    Status cut_data(const std::string& stem, std::int64_t bytes) override {
        return cut(data_path(stem), bytes);
    }
    Status remove_data(const std::string& stem) override { return remove_if_there(data_path(stem)); }

    /// The blocks that lie wholly within removed fields. Where the file system cannot give them back, the
    /// space stays taken until all fields of the file are gone.
    void give_back(const std::string& stem, std::span<const Extent> removed,
                   const std::function<bool(std::int64_t, std::int64_t)>& /*holds_fields*/) override {
        assert(std::ranges::is_sorted(removed, {}, &Extent::offset_bytes));
        const Descriptor file(::open(data_path(stem).c_str(), O_RDWR | O_CLOEXEC));
        struct stat info {};
        if (file.get() < 0 || ::fstat(file.get(), &info) != 0) return;
        // A copy of the store by hard links still has the fields, and the space is taken in any case.
        if (info.st_nlink > 1) return;
        for (std::size_t i = 0; i < removed.size();) {
            const std::int64_t begin = removed[i].offset_bytes;
            std::int64_t end = begin + removed[i].length_bytes;
            // No further: what lies between may be a field, however small.
            while (++i < removed.size() && removed[i].offset_bytes == end) end += removed[i].length_bytes;
            const std::int64_t first = (begin + block_bytes - 1) / block_bytes * block_bytes;
            const std::int64_t last = end / block_bytes * block_bytes;
            if (last > first)
                (void)::fallocate(file.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, first,
                                  last - first);
        }
    }

    [[nodiscard]] std::unique_ptr<HeldGate> hold_gate(const std::string& maker) override {
        return std::make_unique<FolderGate>(path_of(gate_name), maker, path());
    }
    [[nodiscard]] std::optional<GateInfo> held_gate() override {
        const std::string path = path_of(gate_name);
        const Descriptor gate(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
        if (gate.get() < 0 || is_dead(gate, LOCK_SH)) return {};
        return GateInfo{maker_of(gate), path};
    }
    bool remove_dead_gates() override {
        const std::string path = path_of(gate_name);
        const Descriptor gate(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
        // With the lock nobody else removes it, and who made another one since has another file there.
        if (gate.get() < 0 || !is_dead(gate, LOCK_EX) || !is_still(gate, path)) return false;
        return storage::remove_file(path).ok();
    }

  private:
    [[nodiscard]] std::string path_of(std::string_view name) const {
        return path() + "/" + std::string(name);
    }

    static Status cut(const std::string& path, std::int64_t bytes) {
        auto file = storage::open_file(path, {.read = true, .write = true});
        if (file.status().code() == ErrorCode::not_found) return {};  // emptied by somebody else's wipe
        if (!file.ok()) return file.status();
        Status status = file.value()->set_size(bytes);
        if (status.ok()) status = file.value()->sync();
        status.keep_first(file.value()->close());
        return status;
    }

    Status read_log(LogTail& tail) const {
        storage::FilePtr own;
        storage::FilePtr& file = tail.file != nullptr ? *tail.file : own;
        if (!file) {
            auto opened = storage::open_file(index_path(tail.files->stem), {.regular_only = true});
            tail.is_gone = opened.status().code() == ErrorCode::not_found;
            if (tail.is_gone) return {};
            if (!opened.ok()) return opened.status();
            file = std::move(opened).value();
        }
        const Result<std::int64_t> size = file->size_bytes();
        if (!size.ok()) return size.status();
        tail.is_gone = size.value() < tail.begin_bytes;
        if (tail.is_gone || size.value() == tail.size_bytes) return {};
        tail.size_bytes = size.value();
        tail.bytes.resize(static_cast<std::size_t>(size.value() - tail.begin_bytes));
        const Result<std::int64_t> read = file->read_at(tail.bytes, tail.begin_bytes);
        if (!read.ok()) return read.status();
        tail.bytes.resize(static_cast<std::size_t>(read.value()));
        return {};
    }
};

}  // namespace

PlacePtr make_folder_place(const std::string& path) {
    return std::make_shared<FolderPlace>(path);
}

}  // namespace hakobi::store
