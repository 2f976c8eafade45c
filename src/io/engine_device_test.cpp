// Requests whose memory is a device's, on some of the ranks: by every layout of a file, within a node and
// between nodes.
#include <algorithm>

#include "device/program.hpp"
#include "engine_fixture.hpp"
#include "storage_model/throttled.hpp"

namespace hakobi::io {
namespace {

using device_test::Array;

class EngineDeviceTest : public EngineTest {
  protected:
    void SetUp() override {
        storage::register_throttled();
        EngineTest::SetUp();
    }
    /// Memory of every second eight bytes.
    [[nodiscard]] static Region spread(std::int64_t size) {
        return Region::strided(8, size / 8, 16, Region::contiguous(0, 8));
    }
    [[nodiscard]] bool has_device(int call) const { return (comm_.rank() + call) % 2 == 0; }

    /// Writes and reads back, the request of a rank with a device by way of it.
    void round_trip_of(Engine& engine, const Region& file, int seed, int call, bool is_hidden) {
        const Region memory = spread(file.size_bytes());
        std::vector<std::byte> source(static_cast<std::size_t>(memory.end_bytes() + 8), untouched);
        const std::vector<std::byte> values = values_of(file, seed);
        Cursor cursor(memory);
        unpack(cursor, source.data(), memory.size_bytes(), values.data());
        Array<std::byte> array(source);
        DeviceMemory device;
        const bool is_on_device = has_device(call) && !file.empty();
        if (is_on_device) {
            ASSERT_TRUE(device.add(array.data(), std::ssize(source), Memory::device, nullptr).value());
        }
        std::byte* const origin = is_on_device ? array.data() : source.data();
        DeviceMemory* const mover = is_on_device ? &device : nullptr;
        if (is_hidden) {
            engine.start_write_all(file, origin, memory, {}, {}, mover).throw_if_error();
        } else {
            engine.write_all(file, origin, memory, {}, mover).throw_if_error();
        }
        const std::vector<std::byte> nothing(source.size(), untouched);
        array.set(nothing);
        std::vector<std::byte> target = nothing;
        std::int64_t bytes_read = -1;
        engine.read_all(file, is_on_device ? array.data() : target.data(), memory, bytes_read, {}, mover)
            .throw_if_error();
        ASSERT_EQ(bytes_read, file.size_bytes());
        ASSERT_EQ(is_on_device ? array.values() : target, source);
    }

    Draws draw{20261126};
};

TEST_P(EngineDeviceTest, EveryLayoutKeepsEveryByte) {
    for (const char* const words :
         {"", "servers=7,stripes=3,stripe=256K", "servers=7,stripes=7,stripe=320K"}) {
        const std::int64_t size = 4 << 20;
        make_file(size);
        std::vector<std::byte> image(static_cast<std::size_t>(size), untouched);
        const std::string name =
            *words == '\0' ? path_
                           : "throttled:bandwidth=100000,latency=0," + std::string(words) + ":" + path_;
        auto engine = open_engine({name, true}, GetParam().hints);
        for (int call = 0; call < 4; ++call) {
            const std::vector<Region> regions =
                draw.interleaved(comm_.size(), draw(0, 10000), draw(1, 30), draw(8, 30000), 8);
            round_trip_of(*engine, regions[static_cast<std::size_t>(comm_.rank())], comm_.rank(), call,
                          call == 2);
            for (int rank = 0; rank < comm_.size(); ++rank) {
                const Region& region = regions[static_cast<std::size_t>(rank)];
                for (Cursor at(region); !at.at_end(); at.advance(1))
                    image[static_cast<std::size_t>(at.offset())] = value_at(at.offset(), rank);
            }
        }
        engine->close().throw_if_error();
        ASSERT_TRUE(file_bytes() == image) << words;
    }
}

/// All ranks the same bytes: between nodes more than a message's packed bytes have room for.
TEST_P(EngineDeviceTest, RanksMayWriteAndReadTheSameBytes) {
    make_file(1 << 20);
    auto engine = open_engine(true);
    for (int call = 0; call < 2; ++call)
        round_trip_of(*engine, Region::strided(0, 100, 9000, Region::contiguous(0, 8800)), 3, call, false);
    engine->close().throw_if_error();
}

/// The file ends in the midst of what is asked for: memory behind that is as it was.
TEST_P(EngineDeviceTest, AShortFileFillsItsPart) {
    const std::int64_t size = 300000;
    make_file(size);
    auto engine = open_engine(false);
    const Region file = Region::contiguous(16000 * comm_.rank(), size);
    const Array<std::byte> array(std::vector<std::byte>(static_cast<std::size_t>(size), std::byte{1}));
    DeviceMemory device;
    ASSERT_TRUE(device.add(array.data(), size, Memory::device, nullptr).value());
    std::int64_t bytes_read = 0;
    engine->read_all(file, array.data(), Region::contiguous(0, size), bytes_read, {}, &device)
        .throw_if_error();
    EXPECT_EQ(bytes_read, size - file.begin_bytes());
    std::vector<std::byte> expected(static_cast<std::size_t>(size), std::byte{1});
    std::fill_n(expected.begin(), bytes_read, untouched);
    EXPECT_EQ(array.values(), expected);
    engine->close().throw_if_error();
}

TEST_P(EngineDeviceTest, PiecesInNoOrderAreRefusedOnAllRanks) {
    make_file(1000);
    auto engine = open_engine(true);
    const Array<std::byte> array(std::vector<std::byte>(100));
    DeviceMemory device;
    ASSERT_TRUE(device.add(array.data(), 100, Memory::device, nullptr).value());
    const std::int64_t offsets[] = {500, 0}, lengths[] = {50, 50};
    const bool is_last = comm_.rank() == comm_.size() - 1;
    const mpi::Agreed agreed = engine->write_all(
        is_last ? Region::indexed(offsets, lengths) : Region::contiguous(100 * comm_.rank(), 100),
        array.data(), Region::contiguous(0, 100), {}, &device);
    EXPECT_EQ(agreed.status.code(), ErrorCode::unsupported);
    EXPECT_EQ(agreed.rank, comm_.size() - 1);
    engine->close().throw_if_error();
}

const Setting settings[] = {
    {"defaults", {}},
    {"never_shuffle", {{"hakobi_shuffle", "never"}}},
    {"odd_buffers", {{"cb_buffer_size", "70001"}, {"striping_unit", "4096"}}},
    {"tiny_buffers", {{"cb_buffer_size", "1000"}, {"hakobi_depth", "3"}}},
    {"uring", {{"hakobi_access", "uring"}, {"cb_buffer_size", "128k"}}},
    {"all_aggregate", {{"cb_config_list", "*:*"}, {"cb_buffer_size", "128k"}}},
    {"a_rank_a_node", {{"cb_buffer_size", "64k"}}, 1},
    {"two_ranks_a_node", {{"cb_buffer_size", "64k"}, {"hakobi_depth", "2"}}, 2},
    {"nodes_one_aggregator", {{"cb_nodes", "1"}, {"cb_buffer_size", "100k"}}, 2},
};
INSTANTIATE_TEST_SUITE_P(All, EngineDeviceTest, testing::ValuesIn(settings),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace hakobi::io
