#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "recorder.hpp"

namespace hakobi::test {

/// A file's bytes; copies share them.
class Content {
  public:
    static constexpr std::int64_t page_bytes = 4096;

    void write(std::int64_t offset, std::span<const std::byte> bytes);
    void set_size(std::int64_t bytes);
    [[nodiscard]] std::int64_t size() const { return size_; }
    /// Calls `visit(offset, bytes)` for all that is not zero, page by page.
    template <class Visit>
    void for_each_page(const Visit& visit) const {
        for (const auto& [page, bytes] : pages_)
            visit(page * page_bytes, std::span<const std::byte>(*bytes).first(static_cast<std::size_t>(
                                         std::min(page_bytes, size_ - page * page_bytes))));
    }
    [[nodiscard]] std::uint64_t digest() const;

  private:
    using Page = std::array<std::byte, page_bytes>;
    std::int64_t size_ = 0;
    std::map<std::int64_t, std::shared_ptr<const Page>> pages_;
    mutable std::optional<std::uint64_t> digest_;
};

/// Files and folders below a root, as a file system would have them: files without their names, folders with
/// the names of their entries. A name may have been lost and its file not, or the other way round.
class Disk {
  public:
    using Node = int;
    static constexpr Node root = 0, none = -1;

    /// An operation with the files and folders that it is about, whatever becomes of their names.
    struct Change {
        const Operation* operation = nullptr;  // outlives it
        Node node = none;                      ///< the file or folder
        Node folder = none, to_folder = none;
        std::string name, to_name;
    };
    /// How much of a change storage has.
    enum class Part {
        all,
        none,
        half,  ///< of a write: the first half of its bytes
        room   ///< of a write: the file is as long, but has zeros
    };

    Disk();
    /// Nothing where it cannot be carried out here, since another has to come first.
    [[nodiscard]] std::optional<Change> resolve(const Operation& operation) const;
    void apply(const Change& change, Part part = Part::all);
    /// Both. Whether it could.
    bool apply(const Operation& operation);

    /// Makes the files and folders below the empty folder `path`, and takes their inodes for what operations
    /// on them say. Where a small file has the text `from`, it gets `path`: a name that leads from one place
    /// below the root to another.
    void make(const std::string& path, const std::string& from);
    /// The same the other way round: what is below `path`.
    static Disk of_folder(const std::string& path, const std::string& to);

    /// Sums up all names and bytes: equal digests, equal disks for whoever opens them.
    [[nodiscard]] std::uint64_t digest() const;
    /// "/place/run.lock 71 bytes (digest)" of each.
    [[nodiscard]] std::vector<std::string> listing() const;

  private:
    struct Entry {
        bool is_folder = false;
        std::shared_ptr<const Content> content;
        std::map<std::string, Node> entries;
    };
    [[nodiscard]] Node find(const std::string& path) const;
    /// The folder of a path, and its last name.
    [[nodiscard]] std::pair<Node, std::string> place_of(const std::string& path) const;
    Entry& change(Node node);
    template <class Visit>
    void for_each(const Visit& visit, Node folder, const std::string& path) const;

    std::map<Node, std::shared_ptr<const Entry>> nodes_;
    std::map<std::uint64_t, Node> by_inode_;
    Node next_ = 1;
};

}  // namespace hakobi::test
