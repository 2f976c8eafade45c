#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "series/step.hpp"
#include "storage/file.hpp"

namespace hakobi::series {

// A step's file says which of its writers have stored all their parts of it. Whoever finds the file of a
// killed run knows whether it is whole, even if no rank lives to say so.
//
//  1. A hidden step's writers are numbered, and each knows how many there are.
//  2. When all accesses of a writer are over, it writes its receipt behind the end of the step's file: block w of the receipts
//     is writer w's alone, so that nodes do not write to one block at once. For a step in a file of several
//     they are in a file of their own (pending_commit.hpp), since the next step's values follow.
//  3. When all ranks have stored their values, rank 0 says so in the file's temporary name (whole_path), cuts the receipts off,
//     and gives the file its final name.
//  4. A file that has a receipt of each writer, or that name, is whole: whoever finds it (unfinished.hpp) does 3, or its rest.
//
// A receipt stands behind the bytes that it speaks of as long as the system lives, and with `sync` also if it does not. Decision 32.

/// The contents of a receipt beside its writer.
struct ReceiptOf {
    std::uint64_t token = 0;      ///< of the step: that of its temporary name
    std::int64_t file_bytes = 0;  ///< without receipts; 0: there are none
    std::string path = {};        ///< of the file that gets it; "": the step's own
    [[nodiscard]] bool is_wanted() const noexcept { return file_bytes > 0; }
};
/// The receipt of a step; for a step in a file of several it is in another file (pending_commit.hpp).
[[nodiscard]] ReceiptOf receipt_of(const Step& step);

/// `file` is the step's; with `sync` the caller has synced it. Any thread; without a receipt, which a full storage may refuse, the step
/// is only not known to be whole. Nothing where the storage has no files of the system.
void write_receipt(storage::File& file, const ReceiptOf& of, int writer, int num_writers) noexcept;

/// The receipts of a file.
struct Receipts {
    std::int64_t file_bytes = 0;
    std::int64_t num_writers = 0;  ///< 0: it has no receipt
    std::int64_t num_stored = 0;   ///< writers that have stored their part
    [[nodiscard]] bool are_all_there() const noexcept { return num_writers > 0 && num_stored == num_writers; }
};
/// Reads the receipts of the file with the temporary name `path`. Local.
Result<Receipts> read_receipts(const std::string& path);

/// Gives the file at `part`, whose bytes are all stored, its whole_path, and cuts the receipts behind its `file_bytes` off. Killed
/// in between, it leaves a file that 4 completes. Local.
Status call_whole(const std::string& part, std::int64_t file_bytes);

/// Cuts them off. A file that has further names is copied first: under those it stays as it is. Local.
Status cut_receipts(const std::string& path, std::int64_t file_bytes);

}  // namespace hakobi::series
