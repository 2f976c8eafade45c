#pragma once

#include <hakobi/comm.hpp>
#include <memory>
#include <vector>

#include "mpiio/open_file.hpp"

namespace hakobi::mpiio {

// Hidden close (hakobi_hidden=close): files that the program has closed, and whose last bytes are on their
// way to storage. docs/hidden.md says what a program gives up by it.
//
//  1. `leave_behind`, by MPI_File_close: each aggregator with bytes under way locks a byte far behind the
//     file's end (io/hidden_writes.hpp), and makes a file NAME.hakobi-pending beside the file. Who ends its
//     last access removes that, and then the lock. A rank that cannot do either waits for its bytes instead.
//  2. The communicator goes back to the pool, and the program's next file uses its buffers. The engine stays
//     until `reap`, which is collective over that communicator: the next MPI_File_open on it closes the
//     engines whose bytes are stored on all ranks, and that of the file that is opened.
//  3. MPI_File_open of any name waits, on its first rank, while somebody has the lock (`wait_until_whole`):
//     so other groups of ranks find the file whole, too.
//  4. An error is a line on stderr, the status of the process (hidden.hpp), and the result of the next
//     MPI_File_open of the same file (`has_failed`, `take_failure`).
//  5. When MPI_Finalize begins, all that is left is reaped. A process that exits without it waits for its own
//     bytes alone.

/// So many files of one group of ranks are under way at most; one more waits for the first.
inline constexpr std::size_t most_closing = 8;

/// Whether HAKOBI_HINTS, or the hints file, asks for it. A hint of the program alone does not: its other
/// ranks would not know. Local.
[[nodiscard]] bool may_close_hidden();

/// The file, of which no call is under way, is closed as far as the program sees, if this returns true, equal
/// on all ranks; else nothing has been done, and all ranks have met. Collective over the file's communicator.
[[nodiscard]] bool leave_behind(const std::shared_ptr<OpenFile>& file);
/// Whether this rank stores bytes of hidden writes to the file, as far as it has come. Local.
[[nodiscard]] bool stores_hidden(const OpenFile& file);
/// A file of that communicator was left behind. Local.
void add_closing(std::shared_ptr<OpenFile> file);

/// Closes the engines of files that were left behind on this communicator and are stored, and of those that
/// are the file `same` of this rank. Collective over it.
void reap(const std::shared_ptr<FileComm>& comms, const FileIdentity& same);
/// Returns when nobody has bytes of the file of this path under way. Local; the thread that may call MPI.
void wait_until_whole(const char* path);
/// Whether a file of this name was closed so, and is not stored whole. Local.
[[nodiscard]] bool has_failed(const FileFacts& facts);
/// The MPI error class of that, MPI_SUCCESS where it is stored; once. `is_known_to_all`: some rank that opens
/// the file has found it so, and they know. Local.
[[nodiscard]] int take_failure(const FileFacts& facts, bool is_known_to_all);

/// Closes the engines of all files that were left behind. Collective over their communicators, when
/// MPI_Finalize begins.
void reap_all();
/// They wait for this rank's bytes, and errors are told. Local.
void end_closing_alone();

/// The files that were left behind. Local; any thread.
[[nodiscard]] std::vector<std::shared_ptr<OpenFile>> closing_files();

/// Removes what this rank of an earlier job has left beside the file: the rank's bytes are stored now. Local.
void remove_leftover(const FileFacts& facts);

}  // namespace hakobi::mpiio
