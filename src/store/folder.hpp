#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.hpp"
#include "base/status.hpp"
#include "store/format.hpp"
#include "store/schema.hpp"

namespace hakobi::store {

/// The pair of files that a writer has in a store's folder.
struct WriterFiles {
    std::string stem;  ///< "<writer>.<id>", 16 hexadecimal digits
    std::uint64_t id = 0;
    bool has_index = false;
    bool has_data = false;
};

/// The schema that is asked for: a shipped one's text, or that of a file. Throws not_found, naming the shipped ones.
std::string schema_text(std::string_view asked);

/// What lies in a store's folder.
struct FolderContents {
    std::vector<WriterFiles> writers;    ///< by stem
    std::vector<std::string> leftovers;  ///< temporary files, which only a killed process leaves
    bool has_catalogue = false;
};

/// A store's folder: its names, and how it comes into being.
class Folder {
  public:
    /// The store in `path`; with a schema (a shipped one's name or a file's path) it is made where there is none. Throws
    /// not_found, unsupported (newer), exists (a store with another schema, or something else in the way), invalid_argument.
    static Folder open(std::string_view path, std::string_view schema);

    [[nodiscard]] const std::string& path() const noexcept { return path_; }
    [[nodiscard]] const Schema& schema() const noexcept { return schema_; }
    [[nodiscard]] std::string index_path(std::string_view stem) const;
    [[nodiscard]] std::string data_path(std::string_view stem) const;
    [[nodiscard]] std::string catalogue_path() const;
    [[nodiscard]] std::string gate_path() const { return gate_path(path_); }
    [[nodiscard]] static std::string gate_path(const std::string& path);
    /// A name beside `path` that nobody else has; what is left over under one was a killed process's.
    [[nodiscard]] static std::string temporary_path(const std::string& path);
    [[nodiscard]] bool is_store()
        const;  ///< its marker is there: it was not moved or removed since it was opened
    [[nodiscard]] FolderContents contents() const;  ///< throws what reading the folder met

  private:
    Folder(std::string path, Schema schema) : path_(std::move(path)), schema_(std::move(schema)) {}
    std::string path_;
    Schema schema_;
};

/// Writes a file so that it is there whole or not at all: under a temporary name, synced, then renamed.
enum class IfExists { replace, keep };
void write_whole(const std::string& path, std::span<const std::byte> bytes, IfExists if_exists);
/// Removes a file; that it is gone already is no error.
Status remove_if_there(const std::string& path);
/// Syncs a folder: what was made, renamed or removed in it stays so.
void sync_folder(const std::string& path);
/// All bytes of a file, through the storage backends.
Result<std::vector<std::byte>> read_whole(const std::string& path);

/// 64 random bits.
std::uint64_t random_id();
std::string host_name();
/// Nanoseconds since 1970.
std::int64_t wall_clock_ns();

/// Takes the lock that says "this writer lives"; false where another process holds it. Where the file system knows no such
/// locks the answer is true.
bool lock_as_owner(const Descriptor& index);
/// Whether the writer of this index may still write: its lock is held, or one of its files was changed within the last ten
/// minutes where locks may not be seen: another host's writer, or a file system without them. No writer that is dead lives
/// again.
bool is_writer_alive(const Folder& folder, const WriterFiles& files);

/// Whether a writer may be called so: letters, digits, '.', '_', '-', at most 100.
bool is_writer_name(std::string_view name);

}  // namespace hakobi::store
