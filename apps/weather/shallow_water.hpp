#pragma once

#include <cstdint>
#include <functional>
#include <hakobi/comm.hpp>
#include <span>
#include <vector>

#include "gaussian.hpp"
#include "layout.hpp"
#include "transform.hpp"

namespace hakobi::weather {

constexpr double earth_radius = 6.37122e6;   ///< m; Williamson et al. (1992), table 1, as the next two
constexpr double earth_rotation = 7.292e-5;  ///< 1/s
constexpr double gravity = 9.80616;          ///< m/s²

/// The shallow-water equations on a rotating sphere for `num_levels` layers, each of its own mean depth and
/// without effect on the others, in vorticity and divergence, by spectral transforms (Hack and Jakob,
/// NCAR/TN-343+STR, 1992, section 2): leapfrog in time with gravity waves semi-implicit and a Robert-Asselin
/// filter; implicit diffusion of the eighth order damps the shortest scales.
struct ModelOptions {
    int truncation = 21;
    int num_levels = 1;
    double time_step_s = 1200;
    double filter = 0.02;          ///< Robert-Asselin
    double damping_time_s = 3600;  ///< e-folding of the shortest wave; 0: no diffusion
    int levels_at_once = 4;        ///< transformed together: bounds the memory
    int num_threads = 1;  ///< of this rank, at most most_threads(); results are the same with any number
};

/// Coefficients of one quantity on this rank: for each wavenumber and degree of the layout, each level, real
/// and imaginary part.
using Coefficients = std::vector<double>;

/// A time level of the model.
struct State {
    Coefficients vorticity, divergence, geopotential;  ///< 1/s, 1/s, m²/s² without the mean
};

class ShallowWater {
  public:
    /// Collective over `comm`; options are equal on every rank.
    ShallowWater(MPI_Comm comm, GaussianGrid grid, const ModelOptions& options);

    /// Fills one level on this rank's points: winds in m/s, geopotential in m²/s².
    using LevelFields = std::function<void(int level, std::span<double> u, std::span<double> v,
                                           std::span<double> geopotential)>;
    /// Starts from fields. The mean of each level's geopotential becomes its depth, or `least_depth` where
    /// that is more. Collective.
    void start(const LevelFields& fields, double least_depth);
    /// One time step. Collective.
    void step();

    [[nodiscard]] double time_s() const { return time_s_; }
    [[nodiscard]] const State& state() const { return now_; }
    /// Mean geopotential of a level, m²/s²: what is constant in it and what waves have added.
    [[nodiscard]] double mean_geopotential(int level) const { return mean_[static_cast<std::size_t>(level)]; }
    [[nodiscard]] const GaussianGrid& grid() const { return grid_; }
    [[nodiscard]] const Layout& layout() const { return layout_; }
    [[nodiscard]] const ModelOptions& options() const { return options_; }
    [[nodiscard]] Transform& transform() { return transform_; }

    /// u cos(latitude) and v cos(latitude) of levels [first, last) in spectral form, as fields of a
    /// transform's block that holds `num_fields`, at `place` and `place + (last - first)`.
    void winds(const State& state, int first, int last, std::int64_t num_fields, std::int64_t place,
               std::span<double> block) const;
    /// The mean over the sphere and the levels of a quantity in which waves move mass: geopotential of level
    /// `level`. Same on every rank. Collective.
    [[nodiscard]] double mass(int level) const;
    /// Largest wind of all levels, m/s. Collective.
    [[nodiscard]] double largest_wind();
    [[nodiscard]] double coriolis_sine(std::int64_t row) const {
        return grid_.sin_latitude[static_cast<std::size_t>(row)];
    }

  private:
    struct Tendencies {
        Coefficients vorticity, divergence, geopotential;
    };
    void tendencies_of(int first, int last);
    void products_on_grid(std::int64_t levels);
    void advance(double interval_s);

    MPI_Comm comm_;
    GaussianGrid grid_;
    ModelOptions options_;
    Layout layout_;
    Transform transform_;
    State before_, now_;
    Tendencies tendencies_;
    std::vector<double> mean_;
    std::vector<double> block_, points_, products_;
    double time_s_ = 0;
    bool is_first_step_ = true;
};

}  // namespace hakobi::weather
