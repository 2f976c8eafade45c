#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "series/step.hpp"
#include "storage/file.hpp"

namespace hakobi::series {

// A receipt says of one of a hidden step's writers that it has stored all that it had of the step: 2 of
// names.hpp, for the case that no rank lives that could say so.
//
//  - The writers are numbered, and each knows how many there are.
//  - When all accesses of a writer are over, it writes its receipt behind the end of the step's file: block w
//    of the receipts is writer w's alone, so that nodes do not write to one block at once. For a step in a
//    file of several they are in a file of its own (pending_commit.hpp), since the next step's values follow.
//
// A receipt stands behind the bytes that it speaks of as long as the system lives, and with `sync` also if it
// does not. Decision 32.

/// The contents of a receipt beside its writer.
struct ReceiptOf {
    std::uint64_t token = 0;      ///< of the step: that of its temporary name
    std::int64_t file_bytes = 0;  ///< without receipts; 0: there are none
    std::string path = {};        ///< as the system knows it, of the file that gets it; "": the step's own
    [[nodiscard]] bool is_wanted() const noexcept { return file_bytes > 0; }
};
/// The receipt of a step; for a step in a file of several it is in another file (pending_commit.hpp).
[[nodiscard]] ReceiptOf receipt_of(const Step& step);
/// Whether writers can leave receipts of the step: where its storage has files of the system. Elsewhere, as
/// on RADOS, nobody knows of a step that it is whole, and openers name it as lost. Equal on all ranks.
[[nodiscard]] bool has_receipts(const Step& step);

/// `file` is the step's; with `sync` the caller has synced it. Any thread; without a receipt, which a full
/// storage may refuse, the step is only not known to be whole. Nothing where the storage has no files of the
/// system.
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

/// Where a file stands that has these receipts. Pure.
[[nodiscard]] FileState state_of(const Name& name, const Receipts& receipts);

/// A step's file on its way to its name.
struct FileNames {
    std::string part, whole, path;
    std::int64_t file_bytes = 0;  ///< without receipts
};
[[nodiscard]] FileNames names_of(const Step& step);
/// Takes the file of a hidden step from where it stands to `goal`, by 3 to 5 of names.hpp. After an error
/// `state` is where it stands, too. A file that has further names is copied by 4: under those it stays as it
/// is. Local.
Status advance(const FileNames& names, FileState& state, FileState goal);

}  // namespace hakobi::series
