#pragma once

#include <optional>

#include "mpiio/open_file.hpp"
#include "storage/range_lock.hpp"

namespace hakobi::mpiio {

/// When an access of one rank is over: when the call returns, or when the program has completed its request.
enum class Ends { at_once, later };

/// While one exists this rank accesses the file by itself, through the MPI library. The constructor waits
/// until the node's other ranks are through with the collective calls that this rank has made. A write is
/// kept apart from collective writes that fill holes: those keep its bytes, and the library, which may write
/// back what it read around them, meets no collective write of other ranks. Where a write may last until the
/// program completes it, no call of this rank's handles fills holes any more. Local; any thread.
class OwnAccess {
  public:
    OwnAccess(OpenFile& file, bool is_write, Ends ends);

  private:
    std::optional<storage::WriterLock> lock_;
};

}  // namespace hakobi::mpiio
