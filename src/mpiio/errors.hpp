#pragma once

#include <hakobi/error.hpp>
#include <string_view>

#include "mpi/agree.hpp"
#include "mpiio/open_file.hpp"

namespace hakobi::mpiio {

/// What stands against an access whose argument MPI has an error class of its own for: the text is what all ranks learn.
inline constexpr std::string_view no_datatype = "the datatype is MPI_DATATYPE_NULL";
inline constexpr std::string_view not_committed = "the datatype is not committed";
inline constexpr std::string_view negative_count = "the count is negative";

/// The MPI error class of an error of ours; docs/drop-in.md has the table.
[[nodiscard]] int error_class_of(ErrorCode code);
[[nodiscard]] int error_class_of(const Status& status);

/// What a call on `file` returns for `agreed`: MPI_SUCCESS, or its class after the file's error handler has been
/// called, as for an error of the MPI library. Local, and alike on all ranks since `agreed` is.
int result_of(const OpenFile& file, const char* call, const mpi::Agreed& agreed);

/// What the MPI library's call on `file` returns on every rank where it returned `error` on this one, which may have failed
/// on others: this rank's, or the highest class of theirs after the file's error handler has been called. Collective.
int agreed_error(const OpenFile& file, int error);

}  // namespace hakobi::mpiio
