// Memory of a device through the C interface: the structs' members reach C++'s, whose own tests have the
// rest.
#include "capi_fixture.hpp"

#include <array>
#include <cstdlib>
#include <numeric>
#include <string_view>
#include <vector>

#include "device/program.hpp"

namespace {

using hakobi::device_test::Array;

class CApiDevices : public hakobi::test::CApiTest {
  protected:
    static constexpr std::int64_t global[] = {6, 8};

    [[nodiscard]] hakobi_block block() const {
        hakobi_block block;
        EXPECT_EQ(hakobi_split(2, global, size_, rank_, &block), HAKOBI_OK);
        return block;
    }
    /// The values of the block with a ghost layer: an element's number in the whole array inside, -1 in the
    /// ghosts.
    [[nodiscard]] static std::vector<double> values_of(const hakobi_block& block) {
        std::vector<double> values;
        for (std::int64_t y = -1; y <= block.count[0]; ++y) {
            for (std::int64_t x = -1; x <= block.count[1]; ++x) {
                const bool is_inside = y >= 0 && y < block.count[0] && x >= 0 && x < block.count[1];
                values.push_back(
                    is_inside ? static_cast<double>(global[1] * (block.start[0] + y) + block.start[1] + x)
                              : -1);
            }
        }
        return values;
    }
};

TEST_F(CApiDevices, AreListed) {
    ASSERT_NE(hakobi_device_text(0), nullptr);
    EXPECT_TRUE(std::string_view(hakobi_device_text(0)).starts_with("CUDA device 0 ("))
        << hakobi_device_text(0);
    EXPECT_EQ(hakobi_device_text(1), nullptr);
    EXPECT_EQ(hakobi_device_text(-1), nullptr);
    EXPECT_EQ(hakobi_device_refused(0), nullptr);
    setenv("HAKOBI_GPU_AWARE", "1", 1);
    EXPECT_EQ(hakobi_mpi_takes_device_memory(0), HAKOBI_YES);
    EXPECT_EQ(hakobi_mpi_takes_device_memory(1), HAKOBI_NO);
    setenv("HAKOBI_GPU_AWARE", "0", 1);
    EXPECT_EQ(hakobi_mpi_takes_device_memory(0), HAKOBI_NO);
    unsetenv("HAKOBI_GPU_AWARE");
}

TEST_F(CApiDevices, FieldsArePutFromThemAndReadToThem) {
    constexpr std::int64_t ghosts[] = {1, 1};
    const hakobi_block mine = block();
    const std::vector<double> values = values_of(mine);
    const hakobi::device_test::Program program;
    const hakobi::DeviceStream stream = program.make_stream();
    const Array<double> eta(values), found(std::vector<double>(values.size(), -1));

    const std::string prefix = folder_ + "/run";
    hakobi_output* out = nullptr;
    ASSERT_EQ(hakobi_output_create(comm_, prefix.c_str(), nullptr, &out), HAKOBI_OK) << text();
    auto field = HAKOBI_INIT(hakobi_field);
    field.name = "eta";
    field.block = mine;
    field.type = HAKOBI_FLOAT64;
    field.data = eta.data();
    field.ghosts = ghosts;
    field.memory = HAKOBI_MEMORY_DEVICE;
    field.stream = stream;
    EXPECT_EQ(hakobi_output_begin_step(out, 0), HAKOBI_OK) << text();
    EXPECT_EQ(hakobi_output_put(out, &field), HAKOBI_OK) << text();
    EXPECT_EQ(hakobi_output_end_step(out), HAKOBI_OK) << text();
    EXPECT_EQ(hakobi_output_close(out), HAKOBI_OK) << text();
    hakobi_output_free(out);

    hakobi_input* in = nullptr;
    ASSERT_EQ(hakobi_input_open(comm_, prefix.c_str(), nullptr, &in), HAKOBI_OK) << text();
    auto read = HAKOBI_INIT(hakobi_field_read);
    read.name = "eta";
    read.step = -1;
    read.block = mine;
    read.type = HAKOBI_FLOAT64;
    read.data = found.data();
    read.ghosts[0] = read.ghosts[1] = 1;
    read.stream = stream;
    EXPECT_EQ(hakobi_input_read(in, &read), HAKOBI_OK) << text();
    EXPECT_EQ(found.values(), values);

    std::vector<double> on_host(values.size());
    read.data = on_host.data();
    read.memory = HAKOBI_MEMORY_DEVICE;
    EXPECT_EQ(same_everywhere(hakobi_input_read(in, &read)), HAKOBI_INVALID_ARGUMENT) << text();
    read.memory = 3;
    EXPECT_EQ(same_everywhere(hakobi_input_read(in, &read)), HAKOBI_INVALID_ARGUMENT);
    EXPECT_NE(text().find("memory is 3"), std::string::npos) << text();
    EXPECT_EQ(hakobi_input_close(in), HAKOBI_OK) << text();
    hakobi_input_free(in);
    program.destroy(stream);
}

// A ring of ranks, each with ghosts on both sides of three values.
TEST_F(CApiDevices, HalosAreExchangedOnAStream) {
    const int up = (rank_ + 1) % size_, down = (rank_ + size_ - 1) % size_;
    const auto value = [](int rank, int i) { return 10.0 * rank + i; };
    const Array<double> ring({-1, value(rank_, 1), value(rank_, 2), value(rank_, 3), -1});
    auto grid = HAKOBI_INIT(hakobi_halo_grid);
    grid.num_dims = 1;
    grid.extents[0] = 3;
    grid.ghosts_low[0] = grid.ghosts_high[0] = 1;
    grid.ranks[0] = size_;
    grid.is_periodic[0] = 1;
    auto field = HAKOBI_INIT(hakobi_halo_field);
    field.data = ring.data() + 1;
    field.element_bytes = field.strides_bytes[0] = sizeof(double);
    field.memory = HAKOBI_MEMORY_DEVICE;
    hakobi_halo* halo = nullptr;
    ASSERT_EQ(hakobi_halo_plan(comm_, &grid, 1, &field, nullptr, &halo), HAKOBI_OK) << text();
    const hakobi::device_test::Program program;
    const hakobi::DeviceStream stream = program.make_stream();
    EXPECT_EQ(hakobi_halo_wait_on(halo, stream), HAKOBI_INVALID_ARGUMENT);
    EXPECT_EQ(hakobi_halo_start_on(halo, stream), HAKOBI_OK) << text();
    EXPECT_EQ(hakobi_halo_wait_on(halo, stream), HAKOBI_OK) << text();
    program.finish(stream);
    EXPECT_EQ(ring.values(), (std::vector<double>{value(down, 3), value(rank_, 1), value(rank_, 2),
                                                  value(rank_, 3), value(up, 1)}));
    hakobi_halo_free(halo);

    std::array<double, 5> on_host{};
    field.data = on_host.data() + 1;
    EXPECT_EQ(same_everywhere(hakobi_halo_plan(comm_, &grid, 1, &field, nullptr, &halo)),
              HAKOBI_INVALID_ARGUMENT);
    EXPECT_EQ(hakobi_halo_start_on(nullptr, stream), HAKOBI_INVALID_ARGUMENT);
    program.destroy(stream);
}

TEST_F(CApiDevices, ListsAreSentOnAStream) {
    const int up = (rank_ + 1) % size_, down = (rank_ + size_ - 1) % size_;
    const auto numbers_of = [](int rank) {
        std::vector<int> numbers(3000);
        std::iota(numbers.begin(), numbers.end(), 10000 * rank);
        return numbers;
    };
    const Array<int> sent(numbers_of(rank_)), received(std::vector<int>(3000, -1));
    hakobi_buffer_arrays* arrays = nullptr;
    hakobi_buffer_array *out = nullptr, *in = nullptr;
    ASSERT_EQ(hakobi_buffer_arrays_get(comm_, nullptr, &arrays), HAKOBI_OK) << text();
    ASSERT_EQ(hakobi_buffer_array_make(arrays, &out), HAKOBI_OK);
    ASSERT_EQ(hakobi_buffer_array_make(arrays, &in), HAKOBI_OK);
    hakobi_buffer_arrays_free(arrays);
    EXPECT_EQ(hakobi_buffer_array_append_memory(out, sent.data(), 12000, 3), HAKOBI_INVALID_ARGUMENT);
    EXPECT_EQ(hakobi_buffer_array_append_memory(out, sent.data(), 8000, HAKOBI_MEMORY_DEVICE), HAKOBI_OK);
    EXPECT_EQ(hakobi_buffer_array_append(out, sent.data() + 2000, 4000), HAKOBI_OK);
    EXPECT_EQ(hakobi_buffer_array_append(in, received.data(), 12000), HAKOBI_OK);
    const hakobi::device_test::Program program;
    const hakobi::DeviceStream stream = program.make_stream();
    EXPECT_EQ(hakobi_buffer_array_send_on(out, up, 7, stream), HAKOBI_OK) << text();
    EXPECT_EQ(hakobi_buffer_array_receive_on(in, down, 7, stream), HAKOBI_OK) << text();
    EXPECT_EQ(hakobi_buffer_array_wait_on(in, stream), HAKOBI_OK) << text();
    EXPECT_EQ(hakobi_buffer_array_wait_on(out, stream), HAKOBI_OK) << text();
    program.finish(stream);
    EXPECT_EQ(received.values(), numbers_of(down));
    hakobi_buffer_array_free(out);
    hakobi_buffer_array_free(in);
    program.destroy(stream);
}

TEST_F(CApiDevices, CollectivesAreStartedOnAStream) {
    const Array<double> mine({1.0 + rank_, 2}), sums({0, 0});
    hakobi_collectives* collectives = nullptr;
    hakobi_collective_plan* plan = nullptr;
    ASSERT_EQ(hakobi_collectives_create(comm_, nullptr, &collectives), HAKOBI_OK) << text();
    ASSERT_EQ(hakobi_collectives_allreduce(collectives, HAKOBI_FLOAT64, HAKOBI_SUM, 2, &plan), HAKOBI_OK);
    const hakobi::device_test::Program program;
    const hakobi::DeviceStream stream = program.make_stream();
    EXPECT_EQ(hakobi_collective_plan_start_on(plan, mine.data(), sums.data(), stream), HAKOBI_OK) << text();
    EXPECT_EQ(hakobi_collective_plan_wait_on(plan, stream), HAKOBI_OK) << text();
    program.finish(stream);
    EXPECT_EQ(sums.values(), (std::vector<double>{size_ * (size_ + 1) / 2.0, 2.0 * size_}));
    hakobi_collective_plan_free(plan);
    EXPECT_EQ(hakobi_collectives_free(collectives), HAKOBI_OK) << text();
    program.destroy(stream);
}

}  // namespace
