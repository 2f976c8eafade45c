#pragma once

#include <memory>

#include "storage/access.hpp"

namespace hakobi::storage {

/// Requests by I/O threads, which are started when they are first needed and sleep while nothing is to be
/// done. At most options.num_threads (at least 1), fewer while the storage does not block (concurrency.hpp).
/// The threads never call MPI, take no signals that can be blocked, and are named hakobi-io0, …
/// `file`: of requests that name none; may be null.
std::unique_ptr<Access> make_threads_access(File* file, const AccessOptions& options);

}  // namespace hakobi::storage
