#pragma once

#include <hakobi/comm.hpp>
#include <memory>
#include <vector>

#include "mpiio/open_file.hpp"

namespace hakobi::mpiio {

/// The files that this process has open, by the program's handle. They live until they are removed, never
/// destroyed by the end of the process: a forked child and an exit without MPI_File_close leave them as they
/// are. All functions are local and may be called from any thread.

/// Null for a handle that is not known.
OpenFile* find_file(MPI_File handle);
/// Returns the file, which is in the table under its handle from now on.
OpenFile& add_file(std::unique_ptr<OpenFile> file);
/// Null for a handle that is not known.
std::shared_ptr<OpenFile> remove_file(MPI_File handle);

/// In an order that is the same on the ranks of each.
[[nodiscard]] std::vector<std::shared_ptr<OpenFile>> all_files();
/// All files in the table that are the same file as this one, which is among them.
[[nodiscard]] std::vector<std::shared_ptr<OpenFile>> handles_of(const OpenFile& file);
/// Whether so many files are open that the MPI library, which needs one descriptor a file where the drop-in
/// needs three and more, should have the next one alone.
[[nodiscard]] bool has_many_files();

}  // namespace hakobi::mpiio
