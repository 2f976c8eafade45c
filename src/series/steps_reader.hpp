#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "format/found_step.hpp"
#include "storage/file.hpp"

namespace hakobi::series {

/// Reads what the steps of a long series say of themselves, file after file. Those of one run differ in
/// values and in their time: a file that has the bytes of the one before it everywhere else says the same,
/// and is not taken apart again. Local.
class StepsReader {
  public:
    /// Returns what read_step does. All paths are in one folder.
    Result<format::FoundStep> read(const std::string& path);
    /// How many files were taken apart.
    [[nodiscard]] std::int64_t num_parsed() const noexcept { return num_parsed_; }

  private:
    /// A part of a file that is no field's values.
    struct Part {
        std::int64_t offset_bytes = 0;
        std::vector<std::byte> bytes;
    };

    [[nodiscard]] bool is_like_the_last(const std::string& path, format::FoundStep& found) const;
    void keep(storage::File& file, const format::FoundStep& found);

    std::int64_t num_parsed_ = 0;
    std::string folder_;
    format::FoundStep last_;
    std::int64_t file_bytes_ = 0;
    std::vector<Part> parts_;  ///< of the last file; empty: the next one is taken apart
};

}  // namespace hakobi::series
