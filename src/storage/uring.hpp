#pragma once

#include <memory>

#include "storage/access.hpp"

namespace hakobi::storage {

/// Requests by the kernel's asynchronous I/O, of `file` where they name none (may be null). Requests that the
/// ring cannot take (a file without a descriptor, an extent that O_DIRECT's alignment excludes) go to I/O
/// threads instead. unsupported where the build or the kernel has no ring.
Result<std::unique_ptr<Access>> make_uring_access(File* file, const AccessOptions& options);

}  // namespace hakobi::storage
