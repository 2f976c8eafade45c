#include "options.hpp"

#include <gtest/gtest.h>

#include <iterator>

namespace hakobi::bench {
namespace {

TEST(Options, AHintsSizeReachesTheMpiLibraryInDigits) {
    const char* const words[] = {"hakobi-bench-collective",
                                 "--mpi-hint",
                                 "cb_buffer_size=4M",
                                 "--mpi-hint",
                                 "cb_nodes=4",
                                 "--mpi-hint",
                                 "cb_config_list=*:8",
                                 "--mpi-hint",
                                 "romio_cb_write=enable",
                                 "--mpi-hint",
                                 "striping_unit=64KiB",
                                 "--mpi-hint",
                                 "no value"};
    const CommandLine line =
        parse_command_line(static_cast<int>(std::size(words)), const_cast<char**>(words), true);
    ASSERT_FALSE(line.exit_status.has_value());
    const std::vector<std::string> expected = {"cb_buffer_size=4194304", "cb_nodes=4",
                                               "cb_config_list=*:8",     "romio_cb_write=enable",
                                               "striping_unit=65536",    "no value"};
    EXPECT_EQ(line.options.mpi_hints, expected);
}

}  // namespace
}  // namespace hakobi::bench
