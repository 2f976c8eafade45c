#pragma once

#include <hakobi/comm.hpp>
#include <memory>
#include <vector>

#include "contender.hpp"
#include "measure/record.hpp"
#include "measure/repetition.hpp"
#include "options.hpp"
#include "pattern.hpp"

namespace hakobi::bench {

/// One contender in one direction, and what its samples cost besides time.
struct Series {
    std::unique_ptr<Transfer> transfer;
    bool is_write = false;
    std::vector<double> cpu_s;         // of each sample
    std::vector<double> call_s;        // of each sample: without opening and closing
    std::vector<double> cached_share;  // of the file before each read; rank 0
};

/// Prints the table and writes the records; on rank 0. `results` are those of `series`, in its order; each
/// operation's first is the floor. Throws Error when `writer` has failed.
void report(const Comm& comm, const Options& options, const Pattern& pattern,
            const std::vector<Series>& series, const std::vector<measure::Measurement>& results,
            measure::RecordWriter& writer);

}  // namespace hakobi::bench
