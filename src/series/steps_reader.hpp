#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "format/found_step.hpp"

namespace hakobi::series {

/// Reads what the steps of a long series say of themselves, file after file. Those of one run differ in
/// values and in their time: a file that has the bytes of the one before it wherever that was looked at says
/// the same, and is not taken apart again. Local.
class StepsReader {
  public:
    /// Returns what read_step does.
    Result<format::FoundStep> read(const std::string& path);
    /// How many files were taken apart; for tests.
    [[nodiscard]] std::int64_t num_parsed() const noexcept { return num_parsed_; }

  private:
    /// Whether the file is like the last one; `found` then says what it says.
    [[nodiscard]] bool is_like_the_last(const std::string& path, format::FoundStep& found) const;
    /// Keeps the bytes that decide a description, unless that cannot be.
    void keep(const std::string& path, std::int64_t file_bytes, const format::FoundStep& found);

    std::int64_t num_parsed_ = 0;
    format::FoundStep last_;
    std::int64_t file_bytes_ = 0;
    std::vector<std::byte> kept_;  ///< of last_.decided_by, one behind the other; empty: no file is like it
};

}  // namespace hakobi::series
