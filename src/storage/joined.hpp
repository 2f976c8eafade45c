#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "storage/file.hpp"

namespace hakobi::storage {

// Several files behind the addresses of one, "joined:FOLDER": what goes to a step's file by one region goes
// to the files of a store by the same.
//
//   FOLDER/members   where each begins and ends, as text; made first
//   FOLDER/0, 1, …   the members, of just their sizes
//   FOLDER/rest      what is written behind the last member's end, at its address
//
// Addresses between members have no storage: they read as zeros, and what is written there is gone. The
// members are files of whatever backend FOLDER's own scheme names; who moves them out of the folder one by
// one makes them files for themselves.

inline constexpr const char* joined_scheme = "joined:";

/// Addresses of a member.
struct Member {
    std::int64_t begin = 0, end = 0;
};

/// Makes the folder, which must not exist, with all its members. `folder` has no "joined:". Local.
Status make_joined(const std::string& folder, std::span<const Member> members);
/// The sizes of its members; format where one has another size than it was made with. Local.
Result<std::vector<std::int64_t>> sizes_of_members(const std::string& folder);
[[nodiscard]] std::string member_path(const std::string& folder, std::size_t member);
[[nodiscard]] std::string rest_path(const std::string& folder);

/// The folder of a path with that scheme; "" of any other path.
[[nodiscard]] std::string joined_folder(const std::string& path);

// The backend. `remove` takes the folder with whatever files are in it.
Result<FilePtr> open_joined(const std::string& folder, const OpenMode& mode);
Status commit_joined(const std::string& from, const std::string& to, const CommitMode& mode);
Status remove_joined(const std::string& folder);
Result<std::vector<Listed>> list_joined(const std::string& folder);

}  // namespace hakobi::storage
