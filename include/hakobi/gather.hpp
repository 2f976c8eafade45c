#pragma once

#include <hakobi/export.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace hakobi {
inline namespace v0 {

struct GatherResult {
    std::vector<std::string> files;       ///< written or completed, in order
    std::vector<std::string> incomplete;  ///< what was left unchanged or removed, each with the reason
};
/// Assembles files from the pieces that `per-process` left in `path` (a `*.pieces` folder) or in every such
/// folder of the directory `path`, and completes the steps that a killed run had stored there, or with the
/// prefix `path`; its other unfinished files are removed and named in `incomplete`. A complete set of pieces
/// is gathered into its file, the file is read back, and the pieces are removed. Sets are left unchanged if
/// they are incomplete (a killed run), if their file exists with other contents, or if a run or another
/// gathering uses their prefix. Nothing is done where all steps are whole. Local: no MPI. Throws not_found,
/// format, no_space, io.
HAKOBI_EXPORT GatherResult gather_pieces(std::string_view path);

}  // namespace v0
}  // namespace hakobi
