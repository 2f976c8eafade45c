#pragma once

// Operations of the C interface, each a row of operation_faults_test.cpp, which lets calls to the system fail
// in them.
#include <gtest/gtest.h>
#include <hakobi/comm.hpp>
// After mpi.h, so that hakobi_comm_duplicate is there.
#include <hakobi/bindings.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "system_calls.hpp"

namespace hakobi::test {

/// The ranks, and where they work.
struct World {
    hakobi_comm* comm = nullptr;  ///< made for each trial
    int rank = 0, size = 1;
    std::string trial;  ///< a folder that is empty when a trial begins
    std::string kept;   ///< one that stays, for what trials read
    /// The times of a series' steps that are there, whatever happens, and of those that may be.
    std::vector<double> stored, perhaps;
    double next_time = 0;

    /// Whether the ranks have the same code. Collective.
    [[nodiscard]] bool is_same(int code) const;
    /// The code of rank 0. Collective.
    [[nodiscard]] int of_rank_0(int code) const;
    void barrier() const;
};

/// One run of an operation: `run` while a call may fail, and then, when none does, `finish`, with its code
/// and whether a call has failed on any rank: it goes on, ends and looks at values, and says what is wrong,
/// "" nothing. Collective.
struct Trial {
    std::function<int()> run;
    std::function<std::string(int code, bool has_failed)> finish;
};

struct Operation {
    std::string name;
    /// Sets up what the operation needs. Collective.
    std::function<Trial(World&)> begin;
    bool is_collective = true;      ///< all ranks have the same code
    bool is_local = false;          ///< of one process: not tried with several ranks
    bool is_between_nodes = false;  ///< each rank is a node
    /// OMPIO's collective calls of three ranks hang where a write fails on one (docs/mpi-faults.md).
    int most_ranks = std::numeric_limits<int>::max();
    /// Without these a rank cannot send what others wait for: it says so to its program, as MPI does, or ends
    /// all ranks. Not tried with several.
    std::vector<SystemCall> needed_by_others = {};
    /// By a library whose destructors take memory, and end the program where there is none.
    bool reads_json = false;
    /// Files that an error leaves are taken away later: by age, or by the next who maintains it.
    bool cleans_later = false;
};

std::vector<Operation> output_operations();
std::vector<Operation> outputs_operations();
std::vector<Operation> input_operations();
std::vector<Operation> exchange_operations();
std::vector<Operation> store_operations();

/// How a series is written.
struct Way {
    std::string name, method, format;
    std::function<void(hakobi_output_options& options, const World& world)> set = {};
    bool has_mesh = false, is_hidden = false, is_between_nodes = false;
};
std::vector<Way> ways_to_write();

/// Writes a whole series of `num` steps at a prefix, from the time 0 on. Collective; "" or what failed.
std::string write_series(const World& world, const Way& way, const std::string& prefix, int num,
                         bool keeps_pieces = false);
/// Holds the steps at a prefix against their values. Local; "" or what is wrong; their times.
std::string look_at_series(const World& world, const Way& way, const std::string& prefix,
                           std::vector<double>& times);
/// The code and text of this thread's last error, if `code` is not OK.
std::string error_of(const char* call, int code);

inline constexpr std::int64_t series_extent = 64;  ///< of both dimensions
/// The value at an element of a step.
inline double series_value(double time, std::int64_t element) {
    return 1e6 * time + static_cast<double>(element);
}

}  // namespace hakobi::test
