#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/status.hpp"

namespace hakobi::format::zarr {

/// The group's own attribute: who made it, and by which rules.
inline constexpr const char* mark = "hakobi_store";
inline constexpr int mark_version = 1;

inline Status damaged(const std::string& path, const std::string& how) {
    return {ErrorCode::format, path + ": " + how};
}

/// Runs what reads metadata, whose members may be missing or of other kinds.
template <class Work>
auto reading(const std::string& path, Work work) -> decltype(work()) {
    try {
        return work();
    } catch (const nlohmann::ordered_json::exception& failure) {
        return damaged(path, std::string("its metadata are damaged: ") + failure.what());
    }
}

}  // namespace hakobi::format::zarr
