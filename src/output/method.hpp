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
#include "output/hidden.hpp"
#include "series/step.hpp"

namespace hakobi::output {

using series::Part;
using series::Step;

/// An output method: how values get from the ranks' memory into files. One object serves one Output.
/// Functions are collective over the Output's communicator, with equal arguments but for this rank's parts,
/// and return the same on every rank, unless they are said to be local. Not thread-safe.
class Method {
  public:
    virtual ~Method() = default;
    Method() = default;
    Method(const Method&) = delete;
    Method& operator=(const Method&) = delete;

    /// Whether `write` stores the layout's metadata as well, which rank 0 otherwise writes before it. In a
    /// hidden step they would wait for the values of the steps before. Local, equal on all ranks; asked for
    /// each step.
    [[nodiscard]] virtual bool writes_metadata() const { return false; }
    /// Whether `write` takes parts in memory of a device (Step::device). Else they are copied to the host
    /// before `prepare`. Local, equal on all ranks; asked for each step.
    [[nodiscard]] virtual bool takes_device_memory() const { return false; }
    /// Does what may fail while no other rank waits for this one: allocates buffers, makes folders. Local.
    virtual Status prepare(const Step& /*step*/) { return {}; }
    /// Stores all ranks' parts, of Makes::step_file in the file at part_path. Reads no memory of the
    /// caller's after it returns. A hidden step is not stored yet then.
    virtual mpi::Agreed write(const Step& step) = 0;
    /// The number of hidden steps: their `write` has returned, and `wait` has not. Local, equal on all ranks.
    [[nodiscard]] virtual int num_hidden() const { return 0; }
    /// How many of the oldest of them this rank has stored, so that it needs no waiting. Local.
    [[nodiscard]] virtual int num_stored() const { return 0; }
    /// The largest number of hidden steps at one time. Local, equal on all ranks.
    [[nodiscard]] virtual int most_hidden() const { return 1; }
    /// Waits for the oldest hidden step and returns its error. `stored_s` becomes the time (now_s()) at which
    /// this rank's last storage access for it was over; 0: it had none.
    virtual mpi::Agreed wait(double& /*stored_s*/) { return {}; }
    /// Gives up a step after an agreed failure, its own or an earlier step's; also one that failed before
    /// `prepare`. No file of it stays; files of an earlier run are not touched. Local.
    virtual void abandon(const Step& /*step*/) {}
    // A method that stands for several (`auto`) says which it uses at present. Local, equal on all ranks.
    /// Its name; "": this one has no other.
    [[nodiscard]] virtual std::string_view name() const { return ""; }
    /// Whether it hides its steps, where output is hidden at all.
    [[nodiscard]] virtual bool is_hidden() const { return true; }
    /// Why it is used, for people.
    [[nodiscard]] virtual std::string why() const { return ""; }
    /// Whether `close` has more to do than to release what the method holds. Local, equal on all ranks.
    [[nodiscard]] virtual bool has_work_at_close() const { return false; }
    /// Completes what was left for the end of the run, and adds the time that it took to `times`. Called
    /// once, also after a failure.
    virtual mpi::Agreed close(OutputTimes& /*times*/) { return {}; }
};

struct MethodSettings {
    Comm comm;
    OutputOptions options;
    Hidden hidden;
    /// `parallel`: the most that a rank writes by one call; a multiple of 8.
    std::int64_t round_bytes = mpi::MpiFile::most_round_bytes;
};

/// The files that a method makes of a step's values.
enum class Makes : std::uint8_t {
    step_file,  ///< the step's own, which rank 0 has laid out under part_path before `write`, and names after
    pieces,     ///< others, which are put together later
    nothing
};

/// A method's line in the table of registry.cpp. `make` is local.
struct MethodEntry {
    std::string_view name;
    Result<std::unique_ptr<Method>> (*make)(const MethodSettings&);
    Makes makes = Makes::step_file;
    const char* why_not_hidden = nullptr;    ///< of a method whose steps cannot be hidden
    const char* why_system_names = nullptr;  ///< of a method that writes to folders of a file system alone
    bool takes_library_hints = false;        ///< hints are the MPI library's, too: unknown ones may be right
};

}  // namespace hakobi::output
