#include "disk.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>

#include "base/checksum.hpp"

namespace hakobi::test {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t most_text_bytes = 8192;

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
    const std::array<std::uint64_t, 2> both = {a, b};
    return checksum_of(std::as_bytes(std::span(both)));
}

bool is_zero(std::span<const std::byte> bytes) {
    return std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; });
}

/// `text` with `to` in place of `from`.
void replace_all(std::vector<std::byte>& bytes, const std::string& from, const std::string& to) {
    if (from == to) return;
    std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
        text.replace(at, from.size(), to);
    const auto* const begin = reinterpret_cast<const std::byte*>(text.data());
    bytes.assign(begin, begin + text.size());
}

}  // namespace

void Content::write(std::int64_t offset, std::span<const std::byte> bytes) {
    digest_.reset();
    size_ = std::max(size_, offset + std::ssize(bytes));
    while (!bytes.empty()) {
        const std::int64_t page = offset / page_bytes, begin = offset % page_bytes;
        const auto length = static_cast<std::size_t>(std::min(page_bytes - begin, std::ssize(bytes)));
        const auto found = pages_.find(page);
        auto changed =
            found == pages_.end() ? std::make_shared<Page>() : std::make_shared<Page>(*found->second);
        std::memcpy(changed->data() + begin, bytes.data(), length);
        if (is_zero(*changed)) {
            pages_.erase(page);
        } else {
            pages_[page] = std::move(changed);
        }
        bytes = bytes.subspan(length);
        offset += static_cast<std::int64_t>(length);
    }
}

void Content::set_size(std::int64_t bytes) {
    digest_.reset();
    if (bytes < size_) {
        pages_.erase(pages_.lower_bound((bytes + page_bytes - 1) / page_bytes), pages_.end());
        const auto last = pages_.find(bytes / page_bytes);
        if (last != pages_.end()) {
            auto cut = std::make_shared<Page>(*last->second);
            std::fill(cut->begin() + bytes % page_bytes, cut->end(), std::byte{0});
            if (is_zero(*cut)) {
                pages_.erase(last);
            } else {
                last->second = std::move(cut);
            }
        }
    }
    size_ = bytes;
}

std::uint64_t Content::digest() const {
    if (!digest_) {
        std::uint64_t sum = static_cast<std::uint64_t>(size_);
        for (const auto& [page, bytes] : pages_)
            sum = mixed(sum, mixed(static_cast<std::uint64_t>(page), checksum_of(*bytes)));
        digest_ = sum;
    }
    return *digest_;
}

Disk::Disk() {
    nodes_[root] = std::make_shared<Entry>(Entry{.is_folder = true, .content = {}, .entries = {}});
}

Disk::Node Disk::find(const std::string& path) const {
    Node node = root;
    for (std::size_t at = 1; at < path.size();) {
        const std::size_t end = std::min(path.find('/', at), path.size());
        const auto& entries = nodes_.at(node)->entries;
        const auto found = entries.find(path.substr(at, end - at));
        if (found == entries.end()) return none;
        node = found->second;
        at = end + 1;
    }
    return node;
}

std::pair<Disk::Node, std::string> Disk::place_of(const std::string& path) const {
    const std::size_t slash = path.rfind('/');
    return {find(path.substr(0, slash)), path.substr(slash + 1)};
}

Disk::Entry& Disk::change(Node node) {
    auto changed = std::make_shared<Entry>(*nodes_.at(node));
    Entry& entry = *changed;
    nodes_[node] = std::move(changed);
    return entry;
}

std::optional<Disk::Change> Disk::resolve(const Operation& operation) const {
    Change change{.operation = &operation, .name = {}, .to_name = {}};
    const auto by_inode = [&] {
        const auto found = by_inode_.find(operation.inode);
        change.node = found == by_inode_.end() ? none : found->second;
        return change.node != none;
    };
    const auto by_path = [&] {
        std::tie(change.folder, change.name) = place_of(operation.path);
        change.node = find(operation.path);
        return change.folder != none;
    };
    bool is_there = true;
    switch (operation.kind) {
        case Kind::create:
        case Kind::make_folder:
            is_there = by_path() && change.node == none;
            change.node = next_;
            break;
        case Kind::write:
        case Kind::truncate:
        case Kind::sync_file:
            is_there = by_inode();
            break;
        case Kind::sync_folder:
            change.node = operation.path.empty() ? root : find(operation.path);
            is_there = change.node != none;
            break;
        case Kind::rename:
        case Kind::link:
            is_there = by_path() && change.node != none;
            std::tie(change.to_folder, change.to_name) = place_of(operation.to);
            is_there = is_there && change.to_folder != none;
            break;
        case Kind::unlink:
        case Kind::remove_folder:
        case Kind::remove_object:
            is_there = by_path() && change.node != none;
            break;
        case Kind::put:
            is_there = by_path();
            change.node = next_;  // who reads the object that it replaces has that one to the end
            break;
        default:
            break;
    }
    return is_there ? std::optional(change) : std::nullopt;
}

void Disk::apply(const Change& change, Part part) {
    const Operation& operation = *change.operation;
    const auto change_content = [&](const auto& how) {
        auto content = std::make_shared<Content>(*nodes_.at(change.node)->content);
        how(*content);
        this->change(change.node).content = std::move(content);
    };
    const auto take_name = [&](Node folder, const std::string& name) {
        const auto& entries = nodes_.at(folder)->entries;
        const auto found = entries.find(name);
        if (found != entries.end() && found->second == change.node) this->change(folder).entries.erase(name);
    };
    switch (operation.kind) {
        case Kind::create:
        case Kind::make_folder: {
            // The file itself is there in any case: what is written to it has to go somewhere.
            const bool is_folder = operation.kind == Kind::make_folder;
            nodes_[change.node] = std::make_shared<Entry>(
                Entry{.is_folder = is_folder, .content = std::make_shared<Content>(), .entries = {}});
            by_inode_[operation.inode] = change.node;
            next_ = std::max(next_, change.node + 1);
            if (part != Part::none) this->change(change.folder).entries[change.name] = change.node;
            break;
        }
        case Kind::write:
            if (part == Part::none) break;
            change_content([&](Content& content) {
                std::span<const std::byte> bytes = operation.bytes;
                if (part == Part::half) bytes = bytes.first(bytes.size() / 2);
                if (part != Part::room) {
                    content.write(operation.offset, bytes);
                } else if (content.size() < operation.offset + std::ssize(bytes)) {
                    content.set_size(operation.offset + std::ssize(bytes));
                }
            });
            break;
        case Kind::truncate:
            if (part != Part::none)
                change_content([&](Content& content) { content.set_size(operation.offset); });
            break;
        case Kind::rename:
            if (part == Part::none) break;
            take_name(change.folder, change.name);
            this->change(change.to_folder).entries[change.to_name] = change.node;
            break;
        case Kind::link:
            if (part != Part::none) this->change(change.to_folder).entries[change.to_name] = change.node;
            break;
        case Kind::unlink:
        case Kind::remove_folder:
        case Kind::remove_object:
            if (part != Part::none) take_name(change.folder, change.name);
            break;
        case Kind::put: {
            auto content = std::make_shared<Content>();
            content->write(0, operation.bytes);
            nodes_[change.node] = std::make_shared<Entry>(
                Entry{.is_folder = false, .content = std::move(content), .entries = {}});
            next_ = std::max(next_, change.node + 1);
            this->change(change.folder).entries[change.name] = change.node;
            break;
        }
        default:
            break;
    }
}

bool Disk::apply(const Operation& operation) {
    const std::optional<Change> change = resolve(operation);
    if (change) apply(*change);
    return change.has_value();
}

template <class Visit>
void Disk::for_each(const Visit& visit, Node folder, const std::string& path) const {
    for (const auto& [name, node] : nodes_.at(folder)->entries) {
        const std::string inside = path + "/" + name;
        visit(inside, node, *nodes_.at(node));
        if (nodes_.at(node)->is_folder) for_each(visit, node, inside);
    }
}

void Disk::make(const std::string& path, const std::string& from) {
    by_inode_.clear();
    std::map<Node, std::string> made;
    for_each(
        [&](const std::string& inside, Node node, const Entry& entry) {
            const std::string name = path + inside;
            struct stat info {};
            if (entry.is_folder) {
                ::mkdir(name.c_str(), 0777);
            } else if (const auto other = made.find(node); other != made.end()) {
                (void)::link(other->second.c_str(), name.c_str());
            } else {
                const int file = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
                std::vector<std::byte> text;
                const Content& content = *entry.content;
                if (content.size() <= most_text_bytes) {
                    text.resize(static_cast<std::size_t>(content.size()));
                    content.for_each_page([&](std::int64_t offset, std::span<const std::byte> bytes) {
                        std::ranges::copy(bytes, text.begin() + offset);
                    });
                    replace_all(text, from, path);
                    (void)!::pwrite(file, text.data(), text.size(), 0);
                } else {
                    content.for_each_page([&](std::int64_t offset, std::span<const std::byte> bytes) {
                        (void)!::pwrite(file, bytes.data(), bytes.size(), offset);
                    });
                    (void)::ftruncate(file, content.size());
                }
                ::close(file);
                made[node] = name;
            }
            if (::lstat(name.c_str(), &info) == 0) by_inode_[static_cast<std::uint64_t>(info.st_ino)] = node;
        },
        root, "");
}

Disk Disk::of_folder(const std::string& path, const std::string& to) {
    Disk disk;
    const std::function<void(const std::string&)> take = [&](const std::string& inside) {
        std::vector<std::string> names;
        for (const auto& entry : fs::directory_iterator(path + inside))
            names.push_back(entry.path().filename());
        std::ranges::sort(names);
        for (const std::string& name : names) {
            struct stat info {};
            const std::string at = inside + "/" + name;
            if (::lstat((path + at).c_str(), &info) != 0) continue;
            const auto inode = static_cast<std::uint64_t>(info.st_ino);
            const bool is_folder = S_ISDIR(info.st_mode);
            const auto known = disk.by_inode_.find(inode);
            if (!is_folder && known != disk.by_inode_.end()) {
                disk.change(disk.find(inside)).entries[name] = known->second;
                continue;
            }
            const Operation made{.kind = is_folder ? Kind::make_folder : Kind::create,
                                 .inode = inode,
                                 .path = at,
                                 .to = {},
                                 .bytes = {}};
            disk.apply(made);
            if (is_folder) {
                take(at);
                continue;
            }
            Content content;
            const int file = ::open((path + at).c_str(), O_RDONLY | O_CLOEXEC);
            for (off_t from = ::lseek(file, 0, SEEK_DATA); from >= 0; from = ::lseek(file, from, SEEK_DATA)) {
                const off_t end = ::lseek(file, from, SEEK_HOLE);
                std::vector<std::byte> bytes(static_cast<std::size_t>(end - from));
                (void)!::pread(file, bytes.data(), bytes.size(), from);
                if (info.st_size <= most_text_bytes) replace_all(bytes, path, to);
                content.write(from, bytes);
                from = end;
            }
            content.set_size(info.st_size);
            ::close(file);
            disk.change(disk.by_inode_.at(inode)).content = std::make_shared<Content>(std::move(content));
        }
    };
    take("");
    return disk;
}

std::uint64_t Disk::digest() const {
    std::uint64_t sum = 0;
    for_each(
        [&](const std::string& inside, Node node, const Entry& entry) {
            sum = mixed(sum, checksum_of(std::as_bytes(std::span(inside))));
            sum = mixed(sum, entry.is_folder ? 1 : entry.content->digest());
            (void)node;
        },
        root, "");
    return sum;
}

std::vector<std::string> Disk::listing() const {
    std::vector<std::string> lines;
    for_each(
        [&](const std::string& inside, Node, const Entry& entry) {
            lines.push_back(entry.is_folder
                                ? inside + "/"
                                : inside + " " + std::to_string(entry.content->size()) + " bytes (" +
                                      std::to_string(entry.content->digest() % 10000) + ")");
        },
        root, "");
    return lines;
}

}  // namespace hakobi::test
