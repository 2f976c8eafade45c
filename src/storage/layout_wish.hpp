#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "storage/layout.hpp"

namespace hakobi::storage {

/// The layout that a new file is to have. Values left out are the folder's; the storage chooses the rest.
struct LayoutWish {
    int num_stripes = 0;            ///< 0: the folder's; `all`: one on each server
    bool overstripes = false;       ///< several stripes may be on one server
    int num_servers = 0;            ///< then: on so many; 0: the storage's choice
    std::int64_t stripe_bytes = 0;  ///< 0: the folder's
    int first_server = -1;          ///< of the first stripe, by its id; -1: the storage's choice

    static constexpr int all = -1;
    friend bool operator==(const LayoutWish&, const LayoutWish&) = default;
};

/// The layouts that a storage can give a file made in some folder.
struct LayoutFacts {
    std::string_view file_system = {};  ///< "lustre", "cephfs"; "": it takes no layouts. Lives for ever
    int num_servers = 0;                ///< 0: not known
    Layout of_folder = {};              ///< what a file gets that nothing is asked for
    bool is_folders_own = false;        ///< somebody has set that for this folder or one above it
    std::int64_t unit_bytes = 1;        ///< stripes are multiples of it
    bool overstripes = false;           ///< takes LayoutWish::overstripes
    bool has_first_server = false;      ///< takes LayoutWish::first_server
    bool spreads_objects =
        false;  ///< whatever the stripes, a large file lies on all servers (Striping::object_bytes)
};

/// The result of asking for a new file.
struct LaidOut {
    bool is_made = false;  ///< the file was not there before
    /// Why it does not have the layout: `exists` (another's file, which stays as it is), or what the storage
    /// said of the wish.
    Status refused = {};
};

/// A storage's layouts: an ability of a backend. Paths are as its other calls get them; all calls are local,
/// none throws.
struct Layouts {
    LayoutFacts (*facts)(const std::string& path) = nullptr;
    LaidOut (*make)(const std::string& path, const LayoutWish& wish) = nullptr;
};

/// Returns the layouts that a file about to be made at `path` may have. Local.
[[nodiscard]] LayoutFacts layout_facts(const std::string& path);

/// Makes an empty file of this layout, which must not exist, by whatever permissions `open_file` would give
/// it. Where the storage refuses the layout the file is there with the folder's; where it cannot be made at
/// all, that is left to whoever opens it. Local.
[[nodiscard]] LaidOut make_laid_out(const std::string& path, const LayoutWish& wish);

}  // namespace hakobi::storage
