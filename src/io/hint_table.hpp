#pragma once

#include <span>
#include <string>
#include <string_view>

#include "io/options.hpp"

namespace hakobi::io {

/// A hint that the engine takes. Parser, drop-in, MPI_File_get_info and the test of docs/hints.md read the
/// one table.
struct Hint {
    std::string_view name;
    /// Sets the option that the hint stands for; invalid_argument for a value that cannot be read.
    Status (*set)(const std::string& name, const std::string& value, EngineOptions& options);
    /// The value in force; null for a hint that sets another one's option.
    std::string (*get)(const EngineOptions& options);
};

[[nodiscard]] std::span<const Hint> hint_table();
/// MPI-IO's reserved names and ROMIO's common ones that the engine has no use for: right, and silently left
/// alone.
[[nodiscard]] std::span<const std::string_view> hints_without_effect();

}  // namespace hakobi::io
