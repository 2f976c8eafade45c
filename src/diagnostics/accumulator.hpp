#pragma once

#include <cstddef>
#include <cstdint>
#include <hakobi/attribute.hpp>
#include <hakobi/field.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "diagnostics/cell_method.hpp"

namespace hakobi::diagnostics {

/// Gathers what some cell methods need of a field's values in an interval, element by element: results depend
/// on no other element, and so on no decomposition. In double; sums are compensated (Neumaier), variances are
/// Welford's. Missing values, and NaNs, are left out. Pure.
///
/// A put has a weight. One of weight 0 stands for no time: only minimum, maximum and range see it.
class Accumulator {
  public:
    /// `missing`: the value of the field's type that stands for none.
    Accumulator(std::span<const CellMethod> methods, const std::optional<FillValue>& missing);

    /// Begins an interval with so many elements.
    void begin(std::int64_t num_elements);
    [[nodiscard]] std::int64_t num_elements() const { return num_elements_; }
    /// Adds values that lie `stride_bytes` apart to the elements from `first` on. Each put adds to all
    /// elements, in their order.
    void add(ValueType type, const std::byte* values, std::int64_t stride_bytes, std::int64_t num,
             std::int64_t first, double weight);
    /// All elements have been added to with this weight.
    void end_put(double weight) { weight_ += weight; }
    /// Writes what one of the methods gives, or `fill` where there was no value.
    void write(const CellMethod& method, double fill, std::span<double> results) const;

    /// One array of the state, of all elements.
    struct Part {
        enum class Role : std::uint8_t {
            weighted_sum,
            sum,
            rest,
            least,
            greatest,
            mean,
            squares,
            above,
            weight
        };
        Role role = Role::weight;
        double above = 0;  ///< the threshold of `above`
        std::vector<double> values = {};
    };
    /// For a file that the interval goes on from, and back. `rest` belongs to the sum before it.
    [[nodiscard]] std::span<Part> parts() { return parts_; }
    /// Has the weights of single elements among the parts: some had missing values, or do elsewhere.
    void keep_weights();
    [[nodiscard]] bool has_weights() const { return !weights_.values.empty(); }
    [[nodiscard]] Part& weights() { return weights_; }
    [[nodiscard]] double weight() const { return weight_; }
    void set_weight(double weight) { weight_ = weight; }
    /// Values that were left out since the beginning.
    [[nodiscard]] std::int64_t num_missing() const { return num_missing_; }

    [[nodiscard]] std::int64_t memory_bytes() const;

  private:
    using Role = Part::Role;
    struct Chunk;
    void add_part(Role role, double above = 0);
    [[nodiscard]] std::size_t index_of(Role role, double above = 0) const;
    /// The values of a part, and of the one behind it.
    [[nodiscard]] std::span<const double> values_of(Role role, double above = 0) const {
        return parts_[index_of(role, above)].values;
    }
    [[nodiscard]] std::span<const double> values_behind(Role role) const {
        return parts_[index_of(role) + 1].values;
    }
    /// Turns missing values into NaNs. How many there are then.
    [[nodiscard]] std::int64_t mark_missing(std::span<double> values) const;
    void add_chunk(const Chunk& chunk);

    std::optional<double> missing_;
    std::vector<Part> parts_;
    Part weights_ = {};  // empty while all elements have weight_
    std::int64_t num_elements_ = 0, num_missing_ = 0;
    double weight_ = 0;
};

/// "weighted_sum", "above_300": a part's name in a file.
[[nodiscard]] std::string name_of(const Accumulator::Part& part);

}  // namespace hakobi::diagnostics
