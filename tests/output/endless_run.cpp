// A run that puts all its steps into one file until somebody ends it: endless_run PREFIX METHOD resume|fail FORMAT. Values of step s are s everywhere.
// tests/python/test_several_steps.py kills it.
#include <hakobi/hakobi.hpp>
#include <string_view>
#include <vector>

namespace {

/// A field on a grid, and another in compressed chunks.
class OnGrid {
  public:
    explicit OnGrid(const hakobi::Comm& comm)
        : block_(hakobi::split({60, 101}, comm.size(), comm.rank())),
          eta_(static_cast<std::size_t>(block_.num_elements())),
          packed_(eta_.size()) {}
    void put(hakobi::Output& out, double step) {
        eta_.assign(eta_.size(), step);
        packed_.assign(packed_.size(), static_cast<float>(step));
        out.put({.name = "eta", .block = block_, .data = std::span<const double>(eta_)});
        out.put({.name = "packed",
                 .compression = "deflate",
                 .block = block_,
                 .data = std::span<const float>(packed_)});
    }

  private:
    hakobi::Block block_;
    std::vector<double> eta_;
    std::vector<float> packed_;
};

/// A strip of quadrilaterals, which stands.
class OnMesh {
  public:
    explicit OnMesh(const hakobi::Comm& comm) {
        const double x = comm.rank();
        for (int i = 0; i <= num_cells; ++i)
            points_.insert(points_.end(), {x, 1.0 * i, 0, x + 1, 1.0 * i, 0});
        for (std::int64_t i = 0; i < num_cells; ++i) {
            connectivity_.insert(connectivity_.end(), {2 * i, 2 * i + 1, 2 * i + 3, 2 * i + 2});
            offsets_.push_back(std::ssize(connectivity_));
        }
    }
    void put(hakobi::Output& out, double step) {
        if (p_.empty())
            out.put_mesh({.points = std::span<const double>(points_),
                          .connectivity = std::span<const std::int64_t>(connectivity_),
                          .offsets = std::span<const std::int64_t>(offsets_),
                          .types = types_});
        p_.assign(num_cells, step);
        t_.assign(2 * (num_cells + 1), static_cast<float>(step));
        out.put({.name = "p", .data = std::span<const double>(p_), .on = hakobi::On::cells});
        out.put({.name = "T", .data = std::span<const float>(t_), .on = hakobi::On::points});
    }

  private:
    static constexpr int num_cells = 3000;
    static constexpr std::uint8_t quadrilateral = 9;
    std::vector<double> points_, p_;
    std::vector<float> t_;
    std::vector<std::int64_t> connectivity_, offsets_ = {0};
    std::vector<std::uint8_t> types_ = std::vector(num_cells, quadrilateral);
};

template <class Fields>
[[noreturn]] void run(hakobi::Output& out, double first, Fields fields) {
    for (double step = first;; ++step) {
        out.begin_step(step);
        fields.put(out, step);
        out.end_step();
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 5) return 2;
    MPI_Init(&argc, &argv);
    const auto comm = hakobi::Comm::duplicate(MPI_COMM_WORLD);
    const std::string_view if_exists = argv[3], format = argv[4];
    auto out = hakobi::Output::create(
        comm, argv[1],
        {.method = argv[2],
         .format = argv[4],
         .if_exists = if_exists == "resume" ? hakobi::IfExists::resume : hakobi::IfExists::fail,
         .steps_per_file = hakobi::all_steps});
    double first = 0;
    if (if_exists == "resume") {
        auto in = hakobi::Input::open(comm, argv[1]);
        first = in.times().back() + 1;
        in.close();
    }
    if (format == "vtkhdf") run(out, first, OnMesh(comm));
    run(out, first, OnGrid(comm));
}
