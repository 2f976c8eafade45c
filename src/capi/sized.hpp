#pragma once

#include <hakobi.h>

#include <cstdint>
#include <cstring>
#include <hakobi/error.hpp>
#include <string>
#include <vector>

// Structs of the C interface begin with their size, since a program's header may be older than the library:
// members that it does not have are 0, their default, and none is written behind its end. They grow by
// members at their end, which has no padding that a member could take (tools/bindings checks that).
namespace hakobi::capi {

/// Throws invalid_argument for what is no size of a struct of this version or an earlier one. `type`: its
/// name.
template <class Struct>
void check_size(const Struct& given, const char* type) {
    const std::size_t size = given.struct_size;
    const bool is_one = size > sizeof(std::size_t) && size <= sizeof(Struct) && size % alignof(Struct) == 0;
    if (is_one) return;
    throw Error(ErrorCode::invalid_argument,
                std::string(type) + ": its struct_size is " + std::to_string(size) +
                    ", and this library's is " + std::to_string(sizeof(Struct)) +
                    (size > sizeof(Struct) ? ": the program was built with a newer Hakobi, or did not set it"
                                           : ": HAKOBI_INIT sets it"));
}

/// The struct as this library knows it. NULL: all members have their defaults.
template <class Struct>
Struct taken(const Struct* given, const char* type) {
    Struct known = {};
    if (given != nullptr) {
        check_size(*given, type);
        std::memcpy(&known, given, given->struct_size);
    }
    known.struct_size = sizeof(Struct);
    return known;
}

/// The structs of an array, which are as far apart as the first one's size says. `what` they are: "axes".
template <class Struct>
std::vector<Struct> all_taken(const Struct* first, std::int64_t num, const char* type, const char* what) {
    if (num < 0 || (first == nullptr && num > 0))
        throw Error(ErrorCode::invalid_argument,
                    std::string("num_") + what + " is " + std::to_string(num) + ", but there are none");
    std::vector<Struct> all;
    all.reserve(static_cast<std::size_t>(num));
    for (const auto* at = reinterpret_cast<const char*>(first); num > 0; --num) {
        all.push_back(taken(reinterpret_cast<const Struct*>(at), type));
        at += first->struct_size;
    }
    return all;
}

/// Gives the caller what its struct has room for.
template <class Struct>
void give(const Struct& values, Struct& to, const char* type) {
    check_size(to, type);
    const std::size_t size = to.struct_size;
    std::memcpy(&to, &values, size);
    to.struct_size = size;
}

/// A member that is HAKOBI_YES, HAKOBI_NO or 0, its default. Throws invalid_argument for another value.
inline bool yes(int value, bool otherwise, const char* member) {
    if (value == 0) return otherwise;
    if (value == HAKOBI_YES || value == HAKOBI_NO) return value == HAKOBI_YES;
    throw Error(ErrorCode::invalid_argument,
                std::string(member) + " is " + std::to_string(value) + ", not HAKOBI_YES, HAKOBI_NO or 0");
}

}  // namespace hakobi::capi
