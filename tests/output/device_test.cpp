// Fields on a device: every form of memory, ranks that have none, and what goes wrong. That all else is as
// from the host is the contract's tests' with on_device.cpp.
#include <cstdlib>

#include "device/program.hpp"
#include "output/fixture.hpp"

namespace hakobi::test {
namespace {

using device_test::Array;
using device_test::Program;
using format::ValueType;

/// Before the drivers are loaded.
const int are_two_devices = setenv("HAKOBI_FAKE_DEVICES", "2", 1);

std::vector<double> ramp(std::int64_t num) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < num; ++i) values.push_back(0.25 * static_cast<double>(i * 7 % 1009));
    return values;
}

class FromADevice : public RanksTest, public ::testing::WithParamInterface<std::string> {
  protected:
    [[nodiscard]] OutputOptions options(std::optional<bool> is_hidden = {}) const {
        return {.method = GetParam(), .asynchronous = is_hidden};
    }
    [[nodiscard]] int last_rank() const { return comm.size() - 1; }
    [[nodiscard]] bool is_last() const { return comm.rank() == last_rank(); }

    /// The files of two runs, one from the host, are the same.
    void expect_same_files(const std::function<void(Output&, bool is_on_device)>& put_steps) {
        for (const bool is_on_device : {false, true}) {
            Output out = Output::create(comm, folder + (is_on_device ? "/device" : "/host"), options());
            put_steps(out, is_on_device);
            out.close();
        }
        if (is_rank_0()) {
            int num_files = 0;
            for (const std::string& name : names_in(folder)) {
                if (!name.starts_with("host")) continue;
                EXPECT_TRUE(bytes_of_file(folder + "/" + name) ==
                            bytes_of_file(folder + "/device" + name.substr(4)))
                    << name;
                ++num_files;
            }
            EXPECT_GT(num_files, 0);
        }
        barrier();
    }

    Program program;
};

/// One of three components that lie side by side, and rows in the other order: runs that are shorter than a
/// device likes.
TEST_P(FromADevice, ShortRunsAreStoredAsFromTheHost) {
    const Block block = split({40, 50}, comm.size(), comm.rank());
    const std::int64_t rows = block.count[0], columns = block.count[1], num = rows * columns;
    const std::vector<double> values = ramp(3 * num);
    const Array<double> array(values);
    expect_same_files([&](Output& out, bool is_on_device) {
        const std::span<const double> all(is_on_device ? array.data() : values.data(), values.size());
        out.begin_step(0);
        out.put({.name = "y", .block = block, .data = all.subspan(1), .strides = {3 * columns, 3}});
        out.put({.name = "turned",
                 .block = block,
                 .data = all.first(static_cast<std::size_t>(num)),
                 .strides = {1, rows}});
        out.put({.name = "one", .block = block, .data = all.subspan(5, 1), .strides = {0, 0}});
        out.put({.name = "overlapping", .block = block, .data = all, .strides = {1, 1}});
        out.end_step();
    });
}

/// More of them than are packed at a time.
TEST_P(FromADevice, ManyShortRunsAreStoredAsFromTheHost) {
    if (comm.size() == 3) GTEST_SKIP() << "takes long";
    const Block block = split({2, 700, 1100}, comm.size(), comm.rank());
    const std::vector<double> values = ramp(2 * block.num_elements());
    const Array<double> array(values);
    expect_same_files([&](Output& out, bool is_on_device) {
        out.begin_step(0);
        out.put({.name = "u",
                 .block = block,
                 .data = std::span<const double>(is_on_device ? array.data() : values.data(), values.size()),
                 .strides = {2 * block.count[1] * block.count[2], 2 * block.count[2], 2}});
        out.end_step();
    });
}

TEST_P(FromADevice, ScalarsAreStoredAsFromTheHost) {
    const std::vector<double> value = {2.5};
    const Array<double> array(value);
    expect_same_files([&](Output& out, bool is_on_device) {
        out.begin_step(0);
        out.put({.name = "dt",
                 .block = {},
                 .data = std::span<const double>(is_on_device ? array.data() : value.data(), 1)});
        out.end_step();
    });
}

/// Every other rank, and of a rank every other field; on several nodes, too.
TEST_P(FromADevice, RanksAndFieldsWithoutADeviceGoWithThem) {
    for (const char* ranks_per_node : {"0", "1", "2"}) {
        setenv("HAKOBI_RANKS_PER_NODE", ranks_per_node, 1);
        Comm nodes = Comm::duplicate(MPI_COMM_WORLD);
        unsetenv("HAKOBI_RANKS_PER_NODE");
        std::swap(comm, nodes);
        OutputOptions how = options();
        how.if_exists = IfExists::replace;
        Output out = Output::create(comm, folder + "/run", how);
        for (std::int64_t step = 0; step < 3; ++step) {
            std::vector<Values> values;
            std::vector<std::unique_ptr<Array<std::byte>>> arrays;
            out.begin_step(0.25 * static_cast<double>(step));
            values.reserve(eta_and_mask.size());
            for (std::size_t f = 0; f < eta_and_mask.size(); ++f) {
                const Values& mine = values.emplace_back(
                    f, eta_and_mask[f], step,
                    eta_and_mask[f].block_of(eta_and_mask[f].global, comm.size(), comm.rank()));
                Field field{
                    .name = eta_and_mask[f].name, .units = "m", .block = mine.block(), .data = mine.data()};
                if ((static_cast<std::size_t>(comm.rank()) + f + static_cast<std::size_t>(step)) % 2 == 0 &&
                    !mine.bytes().empty()) {
                    arrays.push_back(std::make_unique<Array<std::byte>>(mine.bytes()));
                    visit(eta_and_mask[f].type, [&]<class T>(T) {
                        field.data = std::span<const T>(reinterpret_cast<const T*>(arrays.back()->data()),
                                                        mine.bytes().size() / sizeof(T));
                    });
                    field.memory = Memory::device;
                } else {
                    field.memory = f == 0 ? Memory::automatic : Memory::host;
                }
                out.put(field);
            }
            out.end_step();
        }
        out.close();
        for (int step = 0; is_rank_0() && step < 3; ++step) {
            EXPECT_TRUE(bytes_of_file(folder + "/" + file_name("netcdf4", step)) ==
                        reference_file({}, step, eta_and_mask, comm.size()))
                << step;
        }
        barrier();
        std::swap(comm, nodes);
        nodes.free();
    }
}

/// Put once, from memory that is other things by the next step.
TEST_P(FromADevice, StaticFieldsAreKept) {
    const Block block = split({20, 30}, comm.size(), comm.rank());
    const std::vector<double> values = ramp(block.num_elements());
    Array<double> array(values);
    expect_same_files([&](Output& out, bool is_on_device) {
        for (int step = 0; step < 3; ++step) {
            out.begin_step(step);
            if (step == 0) {
                array.set(values);
                out.put({.name = "depth",
                         .block = block,
                         .data = std::span<const double>(is_on_device ? array.data() : values.data(),
                                                         values.size()),
                         .is_static = true});
            }
            out.put({.name = "eta", .block = block, .data = std::span<const double>(values)});
            out.end_step();
            array.set(std::vector<double>(values.size(), -1));
        }
    });
}

TEST_P(FromADevice, ExplainNamesTheDevice) {
    const Array<double> array(ramp(8));
    Output out = Output::create(comm, folder + "/run", options());
    EXPECT_EQ(out.explain().find("values of"), std::string::npos) << out.explain();
    out.begin_step(0);
    out.put({.name = "eta",
             .block = {{8 * comm.size()}, {8 * comm.rank()}, {8}},
             .data = std::span<const double>(array.data(), 8)});
    out.end_step();
    EXPECT_NE(out.explain().find("values of " + array.device().text()), std::string::npos) << out.explain();
    out.close();
}

INSTANTIATE_TEST_SUITE_P(Output, FromADevice, ::testing::ValuesIn([] {
                             std::vector<std::string> methods = writing_methods();
                             methods.emplace_back("auto");
                             return methods;
                         }()),
                         name_of_method);

/// One good step has been written; in the next one a rank makes a mistake.
class MistakeOnADevice : public FromADevice {
  protected:
    /// The last rank's field of the second step is what `change` makes of a good one; `before_end` then, on
    /// that rank.
    void expect_error(
        ErrorCode code, const std::string& text, const std::function<void(Field&)>& change,
        const std::function<void()>& before_end = [] {}) {
        Output out = Output::create(comm, folder + "/run", options());
        write_step(out, comm, 0, eta_and_mask);
        const std::vector<double> values = ramp(64);
        const Array<double> array(values);
        const Error error = error_of([&] {
            out.begin_step(1);
            Field field{.name = "eta",
                        .block = {{64 * comm.size()}, {64 * comm.rank()}, {64}},
                        .data = std::span<const double>(array.data(), 64)};
            if (is_last()) change(field);
            out.put(field);
            if (is_last()) before_end();
            out.end_step();
        });
        EXPECT_EQ(to_string(error.code()), to_string(code)) << error.what();
        EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
        EXPECT_TRUE(is_same_everywhere(comm, error)) << error.what();
        EXPECT_EQ(error_of([&] { out.begin_step(2); }).code(), ErrorCode::failed);
        out.close();
        barrier();
        if (is_rank_0()) {
            EXPECT_EQ(names_in(folder), std::vector<std::string>{"run_000000.nc"});
            EXPECT_TRUE(bytes_of_file(folder + "/run_000000.nc") ==
                        reference_file({}, 0, eta_and_mask, comm.size()));
        }
        barrier();
    }
};

TEST_P(MistakeOnADevice, HostMemoryThatIsSaidToBeTheDevicesIsAnError) {
    static const std::vector<double> values(64);
    expect_error(ErrorCode::invalid_argument, "field eta: ", [](Field& field) {
        field.data = std::span<const double>(values);
        field.memory = Memory::device;
    });
}

TEST_P(MistakeOnADevice, FreedMemoryIsAnError) {
    auto* const freed =
        program.allocate<double>(1 << 22);  // too large for a driver to give it to the next who asks
    program.release(freed);
    expect_error(ErrorCode::invalid_argument, "field eta: ", [&](Field& field) {
        field.data = std::span<const double>(freed, 64);
        field.memory = Memory::device;
    });
}

TEST_P(MistakeOnADevice, MemoryThatIsFreedBeforeTheEndOfTheStepIsAnError) {
    auto* const memory = program.allocate<double>(64);
    expect_error(
        ErrorCode::invalid_argument, "",
        [&](Field& field) { field.data = std::span<const double>(memory, 64); },
        [&] { program.release(memory); });
}

TEST_P(MistakeOnADevice, AFieldThatReachesBeyondTheDevicesMemoryIsAnError) {
    constexpr std::size_t page_values = 4096 / sizeof(double);
    auto* const memory = program.allocate<double>(page_values);
    expect_error(ErrorCode::invalid_argument, "field eta: ", [&](Field& field) {
        field.data = std::span<const double>(memory + page_values - 32, 64);
    });
    program.release(memory);
}

TEST_P(MistakeOnADevice, AStreamOfAnotherDeviceIsAnError) {
    if (device::all_devices().size() < 2) GTEST_SKIP() << "there is one device";
    program.use(1);
    const DeviceStream stream = program.make_stream();
    program.use(0);
    expect_error(ErrorCode::invalid_argument, "field eta: ", [&](Field& field) { field.stream = stream; });
    program.destroy(stream);
}

TEST_P(MistakeOnADevice, TwoDevicesInOneStepAreAnError) {
    if (device::all_devices().size() < 2) GTEST_SKIP() << "there is one device";
    const Array<double> first(ramp(8)), second(ramp(8), *device::all_devices().at(1));
    Output out = Output::create(comm, folder + "/run", options());
    write_step(out, comm, 0, eta_and_mask);
    const Error error = error_of([&] {
        out.begin_step(1);
        for (const auto& [name, array] : {std::pair("one", &first), std::pair("two", &second)})
            out.put({.name = name,
                     .block = {{8 * comm.size()}, {8 * comm.rank()}, {8}},
                     .data = std::span<const double>(array->data(), 8)});
        out.end_step();
    });
    EXPECT_EQ(error.code(), ErrorCode::unsupported) << error.what();
    EXPECT_NE(std::string(error.what()).find("field two: "), std::string::npos) << error.what();
    EXPECT_TRUE(is_same_everywhere(comm, error));
    out.close();
}

/// In one step after the other they are none.
TEST_P(MistakeOnADevice, AnotherDeviceInTheNextStepIsNone) {
    if (device::all_devices().size() < 2) GTEST_SKIP() << "there is one device";
    expect_same_files([&](Output& out, bool is_on_device) {
        for (int step = 0; step < 3; ++step) {
            const std::vector<double> values = ramp(40 + step);
            const Array<double> array(values, *device::all_devices().at(static_cast<std::size_t>(step % 2)));
            out.begin_step(step);
            out.put({.name = "eta",
                     .block = {{40 * comm.size()}, {40 * comm.rank()}, {40}},
                     .data = std::span<const double>(is_on_device ? array.data() : values.data(), 40)});
            out.end_step();
        }
    });
}

INSTANTIATE_TEST_SUITE_P(Output, MistakeOnADevice, ::testing::ValuesIn(writing_methods()), name_of_method);

class DeviceInputTest : public RanksTest {};

/// One error on all ranks; the object stays usable.
TEST_F(DeviceInputTest, MistakesOfOneRankAreErrorsOfAll) {
    if (device::all_devices().size() < 2) GTEST_SKIP() << "there is one device";
    {
        Output out = Output::create(comm, folder + "/run");
        write_step(out, comm, 0, eta_and_mask);
        out.close();
    }
    const Program program;
    program.use(1);
    const DeviceStream stream_of_another = program.make_stream();
    program.use(0);
    std::vector<double> values(23 * 37);
    const Array<double> array(values);
    auto* const short_one = program.allocate<double>(512);
    const bool is_last = comm.rank() == comm.size() - 1;
    const FieldRead good{.name = "eta", .data = std::span<double>(array.data(), array.size())};
    FieldRead host = good, of_another = good, half = good;
    host.data = std::span(values);
    host.memory = Memory::device;
    of_another.stream = stream_of_another;
    half.data = std::span(short_one, values.size());
    Input in = Input::open(comm, folder + "/run");
    for (const FieldRead& bad : {host, of_another, half}) {
        const Error error = error_of([&] { in.read(is_last ? bad : good); });
        EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << error.what();
        EXPECT_NE(std::string(error.what()).find("field eta: "), std::string::npos) << error.what();
        EXPECT_TRUE(is_same_everywhere(comm, error)) << error.what();
    }
    in.read(good);
    EXPECT_EQ(array.values()[100], static_cast<double>(value_at(0, 0, 100)));
    in.close();
    program.release(short_one);
    program.destroy(stream_of_another);
}

class DeviceMeshTest : public RanksTest {};

TEST_F(DeviceMeshTest, CellsOnADeviceAreAnError) {
    const std::vector<double> points = {0, 0, 0, 1, 0, 0, 0, 1, 0};
    const std::vector<std::int64_t> connectivity = {0, 1, 2}, offsets = {0, 3};
    const std::vector<std::uint8_t> types = {5};
    const Array<std::int64_t> array(connectivity);
    Output out = Output::create(comm, folder + "/run", {.format = "vtkhdf"});
    const Error error = error_of([&] {
        out.begin_step(0);
        out.put_mesh({.points = std::span<const double>(points),
                      .connectivity = std::span<const std::int64_t>(array.data(), 3),
                      .offsets = std::span<const std::int64_t>(offsets),
                      .types = types});
        out.end_step();
    });
    EXPECT_EQ(error.code(), ErrorCode::unsupported) << error.what();
    EXPECT_NE(std::string(error.what()).find("connectivity"), std::string::npos) << error.what();
    EXPECT_TRUE(is_same_everywhere(comm, error));
    out.close();
}

}  // namespace
}  // namespace hakobi::test
