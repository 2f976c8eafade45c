#pragma once

#include <hakobi/error.hpp>
#include <string_view>

#include "mpi/agree.hpp"
#include "mpiio/open_file.hpp"

namespace hakobi::mpiio {

/// Texts of wrong arguments for which MPI has an error class of its own: all ranks learn the text, and the
/// class by it.
inline constexpr std::string_view no_datatype = "the datatype is MPI_DATATYPE_NULL";
inline constexpr std::string_view not_committed = "the datatype is not committed";
inline constexpr std::string_view negative_count = "the count is negative";

/// The MPI error class of an error of ours; docs/drop-in.md has the table. Local.
[[nodiscard]] int error_class_of(ErrorCode code);
[[nodiscard]] int error_class_of(const Status& status);

/// Returns the result of a call on `file` for `agreed`: MPI_SUCCESS, or the error's class, after the file's
/// error handler has been called. Local; equal on all ranks since `agreed` is.
int result_of(const OpenFile& file, const char* call, const mpi::Agreed& agreed);

/// Returns the result, on every rank, of a call on `file` for which the MPI library returned `error` on this
/// one: that error, or the highest class that other ranks have, after the file's error handler has been
/// called. The library may have failed on some ranks only. Collective.
int agreed_error(const OpenFile& file, int error);

}  // namespace hakobi::mpiio
