// Messages pending across exchanges and collectives on memory of a device, whose copies take their time.
#include <cstdlib>
#include <hakobi/hakobi.hpp>
#include <optional>
#include <string>

#include "device/program.hpp"
#include "pending/across.hpp"

namespace hakobi::pending {
namespace {

using device_test::Program;
using Array = device_test::Array<double>;

/// The environment is read when the driver is initialised.
const bool is_set = [] {
    setenv("HAKOBI_FAKE_DEVICE_DELAY_S", "0.0001", 1);
    return true;
}();

/// Started and waited for on a stream.
class OnStream : public Call {
  public:
    ~OnStream() override {
        program.finish(stream);
        program.destroy(stream);
        comm.free();
    }
    virtual void start() = 0;
    virtual void wait() = 0;
    void run() override {
        start();
        wait();
    }
    [[nodiscard]] int below() const { return (comm.rank() + comm.size() - 1) % comm.size(); }
    [[nodiscard]] int above() const { return (comm.rank() + 1) % comm.size(); }
    std::vector<double> values_of(const Array& array) const {
        program.finish(stream);
        return array.values();
    }

    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    Program program;
    DeviceStream stream = program.make_stream();
};

/// A ring of ranks with a column of ghosts on both sides.
class ExchangeHalo final : public OnStream {
  public:
    ExchangeHalo(const std::string& path, bool is_host_waiting) : is_host_waiting_(is_host_waiting) {
        const HaloGrid grid{.extents = {rows, 6},
                            .ghosts = {{0, 0}, {1, 1}},
                            .ranks = {1, comm.size()},
                            .is_periodic = {false, true}};
        const HaloField field = HaloField::dense(array_.data(), grid, sizeof(double));
        halo_.emplace(Halo::plan(comm, grid, {&field, 1}, {.path = path}));
    }
    void prepare() override { array_.set(std::vector<double>(array_.size(), comm.rank())); }
    void start() override { halo_->start(stream); }
    void wait() override { is_host_waiting_ ? halo_->wait() : halo_->wait(stream); }
    void finish() override {
        const std::vector<double> values = values_of(array_);
        EXPECT_EQ(values[8 * (rows - 1)], below());
        EXPECT_EQ(values[8 * rows - 1], above());
    }

  private:
    static constexpr std::int64_t rows = 1000;
    bool is_host_waiting_;
    Array array_{std::vector<double>(8 * rows)};
    std::optional<Halo> halo_;
};

/// A list goes around the ring.
class SendList final : public OnStream {
  public:
    SendList() {
        out_list_.append(out_.data(), 8 * num);
        in_list_.append(in_.data(), 8 * num);
    }
    void prepare() override { out_.set(std::vector<double>(num, comm.rank())); }
    void start() override {
        in_list_.receive(below(), 0, stream);
        out_list_.send(above(), 0, stream);
    }
    void wait() override {
        in_list_.wait(stream);
        out_list_.wait(stream);
    }
    void finish() override { EXPECT_EQ(values_of(in_).back(), below()); }

  private:
    static constexpr std::int64_t num = 40000;
    Array out_{std::vector<double>(num)}, in_{std::vector<double>(num)};
    BufferArrays arrays_ = BufferArrays::get(comm, {.pack_bytes = 1 << 16});
    BufferArray out_list_ = arrays_.make(), in_list_ = arrays_.make();
};

class Sum final : public OnStream {
  public:
    explicit Sum(const std::string& method) : collectives_(Collectives::create(comm, {.method = method})) {
        plan_ = collectives_.allreduce(ElementType::float64, Reduction::sum, num);
    }
    ~Sum() override { collectives_.free(); }
    void prepare() override { in_.set(std::vector<double>(num, 1)); }
    void start() override { plan_.start(in_.data(), out_.data(), stream); }
    void wait() override { plan_.wait(stream); }
    void finish() override { EXPECT_EQ(values_of(out_).back(), comm.size()); }

  private:
    static constexpr std::int64_t num = 1000;
    Array in_{std::vector<double>(num)}, out_{std::vector<double>(num)};
    Collectives collectives_;
    CollectivePlan plan_;
};

/// Two of them, started in one order and waited for in different ones.
class OtherOrder final : public Call {
  public:
    OtherOrder(std::unique_ptr<OnStream> first, std::unique_ptr<OnStream> second)
        : first_(std::move(first)), second_(std::move(second)) {}
    void prepare() override {
        first_->prepare();
        second_->prepare();
    }
    void run() override {
        first_->start();
        second_->start();
        const bool is_in_order = (first_->comm.rank() + num_runs_++) % 2 == 0;
        (is_in_order ? first_ : second_)->wait();
        (is_in_order ? second_ : first_)->wait();
    }
    void finish() override {
        first_->finish();
        second_->finish();
    }

  private:
    std::unique_ptr<OnStream> first_, second_;
    int num_runs_ = 0;
};

std::vector<Row> rows() {
    using Make = std::function<std::unique_ptr<OnStream>()>;
    const std::vector<std::pair<std::string, Make>> calls{
        {"halo_ipc", [] { return std::make_unique<ExchangeHalo>("ipc", false); }},
        {"halo_staged", [] { return std::make_unique<ExchangeHalo>("staged", false); }},
        {"halo_packed", [] { return std::make_unique<ExchangeHalo>("packed", false); }},
        {"halo_parts_waited_for", [] { return std::make_unique<ExchangeHalo>("parts", true); }},
        {"list", [] { return std::make_unique<SendList>(); }},
        {"sum", [] { return std::make_unique<Sum>("model"); }},
        {"sum_by_mpi", [] { return std::make_unique<Sum>("mpi"); }},
    };
    std::vector<Row> all;
    for (std::size_t i = 0; i < calls.size(); ++i) {
        const auto& [name, make] = calls[i];
        const auto& [other_name, other] = calls[(i + 1) % calls.size()];
        all.push_back({name, make});
        all.push_back({name + "_before_" + other_name,
                       [make, other] { return std::make_unique<OtherOrder>(make(), other()); }});
    }
    return all;
}

class DeviceCalls : public testing::TestWithParam<Row> {};

TEST_P(DeviceCalls, MovePendingMessages) {
    make_across_messages(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Calls, DeviceCalls, testing::ValuesIn(rows()), name_of_row);

}  // namespace
}  // namespace hakobi::pending
