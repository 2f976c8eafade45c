#pragma once

#include <cstdint>
#include <hakobi/comm.hpp>
#include <hakobi/hints.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace hakobi::io {

/// How the engine works on a file. docs/hints.md has the table.
struct EngineOptions {
    int cb_nodes = 0;                  ///< aggregators in all; 0: aggregators_per_node on every node
    int aggregators_per_node = 0;      ///< "*:n" of cb_config_list; 0: chosen
    std::int64_t cb_buffer_bytes = 0;  ///< one collective buffer; 0: chosen
    int depth = 0;                   ///< collective buffers in flight an aggregator (hakobi_depth); 0: chosen
    int io_threads = 0;              ///< I/O threads an aggregator (hakobi_io_threads); 0: chosen
    std::string access = "threads";  ///< "threads", "uring" or "posix" (hakobi_access)
    std::string shuffle = "auto";    ///< "auto", "always" or "never" (hakobi_shuffle)
    std::int64_t striping_unit_bytes = 0;  ///< alignment of file domains; 0: asks the storage
    int striping_factor = 0;               ///< servers of a new file; -1: all; 0: chosen
    int start_iodevice = -1;               ///< the first of them; -1: chosen
    int overstriping_ratio = 0;            ///< a new file's stripes on each server; 0: 1
    std::string layout = "auto";  ///< of new files without these hints: "auto" or "folder" (hakobi_layout)
    std::int64_t async_budget_bytes =
        256 << 20;  ///< asynchronous writes: collective buffers a node (hakobi_async_budget)
    /// "auto": holes of a write are read and written back under a lock where that is cheaper than an access
    /// for each run; "untouched": never (hakobi_holes, romio_ds_write).
    std::string holes = "auto";
    int server_requests =
        0;  ///< in flight for each server of a file with stripes (hakobi_server_requests); 0: chosen
    double storage_timeout_s =
        0;  ///< an access that takes longer is an error; 0: none does (hakobi_storage_timeout_s)
    std::string nonblocking =
        "auto";  ///< the drop-in's nonblocking and split collectives: "auto", or "library"
                 ///< (hakobi_nonblocking)
    /// "off", "write", "close" or "auto": blocking collective writes under the drop-in leave their accesses
    /// behind, and so may MPI_File_close (hakobi_hidden). The drop-in makes one of the others of "auto".
    std::string hidden = "off";
    bool direct_io = false;  ///< O_DIRECT (hakobi_direct_io)
    bool profile = false;    ///< a table of the counters on stderr at close (hakobi_profile)
};

/// Collective: rank 0's, on every rank. `internal` on a rank that cannot read them.
[[nodiscard]] Result<EngineOptions> options_of_rank_0(const Comm& comm, const EngineOptions& options);
/// "4M", "512k", "1048576"; nothing when it is no such number. Pure.
[[nodiscard]] std::optional<std::int64_t> parsed_bytes(std::string_view text);
/// Equal for equal options, and hardly for others; not negative. Local.
[[nodiscard]] std::int64_t fingerprint(const EngineOptions& options);
/// Options from hints over HAKOBI_HINTS over HAKOBI_HINTS_FILE over the defaults. invalid_argument for a
/// value that cannot be read, `io` for such a file; unknown names are appended to `warnings`, names that
/// MPI-IO reserves but the engine has no use for are not.
Result<EngineOptions> engine_options(const Hints& hints, std::vector<std::string>& warnings);
/// The hints that hold for all files of the process: HAKOBI_HINTS over HAKOBI_HINTS_FILE. Errors as above.
[[nodiscard]] Result<Hints> hints_of_process();
/// The values in force as hints: the same names, all of them set.
[[nodiscard]] Hints hints_of(const EngineOptions& options);

}  // namespace hakobi::io
