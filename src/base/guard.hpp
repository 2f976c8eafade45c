#pragma once

#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.hpp"

namespace hakobi {

/// Runs a rank-local part of a collective call and returns what it threw as a Status: nothing may leave the
/// body of a collective. `body` returns Status or nothing; `what` names the part where the exception has no
/// text of use.
template <class Body>
Status guarded(std::string_view what, Body&& body) {
    try {
        if constexpr (std::is_void_v<decltype(body())>) {
            std::forward<Body>(body)();
            return {};
        } else {
            return std::forward<Body>(body)();
        }
    } catch (const std::bad_alloc&) {
        return {ErrorCode::out_of_memory, std::string(what) + ": no memory"};
    } catch (const Error& error) {
        return {error.code(), error.what()};
    } catch (const std::exception& error) {
        return {ErrorCode::internal, std::string(what) + ": " + error.what()};
    }
}

}  // namespace hakobi
