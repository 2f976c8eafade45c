#pragma once

#include <cstdint>
#include <hakobi/comm.hpp>
#include <hakobi/output.hpp>
#include <memory>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "series/carrier.hpp"
#include "series/stage.hpp"
#include "series/step.hpp"

namespace hakobi::output {

/// Whether, and how, steps go over a stage. Equal on all ranks.
struct StageOptions {
    std::string folder;             ///< "": no stage
    std::int64_t bytes = 0;         ///< held there at most; 0: half of what is free
    std::int64_t bytes_s = 0;       ///< of carrying, until close; 0: no limit
    std::int64_t patience_s = 120;  ///< see Staging::arrive
};
/// OutputOptions::stage, completed by its older names, the hints hakobi_stage, …, which are taken out of
/// `hints`, and by the variables HAKOBI_STAGE, …. invalid_argument for what is no value, and where an option
/// and its hint differ. Local.
Result<StageOptions> take_stage_options(const OutputOptions::Stage& asked, Hints& hints);

/// The stage of an output's steps. Rank 0 has it, whose node is that of all ranks: it carries whole steps to
/// their places while the program goes on.
class Staging {
  public:
    /// For the run that has claimed `prefix`. Local.
    static Result<std::unique_ptr<Staging>> make(const StageOptions& options, const std::string& prefix,
                                                 const series::RunId& run, bool sync);

    /// Waits until the stage has room for a step that is laid out, and says so where that takes long. Steps
    /// on their way to their names on the stage are never waited for, since only this thread names them.
    /// exists where anything has the step's place, no_space where the step is larger than the stage may be,
    /// or why nothing is carried any more. Local; progresses MPI.
    Status make_room(const Comm& comm, const series::Step& step);
    /// The step's file has its name on the stage.
    void carry(const series::Step& step);
    [[nodiscard]] std::vector<std::int64_t> take_arrived() { return carrier_->take_arrived(); }
    [[nodiscard]] series::Carrier::State state() const { return carrier_->state(); }

    /// Removes the stage, which has no step. Local.
    void give_up() noexcept { stage_.end(); }
    /// Waits until all have arrived, without the limit of the rate, and removes the stage. Where nothing
    /// could be copied for `patience_s`, or nothing is carried any more, the steps stay there, and the error
    /// says where. Local; progresses MPI.
    Status arrive(const Comm& comm);
    /// ", over the stage …", for people.
    [[nodiscard]] std::string text() const;

  private:
    /// Whether the place can have objects as large as this step's.
    [[nodiscard]] Status check_objects(const series::Step& step) const;
    Staging(series::Stage stage, StageOptions options, std::string prefix, bool sync);

    series::Stage stage_;
    StageOptions options_;
    std::string prefix_;
    std::unique_ptr<series::Carrier> carrier_;
    std::int64_t unnamed_bytes_ = 0;  // of steps that are laid out, and not carried yet
    double waited_s_ = 0;
};

}  // namespace hakobi::output
