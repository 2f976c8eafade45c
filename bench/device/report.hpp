#pragma once

#include <hakobi/comm.hpp>
#include <memory>
#include <string>
#include <vector>

#include "entrant.hpp"
#include "measure/record.hpp"
#include "measure/repetition.hpp"

namespace hakobi::bench {

/// Rank 0 prints a table a case and writes the records; the other ranks agree that it could.
class DeviceReport {
  public:
    /// Collective; throws what the file's opening says, alike on all ranks.
    DeviceReport(const Comm& comm, const std::string& json_path);
    void say(const std::string& line) const;
    /// Collective.
    void write(const measure::Record& record);
    /// Collective: a case's measurements, which are in the order of its entrants.
    void add(const DeviceCase& made, const std::vector<measure::Measurement>& measurements,
             const std::vector<bool>& is_right);
    /// Collective: the summaries, last.
    void end();
    /// Whether all of this library's own were right.
    [[nodiscard]] bool is_all_right() const { return is_all_right_; }

  private:
    Comm comm_;
    std::unique_ptr<measure::RecordWriter> writer_;
    std::vector<measure::Record> summaries_;
    bool is_all_right_ = true;
};

}  // namespace hakobi::bench
