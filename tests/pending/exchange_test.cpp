// Messages pending across the calls of halos, buffer arrays and collectives.
#include <hakobi/hakobi.hpp>
#include <numeric>
#include <optional>
#include <string>

#include "pending/across.hpp"

namespace hakobi::pending {
namespace {

class CommCall : public Call {
  public:
    CommCall() : comm(Comm::duplicate(MPI_COMM_WORLD)) {}
    ~CommCall() override { comm.free(); }
    CommCall(const CommCall&) = delete;
    CommCall& operator=(const CommCall&) = delete;

    Comm comm;
};

/// An exchange that is started and waited for in two calls.
class Started : public CommCall {
  public:
    virtual void start() = 0;
    virtual void wait() = 0;
    void run() override {
        start();
        wait();
    }
};

/// A ring of ranks with one field, by one path.
class HaloCall : public Started {
  public:
    HaloCall(std::string path, bool is_shared) : path_(std::move(path)) {
        grid_ = {.extents = {num_rows, 512},
                 .ghosts = {{1, 1}, {0, 0}},
                 .ranks = {comm.size(), 1},
                 .is_periodic = {true, false}};
        const std::int64_t bytes = HaloField::dense_bytes(grid_, sizeof(double));
        if (is_shared) shared_ = allocate_shared(comm, bytes);
        own_.resize(is_shared ? 0 : static_cast<std::size_t>(bytes) / sizeof(double));
        values_ = is_shared ? shared_.as<double>() : own_.data();
    }
    void plan() {
        const HaloField field = HaloField::dense(values_, grid_, sizeof(double));
        halo.emplace(Halo::plan(comm, grid_, {&field, 1}, {.path = path_}));
    }
    void start() override { halo->start(); }
    void wait() override { halo->wait(); }
    void fill() {
        for (std::int64_t r = 1; r <= num_rows; ++r)
            values_[r * 512] = static_cast<double>(10 * comm.rank() + r);
    }
    void check() {
        const int below = (comm.rank() + comm.size() - 1) % comm.size(),
                  above = (comm.rank() + 1) % comm.size();
        EXPECT_EQ(values_[0], 10 * below + num_rows);
        EXPECT_EQ(values_[(num_rows + 1) * 512], 10 * above + 1);
    }
    std::optional<Halo> halo;

  private:
    static constexpr std::int64_t num_rows = 4;
    std::string path_;
    HaloGrid grid_;
    SharedArray shared_;
    std::vector<double> own_;
    double* values_ = nullptr;
};

class PlanHalo final : public HaloCall {
  public:
    using HaloCall::HaloCall;
    void run() override { plan(); }
};

class ExchangeHalo final : public HaloCall {
  public:
    ExchangeHalo(std::string path, bool is_shared) : HaloCall(std::move(path), is_shared) { plan(); }
    void prepare() override { fill(); }
    void finish() override { check(); }
};

/// A list goes around the ring.
class SendList final : public Started {
  public:
    SendList(const std::string& path, std::size_t bytes)
        : arrays_(BufferArrays::get(comm, {.path = path, .pack_bytes = 1 << 16})),
          out_(bytes, static_cast<char>('a' + comm.rank())),
          in_(bytes) {}
    void start() override {
        out_list_.release();
        in_list_.release();
        out_list_.append(out_.data(), static_cast<std::int64_t>(out_.size()));
        in_list_.append(in_.data(), static_cast<std::int64_t>(in_.size()));
        in_list_.receive((comm.rank() + comm.size() - 1) % comm.size());
        out_list_.send((comm.rank() + 1) % comm.size());
    }
    void wait() override {
        in_list_.wait();
        out_list_.wait();
    }
    void finish() override { EXPECT_EQ(in_.back(), 'a' + (comm.rank() + comm.size() - 1) % comm.size()); }

  private:
    BufferArrays arrays_;
    std::vector<char> out_, in_;
    BufferArray out_list_ = arrays_.make(), in_list_ = arrays_.make();
};

/// Everything that is made once, of few words.
class Make final : public CommCall {
  public:
    explicit Make(void (*body)(const Comm&)) : body_(body) {}
    void run() override { body_(comm); }

  private:
    void (*body_)(const Comm&);
};

class Sum final : public Started {
  public:
    explicit Sum(std::string method, std::int64_t count = 1000)
        : in_(static_cast<std::size_t>(count), 1.0), out_(in_.size()) {
        CollectivesOptions options;
        options.method = std::move(method);
        collectives_ = Collectives::create(comm, options);
        plan_.emplace(collectives_.allreduce(ElementType::float64, Reduction::sum, count));
    }
    ~Sum() override { collectives_.free(); }
    void prepare() override { out_.back() = 0; }
    void start() override { plan_->start(in_.data(), out_.data()); }
    void wait() override { plan_->wait(); }
    void run() override { plan_->execute(in_.data(), out_.data()); }
    void finish() override { EXPECT_EQ(out_.back(), comm.size()); }

  private:
    Collectives collectives_;
    std::optional<CollectivePlan> plan_;
    std::vector<double> in_, out_;
};

/// Two of them, started in one order; ranks wait for them in different orders, and every third has the second
/// done before it waits for the first.
class OtherOrder final : public Call {
  public:
    using Make = std::function<std::unique_ptr<Started>()>;
    OtherOrder(const Make& first, const Make& second) : first_(first()), second_(second()) {}
    void prepare() override {
        first_->prepare();
        second_->prepare();
    }
    void run() override {
        first_->start();
        const int turn = (first_->comm.rank() + num_runs_++) % 3;
        if (turn == 0) {
            second_->run();
            return first_->wait();
        }
        second_->start();
        (turn == 1 ? first_ : second_)->wait();
        (turn == 1 ? second_ : first_)->wait();
    }
    void finish() override {
        first_->finish();
        second_->finish();
    }

  private:
    std::unique_ptr<Started> first_, second_;
    int num_runs_ = 0;
};

template <class Made, class... Arguments>
Row row(std::string name, Arguments... arguments) {
    return {std::move(name), [=] { return std::make_unique<Made>(arguments...); }};
}

std::vector<Row> rows() {
    std::vector<Row> all{
        row<PlanHalo>("halo_plan", std::string("direct"), true),
        row<PlanHalo>("halo_plan_measured", std::string("auto"), false),
        row<SendList>("buffer_array_small", std::string("auto"), std::size_t{100}),
        row<SendList>("buffer_array_cma", std::string("cma"), std::size_t{300000}),
        row<SendList>("buffer_array_packed", std::string("packed"), std::size_t{300000}),
        row<Make>(
            "allocate_shared", +[](const Comm& comm) { (void)allocate_shared(comm, 5000); }),
        row<Make>(
            "buffer_arrays_get", +[](const Comm& comm) { (void)BufferArrays::get(comm); }),
        row<Make>(
            "topology",
            +[](const Comm& comm) {
                const std::vector<int> ranks{comm.size()};
                reordered(comm, Topology::discover(comm).reorder(ranks)).free();
            }),
        row<Sum>("allreduce", std::string("model")),
        row<Sum>("allreduce_by_mpi", std::string("mpi")),
    };
    for (const std::string_view path : halo_paths()) {
        const bool is_shared = path == "direct" || path == "deposit";
        all.push_back(row<ExchangeHalo>("halo_" + std::string(path), std::string(path), is_shared));
    }
    const std::vector<std::pair<std::string, OtherOrder::Make>> started{
        {"sum", [] { return std::make_unique<Sum>("model", 50000); }},
        {"sum_by_mpi", [] { return std::make_unique<Sum>("mpi", 50000); }},
        {"halo_staged", [] { return std::make_unique<ExchangeHalo>("staged", false); }},
        {"halo_direct", [] { return std::make_unique<ExchangeHalo>("direct", true); }},
        {"list", [] { return std::make_unique<SendList>("packed", std::size_t{300000}); }},
    };
    for (auto first = started.begin(); first != started.end(); ++first) {
        for (auto second = first; second != started.end(); ++second)
            all.push_back(
                row<OtherOrder>(first->first + "_before_" + second->first, first->second, second->second));
    }
    return all;
}

class ExchangeCalls : public testing::TestWithParam<Row> {};

TEST_P(ExchangeCalls, MovePendingMessages) {
    make_across_messages(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Calls, ExchangeCalls, testing::ValuesIn(rows()), name_of_row);

}  // namespace
}  // namespace hakobi::pending
