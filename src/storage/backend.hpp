#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "storage/file.hpp"
#include "storage/layout_wish.hpp"

namespace hakobi::storage {

/// A kind of storage. A new one is a file, a line in backend.cpp's table and one in contract.hpp. Paths come
/// without the scheme. No call throws but for memory; all are local.
struct Backend {
    std::span<const std::string_view> schemes;  ///< what stands before a path's first colon
    Result<FilePtr> (*open)(const std::string& path, const OpenMode& mode) = nullptr;
    /// Gives what was written as `from` the name `to`, whole or not at all: a rename, or the end of an
    /// upload.
    Status (*commit)(const std::string& from, const std::string& to, const CommitMode& mode) = nullptr;
    Status (*remove)(const std::string& path) = nullptr;
    /// Lists the entries directly in a folder, in no order; not_found where there is no such folder.
    Result<std::vector<Listed>> (*list)(const std::string& folder) = nullptr;
    bool has_system_paths = false;     ///< the system and its programs know the files by the same paths
    bool keeps_names = false;          ///< other processes find the files by their names
    bool is_of_files = false;          ///< opens files of other backends, which meet HAKOBI_FAULT each
    const Layouts* layouts = nullptr;  ///< null: files have no layout that could be chosen
    std::string_view example = {};     ///< how users name its files; "": they do not
    bool is_on_objects = false;        ///< a server's objects (objects.hpp), which the same scheme names
    bool takes_ranges = true;          ///< files are written in parts
};

/// The parts of a path: its backend, and the decorators before it, outermost first.
struct Location {
    struct Decoration {
        Decorator decorator;
        std::string text;
    };
    const Backend* backend = nullptr;
    std::string path;  ///< as the backend gets it
    std::vector<Decoration> decorations;
};
/// A word before the first colon that is no scheme and no decorator is part of the file's name.
[[nodiscard]] Location locate(const std::string& path);

}  // namespace hakobi::storage
