#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "format/layout.hpp"
#include "series/receipts.hpp"
#include "series/step.hpp"

namespace hakobi::series {

// A hidden step that goes to a file of several (format::GrowingFile) becomes part of it by Layout::commit,
// which rank 0 has in memory until all values are stored. For the case that it is killed before, a file of
// the step's own has the commit, too:
//
//  1. "run_000004.nc.commit.0123456789abcdef.part" is made before a value is written. It has the commit, the
//     names of the file that takes the step, how that file begins before, how long it is with the step, and
//     the files that the step links to.
//  2. Receipts stand behind it (receipts.hpp), at a fixed place: behind the end of the other file the next
//     step's values do.
//  3. It goes when the step is committed.
//  4. Who finds it with all receipts, and the file as it was before the commit, carries that out
//     (unfinished.hpp), in the order of the steps.

[[nodiscard]] std::string commit_path(const Step& step);

/// Whether such a step has such a file: its storage keeps names. Equal on all ranks.
[[nodiscard]] bool has_pending_commit(const Step& step);
/// 2, as receipt_of. None where the storage has no files of the system: who finds the commit names the step.
[[nodiscard]] ReceiptOf receipt_of_commit(const Step& step);

struct PendingCommit {
    std::string name,
        part_name;  ///< of the file that takes the step, in the same folder; the second until its first step is committed
    std::int64_t file_bytes = 0;    ///< of that file, with the step
    std::vector<std::byte> before;  ///< how it begins; empty: it has no step
    std::vector<format::Extent> commit;
    std::vector<std::string> links = {};  ///< files of the same folder in which the step has arrays
};

/// 1. Local, rank 0's.
Status leave_commit(const Step& step, std::span<const std::byte> before);
/// `path` is commit_path's. Returns format for what is no such file, or damaged. Local.
Result<PendingCommit> read_pending_commit(const std::string& path);
/// 4. Returns the path of the file that has the step now; format where it has not the step before, or a file
/// that it links to is not there. Local.
Result<std::string> carry_out(const PendingCommit& pending, const std::string& folder);

}  // namespace hakobi::series
