#include "overview/reduce.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <type_traits>

#include "base/crc32c.hpp"
#include "overview/half.hpp"
#include "overview/strips.hpp"

namespace hakobi::overview {

namespace {

/// A strip stays in the second level of the processor's cache beside its partner.
constexpr std::int64_t strip_bytes = 640 << 10;
/// How far ahead of what is reduced the storage is at work.
constexpr std::int64_t ahead_bytes = 6 << 20;

std::int64_t halved(std::int64_t n) {
    return (n + 1) / 2;
}

/// Sums over eight lanes, which vector units keep apart.
template <class Float>
double sum_of(const Float* values, std::int64_t count) {
    std::array<double, 8> lanes{};
    std::int64_t i = 0;
    for (; i + 8 <= count; i += 8) {
        for (std::int64_t k = 0; k < 8; ++k) lanes[static_cast<std::size_t>(k)] += values[i + k];
    }
    for (; i < count; ++i) lanes[0] += values[i];
    double sum = 0;
    for (const double lane : lanes) sum += lane;
    return sum;
}

template <class Float>
void widen(const Float* __restrict values, std::int64_t count, Float* __restrict low,
           Float* __restrict high) {
    for (std::int64_t i = 0; i < count; ++i) {
        low[i] = values[i] < low[i] ? values[i] : low[i];  // false for NaN
        high[i] = values[i] > high[i] ? values[i] : high[i];
    }
}

/// The bricks of a unit as they lie in the file: NaN where no row of halves is put.
class Bricks {
  public:
    /// Makes the bricks of a unit of so many cells.
    Bricks(const Unit& unit, const Extents& extent)
        : brick_(unit.brick),
          rows_((halved(extent[1]) + unit.brick[1] - 1) / unit.brick[1]),
          columns_((halved(extent[2]) + unit.brick[2] - 1) / unit.brick[2]),
          brick_bytes_(unit.brick[0] * unit.brick[1] * unit.brick[2] * 2 + checksum_bytes),
          bytes_(static_cast<std::size_t>(rows_ * columns_ * brick_bytes_)) {
        for (std::size_t at = 0; at < bytes_.size(); at += sizeof(Half)) {
            std::memcpy(bytes_.data() + at, &not_a_number, sizeof(Half));
        }
    }

    [[nodiscard]] std::int64_t rows() const noexcept { return rows_; }
    [[nodiscard]] std::int64_t columns() const noexcept { return columns_; }

    /// A row of the unit at its place.
    void put(std::int64_t plane, std::int64_t row, std::span<const Half> halves) {
        const std::int64_t within = (plane * brick_[1] + row % brick_[1]) * brick_[2] * 2;
        const auto cells = std::ssize(halves);
        for (std::int64_t x = 0; x < cells; x += brick_[2]) {
            const std::int64_t number = row / brick_[1] * columns_ + x / brick_[2];
            std::memcpy(bytes_.data() + number * brick_bytes_ + within, halves.data() + x,
                        static_cast<std::size_t>(std::min(brick_[2], cells - x)) * sizeof(Half));
        }
    }

    /// All of them with their checksums; none is left here.
    std::vector<std::byte> take() {
        const auto brick_size = static_cast<std::size_t>(brick_bytes_);
        for (std::size_t at = 0; at < bytes_.size(); at += brick_size) {
            const std::span brick(bytes_.data() + at, brick_size);
            const std::uint32_t checksum = crc32c(brick.first(brick.size() - checksum_bytes));
            std::memcpy(brick.last(checksum_bytes).data(), &checksum, checksum_bytes);
        }
        return std::move(bytes_);
    }

  private:
    const Extents brick_;
    const std::int64_t rows_, columns_;  ///< of bricks
    const std::int64_t brick_bytes_;
    std::vector<std::byte> bytes_;
};

/// Statistics of a unit's own values: a sample, their sum, and the extremes of each brick.
template <class Float>
class Survey {
  public:
    Survey(const Unit& unit, const Extents& extent, const Bricks& bricks)
        : stride_(unit.sample_stride),
          brick_width_(2 * unit.brick[2]),
          bricks_a_row_(bricks.columns()),
          low_(static_cast<std::size_t>(extent[2]), infinity),
          high_(static_cast<std::size_t>(extent[2]), -infinity) {
        const auto num_bricks = static_cast<std::size_t>(bricks.rows() * bricks.columns());
        const double nothing = std::numeric_limits<double>::infinity();
        found_.low.assign(num_bricks, nothing);
        found_.high.assign(num_bricks, -nothing);
        const std::int64_t cells = extent[0] * extent[1] * extent[2];
        found_.sample.resize(static_cast<std::size_t>((cells + stride_ - 1) / stride_));
    }

    /// Keeps those of `values`, whose first one is the unit's `first`, that belong to the sample.
    void take_sample(std::int64_t first, std::span<const Float> values) {
        std::int64_t place = (first + stride_ - 1) / stride_;
        for (; place * stride_ < first + std::ssize(values); ++place) {
            found_.sample[static_cast<std::size_t>(place)] =
                values[static_cast<std::size_t>(place * stride_ - first)];
        }
    }

    /// Rows of one row of bricks. `total` is their sum if there are `full_count`; fewer were taken as often
    /// as that takes.
    void add(std::span<const Float* const> rows, double total, double full_count) {
        const auto columns = std::ssize(low_);
        for (const Float* row : rows) widen(row, columns, low_.data(), high_.data());
        if (std::isfinite(total)) {
            found_.sum += total * static_cast<double>(rows.size()) / full_count;
            return;
        }
        for (const Float* row : rows) {
            for (std::int64_t i = 0; i < columns; ++i) {
                const auto value = static_cast<double>(row[i]);
                if (std::isnan(value)) {
                    ++found_.num_nan;
                } else {
                    found_.sum += value;
                }
            }
        }
    }

    /// The rows that were added are of this row of bricks; the next ones may be of another.
    void end_rows(std::int64_t brick_row) {
        const auto columns = std::ssize(low_);
        for (std::int64_t b = 0; b < bricks_a_row_; ++b) {
            const auto at = static_cast<std::size_t>(brick_row * bricks_a_row_ + b);
            for (std::int64_t i = b * brick_width_; i < std::min(columns, (b + 1) * brick_width_); ++i) {
                found_.low[at] =
                    std::min(found_.low[at], static_cast<double>(low_[static_cast<std::size_t>(i)]));
                found_.high[at] =
                    std::max(found_.high[at], static_cast<double>(high_[static_cast<std::size_t>(i)]));
            }
        }
        std::ranges::fill(low_, infinity);
        std::ranges::fill(high_, -infinity);
    }

    /// All but the bricks; nothing is left here.
    Found take() {
        for (std::size_t b = 0; b < found_.low.size(); ++b) {
            if (found_.low[b] > found_.high[b])
                found_.low[b] = found_.high[b] = std::numeric_limits<double>::quiet_NaN();
        }
        return std::move(found_);
    }

  private:
    static constexpr Float infinity = std::numeric_limits<Float>::infinity();

    const std::int64_t stride_;
    const std::int64_t brick_width_;  ///< columns of the unit
    const std::int64_t bricks_a_row_;
    std::vector<Float> low_, high_;  ///< of each column, since end_rows
    Found found_;
};

Extents extent_of(const Box& box) {
    Extents extent{};
    for (std::size_t d = 0; d < max_dims; ++d) extent[d] = box[d][1] - box[d][0];
    return extent;
}

template <class Float>
class Pass {
  public:
    Pass(const Source& source, const Unit& unit)
        : unit_(unit),
          strips_(make_strips<Float>(source, unit.box)),
          extent_(extent_of(unit.box)),
          bricks_(unit, extent_) {
        const auto columns = static_cast<std::size_t>(extent_[2]);
        sums_.resize(columns + 1);
        halves_.resize((columns + 1) / 2);
        if (unit.sample_stride > 0) survey_.emplace(unit, extent_, bricks_);
        is_normal_ = unit.offset == 0 && unit.scale == 1;
        is_double_ = !(std::is_same_v<Float, float> && unit.scale > 1e-30 && unit.scale < 1e30);
    }

    Result<Found> run() {
        if (Status status = reduce_strips(); !status.ok()) return status;
        Found found = survey_ ? survey_->take() : Found{};
        found.bricks = bricks_.take();
        return found;
    }

  private:
    struct Strip {
        std::int64_t plane, first, stop;
    };

    /// In the order of the file within a plane, each within one row of bricks.
    [[nodiscard]] std::vector<Strip> cut() const {
        const std::int64_t row_bytes = extent_[2] * static_cast<std::int64_t>(sizeof(Float));
        const std::int64_t most =
            std::max<std::int64_t>(2, strip_bytes / std::max<std::int64_t>(1, row_bytes) / 2 * 2);
        std::vector<Strip> strips;
        for (std::int64_t plane = 0; plane < extent_[0]; plane += unit_.is_flat ? 1 : 2) {
            for (std::int64_t row = 0; row < extent_[1];) {
                const std::int64_t end =
                    std::min(extent_[1], (row / (2 * unit_.brick[1]) + 1) * 2 * unit_.brick[1]);
                strips.push_back({plane, row, std::min(end, row + most)});
                row = strips.back().stop;
            }
        }
        return strips;
    }

    Status reduce_strips() {
        const std::vector<Strip> strips = cut();
        std::size_t announced = 0;
        std::int64_t ahead = 0;  // announced and not yet reduced
        for (const Strip& strip : strips) {
            for (; announced < strips.size() && ahead < ahead_bytes; ++announced) {
                ahead += announce(strips[announced]);
            }
            ahead -= bytes_of(strip);
            if (Status status = reduce_strip(strip); !status.ok()) return status;
        }
        return {};
    }

    [[nodiscard]] std::int64_t bytes_of(const Strip& strip) const {
        const std::int64_t planes = unit_.is_flat || strip.plane + 1 == extent_[0] ? 1 : 2;
        return planes * (strip.stop - strip.first) * extent_[2] * static_cast<std::int64_t>(sizeof(Float));
    }

    std::int64_t announce(const Strip& strip) {
        strips_->announce(strip.plane, strip.first, strip.stop);
        if (!unit_.is_flat && strip.plane + 1 < extent_[0]) {
            strips_->announce(strip.plane + 1, strip.first, strip.stop);
        }
        return bytes_of(strip);
    }

    Status reduce_strip(const Strip& strip) {
        const bool has_second = !unit_.is_flat && strip.plane + 1 < extent_[0];
        std::array<const Float*, 2> planes{};
        for (std::size_t p = 0; p < (has_second ? 2U : 1U); ++p) {
            const std::int64_t plane = strip.plane + static_cast<std::int64_t>(p);
            Result<const Float*> got = strips_->get(plane, strip.first, strip.stop);
            if (!got.ok()) return got.status();
            planes[p] = got.value();
            if (survey_)
                survey_->take_sample(
                    plane * extent_[1] * extent_[2] + strip.first * extent_[2],
                    std::span(planes[p], static_cast<std::size_t>((strip.stop - strip.first) * extent_[2])));
        }
        if (!has_second) planes[1] = nullptr;
        for (std::int64_t row = strip.first; row < strip.stop; row += 2) {
            reduce_rows(planes, row - strip.first, row + 1 < strip.stop);
            bricks_.put(strip.plane / (unit_.is_flat ? 1 : 2), row / 2, halves_);
        }
        if (survey_) survey_->end_rows(strip.first / 2 / unit_.brick[1]);
        return {};
    }

    /// Two rows of one plane or two become a row of halves; what is missing at the far edges is there twice.
    void reduce_rows(const std::array<const Float*, 2>& planes, std::int64_t row, bool has_second) {
        const std::int64_t columns = extent_[2];
        const std::array<const Float*, 4> all = rows_of(planes, row, has_second);
        std::array<const Float*, 4> rows{};  // those that are there
        std::size_t count = 0;
        for (std::size_t k = 0; k < 4; ++k) {
            if ((k % 2 == 0 || planes[1] != nullptr) && (k < 2 || has_second)) rows[count++] = all[k];
        }
        Float* const sums = sums_.data();
        if (unit_.is_flat) {
            for (std::int64_t i = 0; i < columns; ++i) sums[i] = all[0][i] + all[2][i];
        } else {
            for (std::int64_t i = 0; i < columns; ++i) {
                sums[i] = (all[0][i] + all[1][i]) + (all[2][i] + all[3][i]);
            }
        }
        const double total = sum_of(sums, columns);
        if (survey_) survey_->add(std::span(rows).first(count), total, unit_.is_flat ? 2 : 4);
        if (columns % 2 != 0) sums[columns] = sums[columns - 1];
        const std::int64_t cells = halved(columns);
        if (is_normal_) {
            convert<Float>(cells, [](Float mean) { return mean; });
        } else if (is_double_) {
            convert<double>(cells, [offset = unit_.offset, scale = unit_.scale](double mean) {
                return (mean - offset) / scale;
            });
        } else {
            convert<Float>(
                cells, [offset = static_cast<Float>(unit_.offset), scale = static_cast<Float>(unit_.scale)](
                           Float mean) { return (mean - offset) / scale; });
        }
        if (has_unusual()) repair(all);
    }

    [[nodiscard]] std::array<const Float*, 4> rows_of(const std::array<const Float*, 2>& planes,
                                                      std::int64_t row, bool has_second) const {
        const Float* const upper = planes[0] + row * extent_[2];
        const Float* const lower = planes[1] != nullptr ? planes[1] + row * extent_[2] : upper;
        const std::int64_t next = has_second ? extent_[2] : 0;
        return {upper, lower, upper + next, lower + next};
    }

    template <class Wide, class Normalise>
    void convert(std::int64_t cells, Normalise normalise) {
        const auto factor = static_cast<Float>(unit_.is_flat ? 0.25 : 0.125);
        const Float* __restrict sums = sums_.data();
        Half* __restrict halves = halves_.data();
        for (std::int64_t i = 0; i < cells; ++i) {
            const Float mean = (sums[2 * i] + sums[2 * i + 1]) * factor;
            halves[i] = half_of(static_cast<Wide>(normalise(static_cast<Wide>(mean))));
        }
    }

    /// Whether a half of the row is NaN or infinite.
    [[nodiscard]] bool has_unusual() const {
        const Half* const halves = halves_.data();
        const auto cells = static_cast<std::size_t>(halved(extent_[2]));
        unsigned found = 0;
        for (std::size_t i = 0; i < cells; ++i) found |= is_unusual(halves[i]) ? 1U : 0U;
        return found != 0;
    }

    static bool is_unusual(Half half) { return (half & 0x7c00U) == 0x7c00U; }

    /// Cells whose half is not finite (NaN, infinities, an overflow on the way): with care. Finite halves
    /// stay as they are.
    void repair(const std::array<const Float*, 4>& rows) {
        const std::int64_t columns = extent_[2];
        for (std::int64_t i = 0; i < columns; i += 2) {
            if (!is_unusual(halves_[static_cast<std::size_t>(i / 2)])) continue;
            const std::int64_t next = i + 1 < columns ? i + 1 : i;
            std::array<double, 2> sum{}, count{};
            for (const auto column : {0, 1}) {
                std::array<double, 4> values{}, valid{};
                for (std::size_t k = 0; k < 4; ++k) {
                    const auto value = static_cast<double>(rows[k][column == 0 ? i : next]);
                    constexpr double most = 1e300;  // eight of them are still a number
                    const double raw = (value - unit_.offset) / unit_.scale;
                    const double normal = std::isfinite(value) ? std::clamp(raw, -most, most) : raw;
                    valid[k] = std::isnan(normal) ? 0 : 1;
                    values[k] = std::isnan(normal) ? 0 : normal;
                }
                const auto c = static_cast<std::size_t>(column);
                sum[c] = (values[0] + values[1]) + (values[2] + values[3]);
                count[c] = valid[0] + valid[1] + valid[2] + valid[3];
            }
            halves_[static_cast<std::size_t>(i / 2)] = half_of((sum[0] + sum[1]) / (count[0] + count[1]));
        }
    }

    const Unit& unit_;
    std::unique_ptr<Strips<Float>> strips_;
    const Extents extent_;
    Bricks bricks_;
    std::optional<Survey<Float>> survey_;  ///< where the unit asks for it
    bool is_normal_ = false, is_double_ = false;
    std::vector<Float> sums_;   ///< of a row's cells, columns apart
    std::vector<Half> halves_;  ///< the row that is made of them
};

}  // namespace

Result<Found> reduce(const Source& source, const Unit& unit) {
    if (source.type == CellType::float64) return Pass<double>(source, unit).run();
    return Pass<float>(source, unit).run();
}

}  // namespace hakobi::overview
