#include <hakobi/comm.hpp>
#include <hakobi/version.hpp>

#include "capi/guard.hpp"
#include "mpi/report_errors.hpp"

namespace hakobi::capi {
namespace {

struct LastError {
    std::string text;
    int rank = -1;
};
thread_local LastError last_error;

}  // namespace

int remember(ErrorCode code, std::string_view text, int rank) noexcept {
    last_error.rank = rank;
    try {
        last_error.text = text;
    } catch (...) {
        last_error.text.clear();  // no memory for the text: the code says it
    }
    return static_cast<int>(code);
}

// hakobi.h promises the numbers of ErrorCode.
static_assert(HAKOBI_OK == static_cast<int>(ErrorCode::ok));
static_assert(HAKOBI_INTERRUPTED == static_cast<int>(ErrorCode::interrupted));
static_assert(HAKOBI_INVALID_ARGUMENT == static_cast<int>(ErrorCode::invalid_argument));
static_assert(HAKOBI_NOT_FOUND == static_cast<int>(ErrorCode::not_found));
static_assert(HAKOBI_EXISTS == static_cast<int>(ErrorCode::exists));
static_assert(HAKOBI_PERMISSION == static_cast<int>(ErrorCode::permission));
static_assert(HAKOBI_UNSUPPORTED == static_cast<int>(ErrorCode::unsupported));
static_assert(HAKOBI_FORMAT == static_cast<int>(ErrorCode::format));
static_assert(HAKOBI_OUT_OF_MEMORY == static_cast<int>(ErrorCode::out_of_memory));
static_assert(HAKOBI_NO_SPACE == static_cast<int>(ErrorCode::no_space));
static_assert(HAKOBI_IO == static_cast<int>(ErrorCode::io));
static_assert(HAKOBI_FAILED == static_cast<int>(ErrorCode::failed));
static_assert(HAKOBI_INTERNAL == static_cast<int>(ErrorCode::internal));

}  // namespace hakobi::capi

const char* hakobi_error_text(void) {
    return hakobi::capi::last_error.text.c_str();
}

int hakobi_error_rank(void) {
    return hakobi::capi::last_error.rank;
}

void hakobi_end_with_error(const char* text, int rank) {
    hakobi::mpi::end_with({hakobi::ErrorCode::failed, hakobi::capi::text_or(text), rank});
}

const char* hakobi_error_name(int code) {
    // to_string's views are of literals, which end with 0.
    return hakobi::to_string(static_cast<hakobi::ErrorCode>(code)).data();
}

const char* hakobi_version(void) {
    return hakobi::version().data();  // a literal's, which ends with 0
}

const char* hakobi_mpi_name(void) {
#if defined(OPEN_MPI)
    return "openmpi";
#elif defined(MPICH_VERSION)
    return "mpich";
#else
    return "other";
#endif
}
