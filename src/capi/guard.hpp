#pragma once

#include <hakobi.h>

#include <hakobi/error.hpp>
#include <new>
#include <string>
#include <string_view>
#include <utility>

namespace hakobi::capi {

/// Remembers text and rank for hakobi_error_text and hakobi_error_rank of this thread; returns the code as an
/// int.
int remember(ErrorCode code, std::string_view text, int rank = -1) noexcept;

/// Runs `body` and turns what it throws into a code: nothing passes the C boundary.
template <class Body>
int guarded(Body&& body) noexcept {
    try {
        std::forward<Body>(body)();
        return HAKOBI_OK;
    } catch (const Error& error) {
        return remember(error.code(), error.what(), error.rank());
    } catch (const std::bad_alloc&) {
        return remember(ErrorCode::out_of_memory, "out of memory");
    } catch (const std::exception& error) {
        return remember(ErrorCode::internal, error.what());
    } catch (...) {
        return remember(ErrorCode::internal, "an unknown exception");
    }
}

/// The text behind a pointer that may be NULL.
inline std::string text_or(const char* text, const char* otherwise = "") {
    return text != nullptr ? text : otherwise;
}

}  // namespace hakobi::capi
