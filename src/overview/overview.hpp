#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "format/step.hpp"
#include "overview/reduce.hpp"

namespace hakobi::overview {

/// The suffix of an overview's name behind its step's: "run_000012.nc.overview.zip".
/// python/hakobi/post/overview.py describes the contents.
inline constexpr std::string_view suffix = ".overview.zip";

struct Axis {
    std::string name, units;
    std::int64_t length = 0;
    std::vector<double> values;  ///< none: without coordinates
};

/// A field of a step's file in 2-D or 3-D; its values lie from offset_bytes on, in C order, unless `read` has
/// them.
struct Field {
    std::string name, units, long_name;
    format::ValueType type = format::ValueType::float32;
    std::vector<Axis> axes;  ///< 2 or 3
    std::int64_t offset_bytes = 0;
    double fill = std::numeric_limits<double>::quiet_NaN();     ///< this value is none
    double missing = std::numeric_limits<double>::quiet_NaN();  ///< nor is this
    std::int64_t num_times = 0;                                 ///< 0: without a time axis
    std::int64_t time_stride_bytes = 0;                         ///< from one time to the next
    /// Reads a box of one time as numbers of cell_type(type); called by several threads.
    std::function<Status(std::int64_t time, const Box& box, void* values)> read;
};

/// How the work is done. With a journal, a run that was killed is gone on with by the next one whose head is
/// the same.
struct Work {
    int num_threads = 1;
    std::string journal, journal_head;       ///< file, "": none; what the work is about
    const std::atomic<int>* stop = nullptr;  ///< looked at between pieces: not 0 ends the work
};

/// As what a field's values are reduced: float32 where it holds them.
[[nodiscard]] CellType cell_type(format::ValueType type);

/// Writes the overview of a step's whole file `step_fd`, whose name is going to be `name`, to the file
/// `target_fd`, which is new or what the journal tells of. Memory is a few times `most_bytes` a thread. Bytes
/// do not depend on threads. Local. io, no_space, format, out_of_memory; what Field::read returns.
Status make_overview(int step_fd, const std::string& name, std::vector<Field> fields, int target_fd,
                     std::int64_t most_bytes, const Work& work = {});

}  // namespace hakobi::overview
