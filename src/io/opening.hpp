#pragma once

#include <cstdint>
#include <hakobi/comm.hpp>

#include "base/status.hpp"
#include "io/choice.hpp"
#include "io/opened_file.hpp"
#include "io/options.hpp"
#include "io/report.hpp"
#include "io/striping.hpp"

namespace hakobi::io {

/// The facts that all ranks know alike once a file is open.
struct Opening {
    EngineOptions options;  ///< in force: rank 0's, with what nobody has chosen
    FileSetting setting;
    FileStripes stripes;          ///< none where domains are contiguous
    ReportWishes wants;           ///< of some rank
    bool is_cycle_chosen = true;  ///< nobody has asked for a cb_buffer_size
    bool may_hide = false;        ///< hakobi_hidden, and nothing stands against elective hidden writes
    bool has_failed = false;      ///< something, on some rank
};

/// Collective: the ranks' only meeting while a file opens on one node, one all-reduce. `file` may be open or
/// not; `status`: what has gone wrong on this rank, which is added to.
[[nodiscard]] Opening agree_on_opening(const Comm& comm, const EngineOptions& options, const OpenedFile& file,
                                       Status& status);

}  // namespace hakobi::io
