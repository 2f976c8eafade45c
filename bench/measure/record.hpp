#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "base/status.hpp"
#include "measure/repetition.hpp"
#include "measure/topology.hpp"

// Results as JSON lines; docs/records.md is the schema. A file begins with a `conditions` record;
// measurements follow; `summary` records end it. Rank 0 writes; nothing here communicates.

namespace hakobi::measure {

using Record = nlohmann::ordered_json;

/// Version of the schema in docs/records.md, in every conditions record.
constexpr int schema_version = 1;

/// The conditions of a figure that this process can know: host, processor, caches, kernel, MPI library,
/// ranks, whether they exceed the cores, and the commit of the build ($HAKOBI_COMMIT, which the command
/// sets). `kind` is "conditions".
[[nodiscard]] Record conditions(const std::string& benchmark, int num_ranks, const Topology& topology);

/// A measurement's statistics and samples as members of a record: "unit", "median", "ci_low", "ci_high",
/// "spread", "relative_width", "min", "max", "num_samples", "num_outliers", "num_warmup", "stationary",
/// "wide", "samples".
[[nodiscard]] Record to_record(const Measurement& measurement, const std::string& unit = "s");

/// Appends records to a file, one line each, flushed line by line: a killed run keeps what it had.
class RecordWriter {
  public:
    /// An empty path writes nowhere. Existing records stay; a last line that a killed run cut off is removed.
    /// A directory, an unwritable path, and a file that ends with something else than a record are errors.
    [[nodiscard]] static Result<RecordWriter> open(const std::string& path);
    /// The first failure is kept and returned by every later call.
    Status write(const Record& record);

  private:
    RecordWriter() = default;
    std::string path_;
    std::ofstream file_;
    Status status_;
};

}  // namespace hakobi::measure
