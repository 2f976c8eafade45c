#pragma once

#include <cstdint>
#include <optional>

#include "mpiio/access.hpp"
#include "mpiio/open_file.hpp"

namespace hakobi::mpiio {

// Collective writes that have returned before storage has their bytes (io/hidden_writes.hpp; docs/hidden.md
// has the table of who waits). Collective calls that the engine takes wait, or need not, by themselves. The
// functions below are for all others: they look at every handle by which this process has the same file open,
// and cost nothing in a program that hides nothing. Local; any thread.

/// Waits until no byte of the file is under way: before a call of the MPI library, or of the queue, that may
/// touch any.
void settle(const OpenFile& file);
/// The same for the file's other handles: before a collective call that the engine takes.
void settle_others(const OpenFile& file);
/// Before an access of this rank alone: waits where bytes that it touches are under way. Others it passes.
void settle_for(OpenFile& file, const Access& access);
/// Takes a short write of this rank alone that would otherwise wait in the storage's queue behind what is
/// under way: its bytes are copied, and follow. Its error comes with the next collective call of this rank.
/// Returns how many bytes it takes; nothing: nothing has been done.
[[nodiscard]] std::optional<std::int64_t> defer(OpenFile& file, const Access& access);
/// Behind the last byte under way, 0 where there is none: what the size of the file will be, at least.
[[nodiscard]] std::int64_t hidden_end_bytes(const OpenFile& file);
/// The file's size, with what is under way; -1 where POSIX calls do not say, with errno set.
[[nodiscard]] std::int64_t size_bytes(const OpenFile& file);

/// An engine has been opened that may hide writes: what is left of them when the process exits without
/// MPI_Finalize is stored then.
void expect_hidden_writes();
/// The same of files that are open when MPI_Finalize begins; an error, which no call could report, is told on
/// stderr. Local.
void end_open_files();
[[nodiscard]] bool may_have_hidden_writes();

/// Storage has failed where no call of the program hears of it: a line on stderr, and the process will end
/// with a status that is not 0 unless HAKOBI_HIDDEN_ERRORS is `warn`.
void tell_unheard(const OpenFile& file, const Status& status);
/// From now on the process ends so, also where another rank has told.
void end_with_failure();

}  // namespace hakobi::mpiio
