// Halos of fields on a device, which is the one of tests/device: what reads or writes its memory on the host
// is a fault.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <hakobi/error.hpp>
#include <optional>
#include <string>
#include <vector>

#include "device/program.hpp"
#include "exchange/halo_fixture.hpp"
#include "mpi/gpu_aware.hpp"

namespace hakobi::exchange {
namespace {

using device_test::Program;

/// The environment is read when the driver is initialised.
const bool is_set = [] {
    setenv("HAKOBI_FAKE_DEVICES", "2", 1);
    setenv("HAKOBI_FAKE_DEVICE_DELAY_S", "0.0001", 1);
    return true;
}();

/// The ranks that have their fields on the device.
enum class Where { all, even, last };

struct Setting {
    const char* path;
    int ranks_per_node;
    Where where = Where::all;
};

std::string name_of(const Setting& setting) {
    const char* const places[] = {"all", "even", "last"};
    return std::string(setting.path) + "_" + std::to_string(setting.ranks_per_node) + "_a_node_" +
           places[static_cast<int>(setting.where)];
}

Comm comm_of(int ranks_per_node) {
    if (ranks_per_node > 0) setenv("HAKOBI_RANKS_PER_NODE", std::to_string(ranks_per_node).c_str(), 1);
    const Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    unsetenv("HAKOBI_RANKS_PER_NODE");
    return comm;
}

class HaloOnDevice : public testing::TestWithParam<Setting> {
  protected:
    void TearDown() override { comm_.free(); }
    [[nodiscard]] device::Device* device() const {
        const bool is_last = comm_.rank() == comm_.size() - 1;
        const bool is_on_device = GetParam().where == Where::even ? comm_.rank() % 2 == 0
                                                                  : GetParam().where == Where::all || is_last;
        return is_on_device ? device::all_devices().at(0) : nullptr;
    }
    Comm comm_ = comm_of(GetParam().ranks_per_node);
    Program program_;
};

INSTANTIATE_TEST_SUITE_P(Paths, HaloOnDevice,
                         testing::Values(Setting{"auto", 0}, Setting{"auto", 1}, Setting{"auto", 2},
                                         Setting{"ipc", 0}, Setting{"ipc", 2}, Setting{"staged", 0},
                                         Setting{"packed", 0}, Setting{"parts", 1}, Setting{"datatype", 0},
                                         Setting{"aware", 0}, Setting{"aware", 1, Where::even},
                                         Setting{"auto", 0, Where::even}, Setting{"auto", 1, Where::even},
                                         Setting{"staged", 0, Where::last},
                                         Setting{"packed", 0, Where::last}),
                         [](const auto& param) { return name_of(param.param); });

/// A case whose fields are in no memory that a node shares.
HaloCase private_case(unsigned seed, const Comm& comm) {
    HaloCase made = HaloCase::random(seed, comm);
    std::fill(made.is_shared.begin(), made.is_shared.end(), false);
    return made;
}

struct Fields {
    Fields(const Comm& comm, const HaloCase& made, device::Device* device) : values(made.orders.size()) {
        for (std::size_t f = 0; f < values.size(); ++f) {
            values[f].emplace(comm, made, f, device);
            fields.push_back(values[f]->field());
        }
    }
    void fill(int round) {
        for (auto& value : values) value->fill(round);
    }
    int num_wrong(int round) {
        int wrong = 0;
        for (auto& value : values) wrong += value->num_wrong(round);
        return wrong;
    }
    std::vector<std::optional<HaloValues>> values;
    std::vector<HaloField> fields;
};

TEST_P(HaloOnDevice, FillsAllGhostsOfRandomGrids) {
    const unsigned num_grids = comm_.size() > 2 ? 4 : 6;  // each copy takes its time
    const DeviceStream stream = program_.make_stream();
    for (unsigned seed = 1; seed <= num_grids; ++seed) {
        const HaloCase made = private_case(seed, comm_);
        Fields on(comm_, made, device());
        Halo halo =
            Halo::plan(comm_, made.grid, on.fields, {.corners = made.corners, .path = GetParam().path});
        for (int round = 0; round < 3; ++round) {
            on.fill(round);
            if (round == 1) {  // ranks on the host have nothing to do with the stream
                halo.exchange(stream);
                program_.finish(stream);
            } else {
                halo.start();
                halo.wait();
            }
            ASSERT_EQ(on.num_wrong(round), 0) << "seed " << seed << ", round " << round << "\n"
                                              << halo.explain();
        }
    }
    program_.destroy(stream);
}

/// A field that a stream of the program's fills and reads in each round, without ever waiting for it: the
/// device alone keeps the order.
class OnStream {
  public:
    OnStream(const Comm& comm, const HaloCase& made, const Program& program, device::Device& device,
             int num_rounds)
        : program_(program), values_(comm, made, 0, &device) {
        for (int i = 0; i < 2 * num_rounds; ++i)
            host_.push_back(device::Buffer::locked(device, values_.size_bytes()).value());
        for (int round = 0; round < num_rounds; ++round) {
            values_.fill(round);
            std::memcpy(host_[before(round)].data(), values_.host_bytes(), size());
        }
    }
    [[nodiscard]] HaloField field() { return values_.field(); }
    void make(int round, DeviceStream stream) {
        program_.copy(values_.device_bytes(), host_[before(round)].data(), size(), stream);
    }
    void use(int round, DeviceStream stream) {
        program_.copy(host_[before(round) + 1].data(), values_.device_bytes(), size(), stream);
    }
    /// After the streams.
    [[nodiscard]] int num_wrong(int round) {
        std::memcpy(values_.host_bytes(), host_[before(round) + 1].data(), size());
        return values_.num_wrong_on_host(round);
    }

  private:
    static std::size_t before(int round) { return 2 * static_cast<std::size_t>(round); }
    [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(values_.size_bytes()); }
    const Program& program_;
    HaloValues values_;
    std::vector<device::Buffer> host_;
};

TEST_P(HaloOnDevice, KeepsTheOrderOfStreams) {
    constexpr int num_rounds = 4;
    if (GetParam().where != Where::all) GTEST_SKIP() << "streams are of devices";
    for (unsigned seed = 30; seed < 32; ++seed) {
        const HaloCase made = private_case(seed, comm_);
        const DeviceStream streams[] = {program_.make_stream(), program_.make_stream()};
        OnStream first(comm_, made, program_, *device(), num_rounds),
            second(comm_, made, program_, *device(), num_rounds);
        const HaloField fields[] = {first.field(), second.field()};
        const HaloOptions options{.corners = made.corners, .path = GetParam().path};
        Halo halos[] = {Halo::plan(comm_, made.grid, {&fields[0], 1}, options),
                        Halo::plan(comm_, made.grid, {&fields[1], 1}, options)};
        for (int round = 0; round < num_rounds; ++round) {
            first.make(round, streams[0]);
            second.make(round, streams[1]);
            halos[0].start(streams[0]);
            halos[1].start(streams[1]);
            // In an order of the rank's own.
            const int now = (comm_.rank() + round) % 2;
            halos[now].wait(streams[now]);
            halos[1 - now].wait(streams[1 - now]);
            first.use(round, streams[0]);
            second.use(round, streams[1]);
        }
        for (const DeviceStream stream : streams) program_.finish(stream);
        for (int round = 0; round < num_rounds; ++round) {
            ASSERT_EQ(first.num_wrong(round), 0) << "seed " << seed << ", round " << round << "\n"
                                                 << halos[0].explain();
            ASSERT_EQ(second.num_wrong(round), 0) << "seed " << seed << ", round " << round;
        }
        for (const DeviceStream stream : streams) program_.destroy(stream);
    }
}

TEST_P(HaloOnDevice, WaitsForNoDeviceOnTheHost) {
    if (GetParam().where != Where::all) GTEST_SKIP() << "streams are of devices";
    const HaloCase made = private_case(7, comm_);
    const DeviceStream stream = program_.make_stream();
    OnStream values(comm_, made, program_, *device(), 3);
    const HaloField field = values.field();
    Halo halo = Halo::plan(comm_, made.grid, {&field, 1}, {.corners = made.corners, .path = GetParam().path});
    const std::int64_t num_waits = program_.num_waits();
    for (int round = 0; round < 3; ++round) {
        values.make(round, stream);
        halo.start(stream);
        halo.wait(stream);
        values.use(round, stream);
    }
    const bool may_mpi_wait = halo.explain().find("aware") != std::string::npos;
    EXPECT_TRUE(may_mpi_wait || program_.num_waits() == num_waits);
    program_.finish(stream);
    for (int round = 0; round < 3; ++round) EXPECT_EQ(values.num_wrong(round), 0) << halo.explain();
    program_.destroy(stream);
}

TEST_P(HaloOnDevice, CopiesFromANeighbourAreOneLaunch) {
    if (GetParam().path != std::string("ipc") || GetParam().ranks_per_node != 0)
        GTEST_SKIP() << "other paths take more";
    if (getenv("HAKOBI_FAKE_NUM_COMPILING") != nullptr) GTEST_SKIP() << "the device has no kernels";
    const HaloGrid grid{{6, 6, 6}, {{1, 1}, {1, 1}, {1, 1}}, {comm_.size(), 1, 1}, {true, true, true}};
    auto* const memory = program_.allocate<double>(8 * 8 * 8);
    const HaloField field = HaloField::dense(memory, grid, sizeof(double));
    Halo halo = Halo::plan(comm_, grid, {&field, 1}, {.path = GetParam().path});
    const std::int64_t num_launches = program_.num_launches();
    halo.exchange();
    // One launch for this rank itself, and one for each of one or two others; a real driver does not count.
    if (num_launches >= 0) {
        EXPECT_EQ(program_.num_launches() - num_launches, std::min(comm_.size(), 3)) << halo.explain();
    }
    program_.release(memory);
}

/// A look at what a stream is about to write: no thread sanitizer's business.
__attribute__((no_sanitize("thread"))) int look_at(const volatile int& flag) {
    return flag;
}

TEST_P(HaloOnDevice, StartReturnsWhileTheStreamIsBusy) {
    if (GetParam().where != Where::all) GTEST_SKIP() << "streams are of devices";
    const HaloCase made = private_case(7, comm_);
    HaloValues values(comm_, made, 0, device());
    const HaloField field = values.field();
    Halo halo = Halo::plan(comm_, made.grid, {&field, 1}, {.corners = made.corners, .path = GetParam().path});
    values.fill(1);
    const DeviceStream stream = program_.make_stream();
    const device_test::Array<int> one(std::vector<int>{1}), other(std::vector<int>{0});
    device::Buffer is_over = device::Buffer::locked(*device(), sizeof(int)).value();
    auto& flag = *reinterpret_cast<volatile int*>(is_over.data());
    flag = 0;
    for (int i = 0; i < 200; ++i) program_.copy(other.data(), one.data(), sizeof(int), stream);
    program_.copy(is_over.data(), other.data(), sizeof(int), stream);
    halo.start(stream);
    if (program_.num_launches() >= 0) {
        EXPECT_EQ(look_at(flag), 0);  // a real device may be through by now
    }
    halo.wait();
    EXPECT_EQ(flag, 1) << "the exchange begins after the stream's work";
    EXPECT_EQ(values.num_wrong(1), 0) << halo.explain();
    program_.finish(stream);
    program_.destroy(stream);
}

TEST_P(HaloOnDevice, PlanningLeavesGhostsAsTheyWere) {
    const HaloGrid grid{{6, 5}, {{1, 2}, {2, 1}}, {comm_.size(), 1}, {true, true}};
    std::vector<double> values(static_cast<std::size_t>(HaloField::dense_bytes(grid, 8) / 8));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
    std::optional<device_test::Array<double>> on_device;
    if (device() != nullptr) on_device.emplace(values, *device());
    const HaloField field = HaloField::dense(on_device ? on_device->data() : values.data(), grid, 8);
    { const Halo halo = Halo::plan(comm_, grid, {&field, 1}, {.path = GetParam().path}); }
    if (on_device) values = on_device->values();
    for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], static_cast<double>(i));
}

/// The device fails at a copy that the environment names: run by a test of its own.
TEST(HaloDeviceDeath, DISABLED_ADeviceThatFailsInAnExchangeEndsTheProgram) {
    const Comm comm = comm_of(0);
    const Program program;
    const HaloGrid grid{{6}, {{1, 1}}, {comm.size()}, {true}};
    const HaloField field = HaloField::dense(program.allocate<double>(8), grid, 8);
    Halo halo = Halo::plan(comm, grid, {&field, 1});
    for (;;) halo.exchange();
}

TEST(HaloPathsOnDevice, AreTheDriversWhereItSharesAndStagedElse) {
    Comm comm = comm_of(0);
    if (comm.size() == 1) GTEST_SKIP() << "no neighbour";
    const Program program;
    const HaloGrid grid{{6}, {{1, 1}}, {comm.size()}, {}};
    const auto path_of = [&](double* memory) {
        const HaloField field = HaloField::dense(memory, grid, 8);
        return Halo::plan(comm, grid, {&field, 1}).explain();
    };
    double* const plain = program.allocate<double>(8);
    EXPECT_NE(path_of(plain).find(": ipc in, ipc out"), std::string::npos);
    double* const managed = program.allocate_managed<double>(8);  // shared with nobody
    std::fill(managed, managed + 8, 0.0);
    EXPECT_EQ(path_of(managed).find("ipc"), std::string::npos);
    program.release(managed);
    program.release(plain);
    comm.free();
}

TEST(HaloPathsOnDevice, AreMessagesOfDeviceMemoryWhereTheMpiLibraryTakesIt) {
    Comm comm = comm_of(1);
    if (comm.size() == 1) GTEST_SKIP() << "no neighbour";
    const Program program;
    const HaloGrid grid{{6}, {{1, 1}}, {comm.size()}, {}};
    double* const memory = program.allocate<double>(8);
    const HaloField field = HaloField::dense(memory, grid, 8);
    const auto path_of = [&](const char* path) {
        return Halo::plan(comm, grid, {&field, 1}, {.path = path}).explain();
    };
    const bool is_aware = mpi::takes_memory_of(*device::all_devices().at(0));
    EXPECT_EQ(path_of("auto").find("staged/aware") != std::string::npos, is_aware);
    EXPECT_EQ(path_of("aware").find("aware in, aware out") != std::string::npos, is_aware);
    setenv("HAKOBI_GPU_AWARE", "0", 1);
    EXPECT_EQ(path_of("auto").find("aware"), std::string::npos);
    EXPECT_EQ(path_of("aware").find("aware"), std::string::npos);
    unsetenv("HAKOBI_GPU_AWARE");
    program.release(memory);
    comm.free();
}

class HaloDeviceErrors : public testing::Test {
  protected:
    ~HaloDeviceErrors() override { comm_.free(); }
    void SetUp() override {
        grid_ = {{4, 4}, {{1, 1}, {1, 1}}, {comm_.size(), 1}, {true, true}};
        good_ = program_.allocate<double>(36);
        std::fill(host_.begin(), host_.end(), 0.0);
    }
    void TearDown() override { program_.release(good_); }
    [[nodiscard]] bool is_last() const { return comm_.rank() == comm_.size() - 1; }
    [[nodiscard]] HaloField field(double* memory, Memory said = Memory::automatic) const {
        HaloField field = HaloField::dense(memory, grid_, 8);
        field.memory = said;
        return field;
    }
    /// The error that planning throws on every rank.
    ErrorCode refused(const std::vector<HaloField>& fields) {
        try {
            (void)Halo::plan(comm_, grid_, fields);
        } catch (const Error& error) {
            EXPECT_EQ(error.rank(), comm_.size() - 1);
            return error.code();
        }
        ADD_FAILURE() << "planned";
        return ErrorCode::ok;
    }

    Comm comm_ = Comm::duplicate(MPI_COMM_WORLD);
    Program program_;
    HaloGrid grid_;
    double* good_ = nullptr;
    std::vector<double> host_ = std::vector<double>(36);
};

TEST_F(HaloDeviceErrors, MemoryThatIsNotWhatItIsSaidToBe) {
    EXPECT_EQ(refused({is_last() ? field(host_.data(), Memory::device) : field(good_)}),
              ErrorCode::invalid_argument);
    double* const freed = program_.allocate<double>(36);
    program_.release(freed);
    EXPECT_EQ(refused({is_last() ? field(freed) : field(good_)}), ErrorCode::invalid_argument);
    double* const small = program_.allocate<double>(35);
    EXPECT_EQ(refused({is_last() ? field(small) : field(good_)}), ErrorCode::invalid_argument);
    program_.release(small);
}

TEST_F(HaloDeviceErrors, FieldsAtSeveralPlaces) {
    if (device::all_devices().size() < 2) GTEST_SKIP() << "there is one device";
    double* const other = program_.allocate<double>(36);
    EXPECT_EQ(refused({field(good_), field(is_last() ? host_.data() : other)}), ErrorCode::unsupported);
    const Program second(1);
    double* const elsewhere = second.allocate<double>(36);
    EXPECT_EQ(refused({field(good_), field(is_last() ? elsewhere : other)}), ErrorCode::unsupported);
    second.release(elsewhere);
    program_.release(other);
}

TEST_F(HaloDeviceErrors, AStreamOfAnotherDeviceIsRefusedAtOnce) {
    if (device::all_devices().size() < 2) GTEST_SKIP() << "there is one device";
    const Program second(1);
    const DeviceStream foreign = second.make_stream();
    const HaloField on = field(good_);
    Halo halo = Halo::plan(comm_, grid_, {&on, 1});
    EXPECT_THROW(halo.start(foreign), Error);
    halo.start(nullptr);
    EXPECT_THROW(halo.wait(foreign), Error);
    halo.wait();
    halo.exchange();
    second.destroy(foreign);
}

TEST_F(HaloDeviceErrors, NoMemoryOnTheDevice) {
    if (comm_.size() == 1) GTEST_SKIP() << "only what goes to others is packed";
    std::vector<void*> taken;
    if (is_last()) {
        for (std::int64_t bytes = std::int64_t{1} << 30; bytes >= 4096; bytes /= 2) {
            for (;;) {
                const auto memory = device::all_devices().at(0)->allocate(bytes);
                if (!memory.ok()) break;
                taken.push_back(memory.value());
            }
        }
    }
    const HaloField on = field(good_);
    ErrorCode code = ErrorCode::ok;
    try {
        setenv("HAKOBI_GPU_AWARE", "1", 1);  // messages of device memory
        (void)Halo::plan(comm_, grid_, {&on, 1}, {.path = "aware"});
    } catch (const Error& error) {
        code = error.code();
    }
    unsetenv("HAKOBI_GPU_AWARE");
    EXPECT_EQ(code, ErrorCode::out_of_memory);
    for (void* const memory : taken) program_.release(memory);
}

}  // namespace
}  // namespace hakobi::exchange
