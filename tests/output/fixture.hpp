#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <hakobi/hakobi.hpp>
#include <iterator>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "format/registry.hpp"
#include "output/placement.hpp"
#include "output/reference.hpp"

namespace hakobi::test {

namespace fs = std::filesystem;

/// A communicator and a folder that all ranks share, new for each test and removed after it. Making and
/// removing are collective.
class RanksTest : public ::testing::Test {
  protected:
    void SetUp() override {
        comm = Comm::duplicate(MPI_COMM_WORLD);
        char name[] = "/tmp/hakobi_test_XXXXXX";
        if (comm.rank() == 0 && mkdtemp(name) == nullptr) name[0] = '\0';
        MPI_Bcast(name, sizeof(name), MPI_CHAR, 0, comm.handle());
        folder = name;
        ASSERT_FALSE(folder.empty()) << "cannot make a folder in /tmp";
    }
    void TearDown() override {
        MPI_Barrier(comm.handle());
        if (comm.rank() == 0) fs::remove_all(folder);
        MPI_Barrier(comm.handle());
        comm.free();
    }
    [[nodiscard]] bool is_rank_0() const { return comm.rank() == 0; }
    void barrier() const { MPI_Barrier(comm.handle()); }
    /// Collective, so that all ranks leave a loop together.
    [[nodiscard]] bool has_any_rank_failed() const {
        int failed = HasFailure() ? 1 : 0;
        MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, comm.handle());
        return failed != 0;
    }

    Comm comm;
    std::string folder;
};

/// The names in a folder, sorted; what shows the steps as one data set is view_test.cpp's and left out.
inline std::vector<std::string> names_in(const std::string& folder) {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder)) {
        std::string name = entry.path().filename().string();
        if (!name.ends_with(".series.nc")) names.push_back(std::move(name));
    }
    std::sort(names.begin(), names.end());
    return names;
}

/// The contents of files by their names below a folder; the file that shows a series is view_test.cpp's.
using Files = std::map<std::string, std::vector<char>>;

inline Files files_in(const std::string& folder) {
    Files files;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        const std::string path = entry.path();
        if (entry.is_regular_file() && !path.ends_with(".series.nc"))
            files[path.substr(folder.size() + 1)] = bytes_of_file(path);
    }
    return files;
}

/// Puts and ends one step of the fields; the step's time is its number / 4.
inline void write_step(Output& out, const Comm& comm, std::int64_t step,
                       const std::vector<TestField>& fields) {
    std::vector<Values> values;
    for (std::size_t f = 0; f < fields.size(); ++f) {
        values.emplace_back(f, fields[f], step,
                            fields[f].block_of(fields[f].global, comm.size(), comm.rank()));
    }
    out.begin_step(0.25 * static_cast<double>(step));
    for (std::size_t f = 0; f < fields.size(); ++f) {
        out.put(placed.field(
            {.name = fields[f].name, .units = "m", .block = values[f].block(), .data = values[f].data()}));
    }
    out.end_step();
    placed.end_step();
}

/// Calls `call` and returns the Error that it threw; code ok when it threw none.
template <class Call>
Error error_of(Call call) {
    try {
        call();
    } catch (const Error& error) {
        return error;
    }
    return {ErrorCode::ok, ""};
}

/// Collective: whether every rank holds the same error as rank 0 (code, rank and text).
inline bool is_same_everywhere(const Comm& comm, const Error& error) {
    std::string mine =
        std::string(to_string(error.code())) + "|" + std::to_string(error.rank()) + "|" + error.what();
    mine.resize(1000);
    std::string first = mine;
    MPI_Bcast(first.data(), static_cast<int>(first.size()), MPI_CHAR, 0, comm.handle());
    int same = mine == first ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &same, 1, MPI_INT, MPI_MIN, comm.handle());
    return same != 0;
}

/// Every method that writes files, as parameter of a test.
inline std::vector<std::string> writing_methods() {
    std::vector<std::string> names;
    for (const std::string_view name : output_methods()) {
        if (name != "none") names.emplace_back(name);
    }
    return names;
}

/// A method and a format, as parameter of a test.
struct Way {
    std::string method, format;
};
inline std::vector<Way> all_ways() {
    std::vector<Way> ways;
    for (const std::string_view format : output_formats()) {
        for (const std::string& method : writing_methods()) ways.push_back({method, std::string(format)});
    }
    return ways;
}
/// Those of fields on axes.
inline std::vector<Way> every_way() {
    std::vector<Way> ways = all_ways();
    std::erase_if(ways,
                  [](const Way& way) { return format::find_format(way.format).value()->holds_meshes(); });
    return ways;
}
inline std::string name_of_way(const ::testing::TestParamInfo<Way>& info) {
    std::string name = info.param.method + "_" + info.param.format;
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}
inline std::string name_of_method(const ::testing::TestParamInfo<std::string>& info) {
    std::string name = info.param;
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}

}  // namespace hakobi::test
