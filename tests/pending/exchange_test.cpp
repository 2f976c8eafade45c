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

/// A ring of ranks with one field, by one path.
class HaloCall : public CommCall {
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
    void run() override { halo->exchange(); }
    void finish() override { check(); }
};

/// A list goes around the ring.
class SendList final : public CommCall {
  public:
    SendList(const std::string& path, std::size_t bytes)
        : arrays_(BufferArrays::get(comm, {.path = path, .pack_bytes = 1 << 16})),
          out_(bytes, static_cast<char>('a' + comm.rank())),
          in_(bytes) {}
    void run() override {
        auto out = arrays_.make(), in = arrays_.make();
        out.append(out_.data(), static_cast<std::int64_t>(out_.size()));
        in.append(in_.data(), static_cast<std::int64_t>(in_.size()));
        in.receive((comm.rank() + comm.size() - 1) % comm.size());
        out.send((comm.rank() + 1) % comm.size());
        in.wait();
        out.wait();
    }
    void finish() override { EXPECT_EQ(in_.back(), 'a' + (comm.rank() + comm.size() - 1) % comm.size()); }

  private:
    BufferArrays arrays_;
    std::vector<char> out_, in_;
};

/// Everything that is made once, of few words.
class Make final : public CommCall {
  public:
    explicit Make(void (*body)(const Comm&)) : body_(body) {}
    void run() override { body_(comm); }

  private:
    void (*body_)(const Comm&);
};

class Sum final : public CommCall {
  public:
    explicit Sum(std::string method) {
        CollectivesOptions options;
        options.method = std::move(method);
        collectives_ = Collectives::create(comm, options);
        plan_.emplace(collectives_.allreduce(ElementType::float64, Reduction::sum, 1000));
    }
    ~Sum() override { collectives_.free(); }
    void run() override { plan_->execute(in_.data(), out_.data()); }
    void finish() override { EXPECT_EQ(out_.back(), comm.size()); }

  private:
    Collectives collectives_;
    std::optional<CollectivePlan> plan_;
    std::vector<double> in_ = std::vector<double>(1000, 1.0), out_ = std::vector<double>(1000);
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
    return all;
}

class ExchangeCalls : public testing::TestWithParam<Row> {};

TEST_P(ExchangeCalls, MovePendingMessages) {
    make_across_messages(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Calls, ExchangeCalls, testing::ValuesIn(rows()), name_of_row);

}  // namespace
}  // namespace hakobi::pending
