#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "base/status.hpp"

namespace hakobi::format::zarr {

/// The group's own attribute: who made it, and by which rules.
inline constexpr const char* mark = "hakobi_store";
inline constexpr int mark_version = 1;

inline Status damaged(const std::string& path, const std::string& how) {
    return {ErrorCode::format, path + ": " + how};
}

struct TooDeep {};

/// A document of metadata, which are a few levels deep: nlohmann's copies and prints call themselves for each
/// level. Throws TooDeep, and its exceptions for what is no JSON.
inline nlohmann::ordered_json parsed(std::span<const std::byte> bytes) {
    constexpr int most_levels = 64;
    const auto* const text = reinterpret_cast<const char*>(bytes.data());
    return nlohmann::ordered_json::parse(text, text + bytes.size(), [](int depth, auto, auto&) {
        return depth < most_levels ? true : throw TooDeep();
    });
}

/// Runs what reads metadata, whose members may be missing or of other kinds.
template <class Work>
auto reading(const std::string& path, Work work) -> decltype(work()) {
    try {
        return work();
    } catch (const nlohmann::ordered_json::exception& failure) {
        return damaged(path, std::string("its metadata are damaged: ") + failure.what());
    } catch (const TooDeep&) {
        return damaged(path, "its metadata are damaged: they are nested too deep");
    }
}

}  // namespace hakobi::format::zarr
