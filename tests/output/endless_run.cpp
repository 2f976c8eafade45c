// A run that somebody ends, and who looks at what it left; tests/python/test_several_steps.py and
// test_killed.py start both:
//
//   endless_run PREFIX METHOD fail|resume FORMAT [STEPS_PER_FILE]   writes steps, all into one file if nothing else is said
//   endless_run PREFIX METHOD open FORMAT [STEPS_PER_FILE]          resumes, and closes at once
//   endless_run PREFIX - look FORMAT                                prints the numbers of the steps, or says what is wrong
//
// Values of step s are s everywhere; one field is described with each step, the other one defined once. The
// steps that end_step has accepted are in the file PREFIX.accepted, a line a step.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <hakobi/hakobi.hpp>
#include <optional>
#include <string>
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
        if (!packed_id_)
            packed_id_ = out.define({.name = "packed",
                                     .type = hakobi::ValueType::float32,
                                     .global = block_.global,
                                     .compression = "deflate"});
        out.put(*packed_id_, block_, std::span<const float>(packed_));
    }

  private:
    hakobi::Block block_;
    std::optional<hakobi::FieldId> packed_id_;
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
        if (!t_id_)
            t_id_ = out.define({.name = "T", .type = hakobi::ValueType::float32, .on = hakobi::On::points});
        out.put(*t_id_, {}, std::span<const float>(t_));
    }

  private:
    static constexpr int num_cells = 3000;
    static constexpr std::uint8_t quadrilateral = 9;
    std::vector<double> points_, p_;
    std::vector<float> t_;
    std::optional<hakobi::FieldId> t_id_;
    std::vector<std::int64_t> connectivity_, offsets_ = {0};
    std::vector<std::uint8_t> types_ = std::vector(num_cells, quadrilateral);
};

template <class Fields>
[[noreturn]] void run(hakobi::Output& out, std::int64_t first, std::ofstream accepted, Fields fields) {
    for (std::int64_t step = first;; ++step) {
        out.begin_step(static_cast<double>(step));
        fields.put(out, static_cast<double>(step));
        out.end_step();
        if (accepted.is_open()) accepted << step << "\n" << std::flush;
    }
}

template <class T>
bool is_all(hakobi::Input& in, const char* name, std::int64_t step) {
    const std::vector<std::int64_t> shape = in.field(name, step).shape;
    const hakobi::Block whole{shape, std::vector<std::int64_t>(shape.size(), 0), shape};
    std::vector<T> values(static_cast<std::size_t>(whole.num_elements()));
    in.read({.name = name, .step = step, .block = whole, .data = std::span<T>(values)});
    return !values.empty() && std::ranges::count(values, static_cast<T>(step)) == std::ssize(values);
}

int look(const std::string& prefix, bool is_mesh) {
    std::string found;
    try {
        auto in = hakobi::Input::open(prefix);
        for (const std::int64_t step : in.steps()) {
            const bool is_right = is_mesh
                                      ? is_all<double>(in, "p", step) && is_all<float>(in, "T", step) &&
                                            in.mesh(step).num_cells % 3000 == 0
                                      : is_all<double>(in, "eta", step) && is_all<float>(in, "packed", step);
            if (!is_right)
                return std::printf("step %lld has wrong values\n", static_cast<long long>(step)), 1;
            found += std::to_string(step) + " ";
        }
    } catch (const hakobi::Error& error) {
        if (error.code() != hakobi::ErrorCode::not_found) return std::printf("%s\n", error.what()), 1;
    }
    std::printf("%s\n", found.c_str());
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 5 && argc != 6) return 2;
    const std::string prefix = argv[1], mode = argv[3], format = argv[4], steps = argc == 6 ? argv[5] : "all";
    if (mode == "look") return look(prefix, format == "vtkhdf");
    MPI_Init(&argc, &argv);
    const auto comm = hakobi::Comm::duplicate(MPI_COMM_WORLD);
    auto out = hakobi::Output::create(
        comm, prefix,
        {.method = argv[2],
         .format = format,
         .if_exists = mode == "fail" ? hakobi::IfExists::fail : hakobi::IfExists::resume,
         .steps_per_file = steps == "all" ? hakobi::all_steps : std::stoi(steps)});
    if (mode == "open") {
        out.close();
        MPI_Finalize();
        return 0;
    }
    std::int64_t first = 0;
    if (mode == "resume") {
        try {
            auto in = hakobi::Input::open(comm, prefix);
            first = static_cast<std::int64_t>(in.times().back()) + 1;
            in.close();
        } catch (const hakobi::Error& error) {
            if (error.code() != hakobi::ErrorCode::not_found) throw;
        }
    }
    std::ofstream accepted;
    if (comm.rank() == 0) accepted.open(prefix + ".accepted", std::ios::app);
    if (format == "vtkhdf") run(out, first, std::move(accepted), OnMesh(comm));
    run(out, first, std::move(accepted), OnGrid(comm));
}
