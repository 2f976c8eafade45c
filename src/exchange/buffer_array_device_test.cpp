// Buffer arrays of pieces on a device, which is the one of tests/device.
#include <gtest/gtest.h>

#include <cstdlib>
#include <deque>
#include <hakobi/buffer_array.hpp>
#include <hakobi/error.hpp>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "device/program.hpp"

namespace hakobi {
namespace {

using device_test::Array;
using device_test::Program;

/// The environment is read when the driver is initialised.
const bool is_set = [] {
    setenv("HAKOBI_FAKE_DEVICES", "2", 1);
    setenv("HAKOBI_FAKE_DEVICE_DELAY_S", "0.0001", 1);
    return true;
}();

class BufferArrayOnDevice : public testing::TestWithParam<const char*> {
  protected:
    void SetUp() override {
        const bool is_nodes = std::string(GetParam()) == "nodes";
        if (is_nodes) setenv("HAKOBI_RANKS_PER_NODE", "1", 1);
        comm_ = Comm::duplicate(MPI_COMM_WORLD);
        unsetenv("HAKOBI_RANKS_PER_NODE");
        arrays_ = BufferArrays::get(comm_, {.path = is_nodes ? "auto" : GetParam(), .pack_bytes = 1000});
    }
    void TearDown() override { comm_.free(); }
    [[nodiscard]] int next() const { return (comm_.rank() + 1) % comm_.size(); }
    [[nodiscard]] int previous() const { return (comm_.rank() + comm_.size() - 1) % comm_.size(); }
    /// So many bytes, which say whose they are.
    static std::vector<unsigned char> bytes_of(int rank, std::int64_t bytes, int round) {
        std::vector<unsigned char> made(static_cast<std::size_t>(bytes));
        for (std::size_t i = 0; i < made.size(); ++i)
            made[i] = static_cast<unsigned char>(i * 7 + static_cast<std::size_t>(rank * 31 + round));
        return made;
    }

    Program program_;
    Comm comm_;
    BufferArrays arrays_;
};
INSTANTIATE_TEST_SUITE_P(Paths, BufferArrayOnDevice, testing::Values("auto", "cma", "packed", "nodes"),
                         [](const auto& param) { return std::string(param.param); });

/// A side's memory, on the device or not.
class Side {
  public:
    Side(bool is_on_device, std::int64_t bytes) : host_(static_cast<std::size_t>(bytes) + 1, 0xee) {
        if (is_on_device) device_ = std::make_unique<Array<unsigned char>>(host_);
    }
    [[nodiscard]] unsigned char* data() { return device_ ? device_->data() : host_.data(); }
    void set(const std::vector<unsigned char>& bytes) {
        std::copy(bytes.begin(), bytes.end(), host_.begin());
        if (device_) device_->set(host_);
    }
    [[nodiscard]] std::vector<unsigned char> bytes() {
        std::vector<unsigned char> all = device_ ? device_->values() : host_;
        all.pop_back();
        return all;
    }

  private:
    std::vector<unsigned char> host_;
    std::unique_ptr<Array<unsigned char>> device_;
};

/// Appends all of it in pieces of these lengths in turn, as they lie.
void append_cut(BufferArray& list, unsigned char* data, std::int64_t bytes,
                std::vector<std::int64_t> lengths) {
    for (std::size_t i = 0; bytes > 0; ++i) {
        const std::int64_t length = std::min(bytes, lengths[i % lengths.size()]);
        list.append(data, length);
        data += length;
        bytes -= length;
    }
}

TEST_P(BufferArrayOnDevice, BytesArriveInOrderWhereverTheyAre) {
    for (const bool is_send_on_device : {true, false}) {
        for (const std::int64_t bytes : {0, 1, 4096, 4097, 30000}) {
            Side out_memory(is_send_on_device, bytes), in_memory(true, bytes);
            BufferArray out = arrays_.make(), in = arrays_.make();
            append_cut(out, out_memory.data(), bytes, {700, 0, 1, 333});
            append_cut(in, in_memory.data(), bytes, {512});
            for (int round = 0; round < 2; ++round) {
                out_memory.set(bytes_of(comm_.rank(), bytes, round));
                in.receive(previous(), 3);
                out.send(next(), 3);
                while (!out.done() || !in.done()) {
                }
                ASSERT_EQ(in_memory.bytes(), bytes_of(previous(), bytes, round)) << bytes << " bytes";
            }
        }
    }
}

TEST_P(BufferArrayOnDevice, TheHostReceivesFromADevice) {
    for (const std::int64_t bytes : {100, 30000}) {
        Side out_memory(true, bytes), in_memory(false, bytes);
        BufferArray out = arrays_.make(), in = arrays_.make();
        append_cut(out, out_memory.data(), bytes, {700});
        append_cut(in, in_memory.data(), bytes, {9000});
        out_memory.set(bytes_of(comm_.rank(), bytes, 1));
        out.send(next());
        in.receive(previous());
        in.wait();
        out.wait();
        ASSERT_EQ(in_memory.bytes(), bytes_of(previous(), bytes, 1)) << bytes << " bytes";
    }
}

TEST_P(BufferArrayOnDevice, KeepsTheOrderOfAStream) {
    constexpr int num_rounds = 4;
    constexpr std::int64_t rows = 40, row_bytes = 100, pitch_bytes = 160, all_bytes = rows * pitch_bytes;
    const DeviceStream stream = program_.make_stream();
    device::Device& device = *device::all_devices().at(0);
    const auto size = static_cast<std::size_t>(all_bytes);
    const Array<unsigned char> from(std::vector<unsigned char>(size), device),
        to(std::vector<unsigned char>(size, 9), device);
    BufferArray out = arrays_.make(), in = arrays_.make();
    for (std::int64_t row = 0; row < rows; ++row) {
        out.append(from.data() + row * pitch_bytes, row_bytes, Memory::device);
        in.append(to.data() + row * pitch_bytes, row_bytes);
    }
    std::vector<std::vector<unsigned char>> made, used(num_rounds, std::vector<unsigned char>(size));
    for (int round = 0; round < num_rounds; ++round) {
        made.push_back(bytes_of(comm_.rank(), all_bytes, round));
        program_.lock(made.back().data(), size);
        program_.lock(used[static_cast<std::size_t>(round)].data(), size);
    }
    const std::int64_t num_waits = program_.num_waits();
    for (std::size_t round = 0; round < num_rounds; ++round) {
        program_.copy(from.data(), made[round].data(), size, stream);
        in.receive(previous(), 0, stream);
        out.send(next(), 0, stream);
        out.wait(stream);
        in.wait(stream);
        program_.copy(used[round].data(), to.data(), size, stream);
    }
    EXPECT_EQ(program_.num_waits(), num_waits);
    program_.finish(stream);
    for (int round = 0; round < num_rounds; ++round) {
        const auto sent = bytes_of(previous(), all_bytes, round);
        const auto& come = used[static_cast<std::size_t>(round)];
        for (std::int64_t i = 0; i < all_bytes; ++i) {
            const auto at = static_cast<std::size_t>(i);
            ASSERT_EQ(come[at], i % pitch_bytes < row_bytes ? sent[at] : 9)
                << "round " << round << ", byte " << i;
        }
        program_.unlock(made[static_cast<std::size_t>(round)].data());
        program_.unlock(used[static_cast<std::size_t>(round)].data());
    }
    program_.destroy(stream);
}

// At equal distances as rows are, and twice the same one: no single copy of the driver.
TEST_P(BufferArrayOnDevice, PiecesMayLieInSeveralAllocationsAndMeet) {
    constexpr std::int64_t num_arrays = 3, bytes = 300;
    std::deque<Array<unsigned char>> from, to;
    BufferArray out = arrays_.make(), in = arrays_.make();
    for (int a = 0; a < num_arrays; ++a) {
        from.emplace_back(bytes_of(comm_.rank(), bytes, a));
        to.emplace_back(std::vector<unsigned char>(2 * bytes, 9));
    }
    for (std::size_t a = 0; a < num_arrays; ++a) {
        for (int twice = 0; twice < 2; ++twice) {
            out.append(from[a].data(), bytes);
            in.append(to[a].data() + twice * bytes, bytes);
        }
    }
    in.receive(previous());
    out.send(next());
    out.wait();
    in.wait();
    for (int a = 0; a < num_arrays; ++a) {
        std::vector<unsigned char> sent = bytes_of(previous(), bytes, a);
        sent.insert(sent.end(), sent.begin(), sent.begin() + bytes);
        EXPECT_EQ(to[static_cast<std::size_t>(a)].values(), sent) << a;
    }
}

TEST_P(BufferArrayOnDevice, RefusesWhatCannotBe) {
    std::vector<unsigned char> host(100);
    unsigned char* const memory = program_.allocate<unsigned char>(100);
    BufferArray list = arrays_.make();
    const auto code_of = [&](void* data, std::int64_t bytes, Memory said) {
        try {
            list.append(data, bytes, said);
        } catch (const Error& error) {
            return error.code();
        }
        return ErrorCode::ok;
    };
    EXPECT_EQ(code_of(host.data(), 100, Memory::device), ErrorCode::invalid_argument);
    EXPECT_EQ(code_of(memory, 101, Memory::automatic), ErrorCode::invalid_argument);
    EXPECT_EQ(code_of(memory, 100, Memory::automatic), ErrorCode::ok);
    EXPECT_EQ(code_of(host.data(), 100, Memory::automatic), ErrorCode::unsupported);
    if (device::all_devices().size() < 2) GTEST_SKIP() << "there is one device";
    const Program second(1);
    unsigned char* const elsewhere = second.allocate<unsigned char>(100);
    EXPECT_EQ(code_of(elsewhere, 100, Memory::automatic), ErrorCode::unsupported);
    const DeviceStream foreign = second.make_stream();
    EXPECT_THROW(list.send(next(), 0, foreign), Error);
    EXPECT_TRUE(list.done());
    list.release();
    EXPECT_EQ(code_of(elsewhere, 100, Memory::automatic), ErrorCode::ok);
    second.destroy(foreign);
    second.release(elsewhere);
    program_.release(memory);
}

}  // namespace
}  // namespace hakobi
