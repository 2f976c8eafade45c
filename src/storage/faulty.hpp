#pragma once

#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>

#include "storage/file.hpp"

namespace hakobi::storage {

enum class FileOperation { open, read, write, set_size, preallocate, sync, close, rename, remove };

/// One failure to be injected: the nth operation of its kind, counted over all files of the process whose
/// name holds `path`, fails once.
struct Fault {
    int rank = -1;  ///< the process on which it happens (set_fault_rank); -1 is every process
    FileOperation operation = FileOperation::write;
    std::int64_t nth = 1;   ///< counted from 1
    int error = ENOSPC;     ///< errno to be reported; 0 is a short transfer
    std::string path = {};  ///< part of the file's name; "" is every file
};

/// Counts of the armed fault: a test raises `nth` until it no longer fires.
struct FaultCount {
    std::int64_t num_operations = 0;  ///< of the fault's kind on this process
    bool has_fired = false;
};

/// Arms the fault, in place of an earlier one, and counts from 0. Files opened from now on obey it: the
/// failing operation does nothing, with three exceptions as in life: a short write writes the first half and
/// is an io error, a short read returns half of what is there, and a failing close has closed. Without a
/// call, HAKOBI_FAULT=rank=1,operation=write,nth=3,error=ENOSPC,path=run.nc arms the program's first use of
/// storage; where the variable cannot be read, every open_file is an invalid_argument that says why.
void arm_fault(const Fault& fault);
void disarm_fault();
[[nodiscard]] FaultCount fault_count();

/// The rank that faults compare with. Without a call: OMPI_COMM_WORLD_RANK, PMI_RANK or PMIX_RANK, else 0.
void set_fault_rank(int world_rank);

/// Reads the form of HAKOBI_FAULT. Errors: ENOSPC, EDQUOT, EIO, EACCES, EROFS, ENOENT, ENOMEM, short.
Result<Fault> parse_fault(std::string_view text);

// For open_file and its companions.

/// Counts an operation that is no method of File; an error where the fault fires.
Status admit(FileOperation operation, const std::string& path);
/// `inner` under the armed fault, or `inner` itself where none is armed.
FilePtr with_faults(FilePtr inner);

}  // namespace hakobi::storage
