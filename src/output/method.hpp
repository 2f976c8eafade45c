#pragma once

#include <cstddef>
#include <cstdint>
#include <hakobi/output.hpp>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "format/layout.hpp"
#include "format/step.hpp"
#include "mpi/agree.hpp"
#include "mpi/mpi_file.hpp"
#include "output/hiding.hpp"
#include "series/step.hpp"

namespace hakobi::output {

using series::Part;
using series::Step;

/// A way from the ranks' memory to files. One object serves one Output; all its functions but the
/// constructor's work are collective over the Output's communicator unless they say otherwise, and return the
/// same on every rank.
class Method {
  public:
    virtual ~Method() = default;
    Method() = default;
    Method(const Method&) = delete;
    Method& operator=(const Method&) = delete;

    /// Whether the values go into the step's own file. Then rank 0 has laid it out under part_path before
    /// `write`, and renames it afterwards.
    [[nodiscard]] virtual bool writes_step_file() const { return true; }
    /// Whether anything is written at all.
    [[nodiscard]] virtual bool writes() const { return true; }
    /// Local: does what may fail before anybody waits for this rank (allocates buffers, makes folders).
    virtual Status prepare(const Step& /*step*/) { return {}; }
    /// Stores all ranks' parts, in the file at part_path where writes_step_file.
    virtual mpi::Agreed write(const Step& step) = 0;
    /// Steps whose `write` returned before the values were stored: `wait` completes the oldest. Equal on all ranks.
    [[nodiscard]] virtual int num_draining() const { return 0; }
    /// Of these, how many of the oldest need no waiting on this rank. Local.
    [[nodiscard]] virtual int num_drained() const { return 0; }
    /// How many there may be at one time.
    [[nodiscard]] virtual int most_draining() const { return 1; }
    /// `stored_s`: when the last of this rank's storage accesses for that step was over, on now_s(); 0: it had none.
    virtual mpi::Agreed wait(double& /*stored_s*/) { return {}; }
    /// Local: forgets what an agreed failure has left of the step; no file of it stays. Also called for a step that was
    /// draining behind the one that failed, and for one that failed before `prepare`: files of an earlier run stay as they are.
    virtual void abandon(const Step& /*step*/) {}
    /// Where this one stands for several: the one in force, and why it is; "" elsewhere. Local.
    [[nodiscard]] virtual std::string_view name() const { return ""; }
    [[nodiscard]] virtual bool is_hiding() const { return true; }
    [[nodiscard]] virtual std::string why() const { return ""; }
    /// Whether `close` has more to do than to end what the method holds. Equal on all ranks; local.
    [[nodiscard]] virtual bool has_work_at_close() const { return false; }
    /// Completes what was left for the end of the run. Called once, also after a failure; `times` may be
    /// added to.
    virtual mpi::Agreed close(OutputTimes& /*times*/) { return {}; }
};

struct MethodSettings {
    Comm comm;
    OutputOptions options;
    Hiding hiding;
    /// `parallel`: the most that a rank writes by one call; a multiple of 8.
    std::int64_t round_bytes = mpi::MpiFile::most_round_bytes;
};

/// A method's line in the table of registry.cpp. `make` is local.
struct MethodEntry {
    std::string_view name;
    Result<std::unique_ptr<Method>> (*make)(const MethodSettings&);
    const char* why_not_hidden = nullptr;  ///< of a method whose steps cannot drain while the program goes on
};

/// In the order of the documentation.
[[nodiscard]] std::span<const MethodEntry> methods();
/// The entry that `name` stands for; invalid_argument, naming the nearest method, when there is
/// none.
Result<const MethodEntry*> find_method(std::string_view name);

// One a file; registry.cpp lists them.
Result<std::unique_ptr<Method>> make_none(const MethodSettings& settings);
Result<std::unique_ptr<Method>> make_per_process(const MethodSettings& settings);
Result<std::unique_ptr<Method>> make_root(const MethodSettings& settings);
Result<std::unique_ptr<Method>> make_parallel(const MethodSettings& settings);
Result<std::unique_ptr<Method>> make_pipelined(const MethodSettings& settings);
Result<std::unique_ptr<Method>> make_writers(const MethodSettings& settings);

}  // namespace hakobi::output
