#include "base/status.hpp"

#include <cstring>
#include <system_error>

namespace hakobi {

std::string_view v0::to_string(ErrorCode code) {
    switch (code) {
        case ErrorCode::ok:
            return "ok";
        case ErrorCode::interrupted:
            return "interrupted";
        case ErrorCode::invalid_argument:
            return "invalid_argument";
        case ErrorCode::not_found:
            return "not_found";
        case ErrorCode::exists:
            return "exists";
        case ErrorCode::permission:
            return "permission";
        case ErrorCode::unsupported:
            return "unsupported";
        case ErrorCode::format:
            return "format";
        case ErrorCode::out_of_memory:
            return "out_of_memory";
        case ErrorCode::no_space:
            return "no_space";
        case ErrorCode::io:
            return "io";
        case ErrorCode::failed:
            return "failed";
        case ErrorCode::internal:
            return "internal";
    }
    return "internal";
}

ErrorCode code_of_errno(int error) {
    switch (error) {
        case 0:
            return ErrorCode::ok;
        case ENOSPC:
        case EDQUOT:
        case EFBIG:
            return ErrorCode::no_space;
        case EACCES:
        case EPERM:
        case EROFS:
            return ErrorCode::permission;
        case ENOENT:
        case ENOTDIR:
            return ErrorCode::not_found;
        case EEXIST:
        case EISDIR:
        case ENOTEMPTY:
            return ErrorCode::exists;
        case ENOMEM:
            return ErrorCode::out_of_memory;
        case ENAMETOOLONG:
            return ErrorCode::invalid_argument;
        case ENOSYS:
        case EOPNOTSUPP:
        case 524:  // the kernel's own ENOTSUPP, which some file systems (NFS, DVS) let through to programs
            return ErrorCode::unsupported;
        default:
            return ErrorCode::io;
    }
}

Status status_of_errno(int error, std::string_view what, std::string_view path) {
    std::string text(what);
    text.append(" ").append(path).append(": ").append(std::generic_category().message(error));
    return {code_of_errno(error), std::move(text)};
}

}  // namespace hakobi
