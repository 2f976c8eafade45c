#include "store/folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>

#include "base/nearest.hpp"
#include "storage/file.hpp"

namespace hakobi::store {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view marker_name = "hakobi-store";
constexpr std::string_view schema_name = "schema";
constexpr std::string_view catalogue_name = "catalogue";
constexpr std::string_view gate_name = "moving";
constexpr std::string_view index_suffix = ".index";
constexpr std::string_view data_suffix = ".data";
constexpr std::string_view temporary_suffix = ".tmp";
constexpr std::string_view marker_text = "hakobi field store\nformat ";
constexpr double quiet_s = 600;  // a writer on another host that shows no lock counts as alive for so long

std::string text_of(const std::vector<std::byte>& bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::span<const std::byte> bytes_of(std::string_view text) {
    return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

std::string hexadecimal(std::uint64_t number) {
    std::array<char, 17> text{};
    std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(number));
    return text.data();
}

void check_marker(const std::string& path) {
    Result<std::vector<std::byte>> bytes = read_whole(path + "/" + std::string(marker_name));
    bytes.status().throw_if_error();
    const std::string text = text_of(bytes.value());
    unsigned version = 0;
    if (!text.starts_with(marker_text) ||
        std::from_chars(text.data() + marker_text.size(), text.data() + text.size(), version).ec !=
            std::errc()) {
        throw Error(ErrorCode::format, path + "/" + std::string(marker_name) + " is damaged");
    }
    if (version > format_version) {
        throw Error(ErrorCode::unsupported, "the store " + path + " is written by a newer version (format " +
                                                std::to_string(version) + ", this one reads " +
                                                std::to_string(format_version) + ")");
    }
}

Schema read_schema(const std::string& path) {
    const std::string file = path + "/" + std::string(schema_name);
    Result<std::vector<std::byte>> bytes = read_whole(file);
    bytes.status().throw_if_error();
    Result<Schema> schema = Schema::parse(text_of(bytes.value()), file);
    schema.status().throw_if_error();
    return std::move(schema).value();
}

/// Several processes may be at it: each file comes whole and once, the marker last.
void make_store(const std::string& path, const std::string& text, std::string_view asked) {
    Schema::parse(text, shipped_schema(asked).empty() ? asked : "schema").status().throw_if_error();
    std::error_code error;
    if (!fs::create_directory(path, error) && error) {
        status_of_errno(error.value(), "cannot make the store", path).throw_if_error();
    }
    for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
        const std::string name = entry.path().filename();
        if (name != schema_name && name != marker_name && !name.ends_with(temporary_suffix)) {
            // Another process may have finished meanwhile, and have begun to write.
            if (fs::exists(path + "/" + std::string(marker_name))) return;
            throw Error(ErrorCode::exists, "cannot make a store in " + path + ": the folder holds " + name);
        }
    }
    write_whole(path + "/" + std::string(schema_name), bytes_of(text), IfExists::keep);
    const std::string marker = std::string(marker_text) + std::to_string(format_version) + "\n";
    write_whole(path + "/" + std::string(marker_name), bytes_of(marker), IfExists::keep);
    const fs::path parent = fs::absolute(path).parent_path();
    sync_folder(parent.string());
}

}  // namespace

std::string schema_text(std::string_view asked) {
    if (const std::string_view shipped = shipped_schema(asked); !shipped.empty()) return std::string(shipped);
    const std::string path(asked);
    if (!fs::exists(path)) {
        std::vector<std::string_view> names;
        std::string list;
        for (const ShippedSchema& shipped : shipped_schemas()) {
            names.push_back(shipped.name);
            list.append(list.empty() ? "" : ", ").append(shipped.name);
        }
        const std::string nearest = nearest_name(asked, names);
        throw Error(ErrorCode::not_found, "no schema '" + path + "': neither a shipped one (" + list +
                                              ") nor a file" +
                                              (nearest.empty() ? "" : "; did you mean '" + nearest + "'?"));
    }
    Result<std::vector<std::byte>> bytes = read_whole(path);
    bytes.status().throw_if_error();
    return text_of(bytes.value());
}

Folder Folder::open(std::string_view path, std::string_view schema) {
    if (path.empty()) throw Error(ErrorCode::invalid_argument, "a store's path is empty");
    std::string where(path);
    while (where.size() > 1 && where.back() == '/') where.pop_back();
    const bool is_there = fs::exists(where + "/" + std::string(marker_name));
    if (!is_there && schema.empty()) {
        throw Error(ErrorCode::not_found,
                    fs::exists(where) ? where + " is not a field store" : "no field store at " + where);
    }
    std::string asked;
    if (!schema.empty()) asked = schema_text(schema);
    if (!is_there) make_store(where, asked, schema);
    check_marker(where);
    Schema found = read_schema(where);
    if (!asked.empty() && found.text() != asked) {
        throw Error(ErrorCode::exists, "the store " + where + " has another schema than " +
                                           std::string(schema) + ": see " + where + "/" +
                                           std::string(schema_name));
    }
    return {std::move(where), std::move(found)};
}

std::string Folder::index_path(std::string_view stem) const {
    return path_ + "/" + std::string(stem) + std::string(index_suffix);
}
std::string Folder::data_path(std::string_view stem) const {
    return path_ + "/" + std::string(stem) + std::string(data_suffix);
}
std::string Folder::catalogue_path() const {
    return path_ + "/" + std::string(catalogue_name);
}

std::string Folder::gate_path(const std::string& path) {
    return path + "/" + std::string(gate_name);
}
std::string Folder::temporary_path(const std::string& path) {
    return path + "." + hexadecimal(random_id()) + std::string(temporary_suffix);
}
bool Folder::is_store() const {
    return fs::exists(path_ + "/" + std::string(marker_name));
}

FolderContents Folder::contents() const {
    FolderContents contents;
    std::map<std::string, WriterFiles> writers;
    std::error_code error;
    fs::directory_iterator entries(path_, error);
    if (error) status_of_errno(error.value(), "cannot read the folder", path_).throw_if_error();
    for (; entries != fs::directory_iterator(); entries.increment(error)) {
        if (error) break;
        const std::string name = entries->path().filename();
        if (name == catalogue_name) contents.has_catalogue = true;
        if (name.ends_with(temporary_suffix)) contents.leftovers.push_back(name);
        const bool is_index = name.ends_with(index_suffix), is_data = name.ends_with(data_suffix);
        if (!is_index && !is_data) continue;
        const std::string stem = name.substr(0, name.size() - (is_index ? index_suffix : data_suffix).size());
        if (stem.size() < 18 || stem[stem.size() - 17] != '.') continue;
        std::uint64_t id = 0;
        const char* const end = stem.data() + stem.size();
        const auto [stop, problem] = std::from_chars(end - 16, end, id, 16);
        if (problem != std::errc() || stop != end) continue;
        WriterFiles& files = writers[stem];
        files.stem = stem;
        files.id = id;
        (is_index ? files.has_index : files.has_data) = true;
    }
    if (error) status_of_errno(error.value(), "cannot read the folder", path_).throw_if_error();
    for (auto& [stem, files] : writers) contents.writers.push_back(std::move(files));
    return contents;
}

void write_whole(const std::string& path, std::span<const std::byte> bytes, IfExists if_exists) {
    const std::string temporary = Folder::temporary_path(path);
    Status status;
    {
        Result<storage::FilePtr> file =
            storage::open_file(temporary, {.read = false, .write = true, .create = true, .exclusive = true});
        file.status().throw_if_error();
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
        status.throw_if_error();
    }
    sync_folder(fs::path(path).parent_path().string());
}

Status remove_if_there(const std::string& path) {
    Status status = storage::remove_file(path);
    return status.code() == ErrorCode::not_found ? Status() : status;
}

void sync_folder(const std::string& path) {
    const Descriptor folder(::open(path.empty() ? "." : path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (folder.get() < 0) status_of_errno(errno, "cannot open the folder", path).throw_if_error();
    if (::fsync(folder.get()) != 0 && errno != EINVAL) {
        status_of_errno(errno, "cannot sync the folder", path).throw_if_error();
    }
}

Result<std::vector<std::byte>> read_whole(const std::string& path) {
    Result<storage::FilePtr> file = storage::open_file(path, {});
    if (!file.ok()) return file.status();
    const Result<std::int64_t> size = file.value()->size_bytes();
    if (!size.ok()) return size.status();
    std::vector<std::byte> bytes(static_cast<std::size_t>(size.value()));
    const Result<std::int64_t> read = file.value()->read_at(bytes, 0);
    if (!read.ok()) return read.status();
    bytes.resize(static_cast<std::size_t>(read.value()));
    return bytes;
}

std::uint64_t random_id() {
    std::uint64_t id = 0;
    if (::getrandom(&id, sizeof id, 0) != sizeof id)
        id = static_cast<std::uint64_t>(wall_clock_ns()) * 0x9e3779b97f4a7c15;
    return id;
}

std::string host_name() {
    std::array<char, 256> name{};
    if (::gethostname(name.data(), name.size() - 1) != 0) return "unknown";
    return name.data();
}

std::int64_t wall_clock_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

bool lock_as_owner(const Descriptor& index) {
    while (::flock(index.get(), LOCK_EX | LOCK_NB) != 0) {
        if (errno == EWOULDBLOCK) return false;
        if (errno != EINTR) return true;
    }
    return true;
}

bool is_writer_alive(const Folder& folder, const WriterFiles& files) {
    const std::string index = folder.index_path(files.stem);
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
    return std::min(age_s(index), age_s(folder.data_path(files.stem))) < quiet_s;
}

bool is_writer_name(std::string_view name) {
    const auto fits = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
               c == '_' || c == '-';
    };
    return !name.empty() && name.size() <= 100 && name[0] != '.' && std::ranges::all_of(name, fits);
}

}  // namespace hakobi::store
