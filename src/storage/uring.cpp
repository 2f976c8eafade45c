#include "storage/uring.hpp"

namespace hakobi::storage {

Result<std::unique_ptr<Access>> make_uring_access(File&, const AccessOptions&) {
    return Status(ErrorCode::unsupported, "file access 'uring' is not in this build");
}

}  // namespace hakobi::storage
