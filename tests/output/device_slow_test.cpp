// A device that takes its time: what waits for what.
#include <cstdlib>

#include "device/program.hpp"
#include "output/fixture.hpp"

namespace hakobi::test {
namespace {

using device_test::Program;

/// Before each copy begins; set before the drivers are loaded.
const int is_slow = setenv("HAKOBI_FAKE_DEVICE_DELAY_S", "0.02", 1);

constexpr std::int64_t num = 5000;

/// An array on the device, and what a stream of the program copies to it.
struct Late {
    explicit Late(const Program& of)
        : program(of), array(of.allocate<double>(num)), stream(of.make_stream()) {
        program.lock(values.data(), num * sizeof(double));
    }
    ~Late() {
        program.finish(stream);
        program.unlock(values.data());
        program.destroy(stream);
        program.release(array);
    }
    Late(const Late&) = delete;
    Late& operator=(const Late&) = delete;

    /// Gives the stream copies of which the last one begins late: `array` then has `first`, `first` + 1, …
    void make(double first) {
        program.finish(stream);
        for (std::int64_t i = 0; i < num; ++i)
            values[static_cast<std::size_t>(i)] = first + static_cast<double>(i);
        for (int i = 0; i < 3; ++i) program.copy(array, values.data(), num * sizeof(double), stream);
    }

    const Program& program;
    double* array;
    DeviceStream stream;
    std::vector<double> values = std::vector<double>(num);
};

class SlowDevice : public RanksTest, public ::testing::WithParamInterface<std::string> {
  protected:
    [[nodiscard]] Block block() const { return {{num * comm.size()}, {num * comm.rank()}, {num}}; }
    Program program;
};

/// Two fields that two streams make, neither of them there at put; and overwritten as soon as end_step has
/// returned.
TEST_P(SlowDevice, ValuesThatStreamsMakeAfterPutAreStored) {
    Late one(program), two(program);
    Output out = Output::create(comm, folder + "/run", {.method = GetParam()});
    for (int step = 0; step < 3; ++step) {
        one.make(1000 * step);
        two.make(-1000 * step);
        out.begin_step(step);
        for (const auto& [name, late] : {std::pair("one", &one), std::pair("two", &two)}) {
            out.put({.name = name,
                     .block = block(),
                     .data = std::span<const double>(late->array, num),
                     .stream = late->stream});
        }
        out.end_step();
    }
    one.make(-7);
    two.make(-7);
    out.close();
    Input in = Input::open(comm, folder + "/run");
    for (int step = 0; step < 3; ++step) {
        for (const auto& [name, first] :
             {std::pair("one", 1000.0 * step), std::pair("two", -1000.0 * step)}) {
            std::vector<double> found(num);
            in.read({.name = name, .step = step, .block = block(), .data = std::span(found)});
            EXPECT_EQ(found[0], first) << name << " of step " << step;
            EXPECT_EQ(found[num - 1], first + num - 1) << name << " of step " << step;
        }
    }
    in.close();
}

/// The stream's earlier work on the memory comes before the read, which returns when all values are there.
TEST_P(SlowDevice, AReadComesBehindWhatTheStreamHolds) {
    Late late(program);
    std::vector<double> values(num);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i) + comm.rank();
    const std::string compression = GetParam() == "per-process" ? "none" : "deflate";
    Output out = Output::create(comm, folder + "/run", {.method = GetParam(), .keep_pieces = true});
    out.begin_step(0);
    out.put({.name = "plain", .block = block(), .data = std::span<const double>(values)});
    out.put({.name = "packed",
             .compression = compression,
             .block = block(),
             .data = std::span<const double>(values)});
    out.end_step();
    out.close();
    Input in = Input::open(comm, folder + "/run");
    for (const char* name : {"plain", "packed"}) {
        late.make(-5);
        in.read({.name = name, .block = block(), .data = std::span(late.array, num), .stream = late.stream});
        program.copy(late.values.data(), late.array, num * sizeof(double), nullptr);
        program.finish(nullptr);
        EXPECT_EQ(late.values, values) << name;
    }
    in.close();
}

INSTANTIATE_TEST_SUITE_P(Output, SlowDevice, ::testing::ValuesIn(writing_methods()), name_of_method);

}  // namespace
}  // namespace hakobi::test
