#pragma once

#include <cstring>
#include <hakobi/halo.hpp>
#include <hakobi/shared_array.hpp>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "device/buffer.hpp"

namespace hakobi::exchange {

/// A grid over all ranks with values that say where they belong: what tests of Halo put in, and what they
/// expect.
struct HaloCase {
    enum class Order { components_last, components_first, fortran, gaps };
    HaloGrid grid;
    std::vector<std::int64_t> global, start;
    bool corners = true;
    std::int64_t num_components = 1;
    std::vector<Order> orders;    ///< one entry a field
    std::vector<bool> is_shared;  ///< one entry a field

    /// The same on every rank but for extents and start.
    static HaloCase random(unsigned seed, const Comm& comm);
};

inline HaloCase HaloCase::random(unsigned seed, const Comm& comm) {
    std::mt19937 engine(seed);
    const auto pick = [&](int low, int high) {
        return std::uniform_int_distribution<int>(low, high)(engine);
    };
    HaloCase made;
    const int num_dims = pick(1, 5);
    const auto size = static_cast<std::size_t>(num_dims);
    made.corners = pick(0, 3) > 0;
    made.num_components = pick(1, 3);
    made.grid.ranks.assign(size, 1);
    int left = comm.size();
    while (left > 1) {
        int factor = 2;
        while (left % factor != 0) ++factor;
        made.grid.ranks[static_cast<std::size_t>(pick(0, num_dims - 1))] *= factor;
        left /= factor;
    }
    int rank = comm.rank();
    std::vector<int> place(size);
    for (std::size_t d = size; d-- > 0;) {
        place[d] = rank % made.grid.ranks[d];
        rank /= made.grid.ranks[d];
    }
    for (std::size_t d = 0; d < size; ++d) {
        made.grid.is_periodic.push_back(pick(0, 1) == 1);
        const std::int64_t low = pick(0, 2), high = pick(0, 2);
        made.grid.ghosts.push_back({low, high});
        std::int64_t start = 0, mine = 0, mine_start = 0;
        for (int p = 0; p < made.grid.ranks[d]; ++p) {
            const std::int64_t extent =
                std::max({low, high, std::int64_t{1}}) + pick(0, num_dims > 3 ? 2 : 6);
            if (p == place[d]) mine = extent, mine_start = start;
            start += extent;
        }
        made.grid.extents.push_back(mine);
        made.start.push_back(mine_start);
        made.global.push_back(start);
    }
    for (int f = pick(1, 3); f > 0; --f) {
        made.orders.push_back(static_cast<Order>(pick(0, 3)));
        made.is_shared.push_back(pick(0, 2) > 0);
    }
    return made;
}

/// One field of doubles of a case, its memory included.
class HaloValues {
  public:
    static constexpr double untouched = -1;

    /// With a device the field is there; `fill` and `num_wrong` then move all of it.
    HaloValues(const Comm& comm, const HaloCase& halo_case, std::size_t number,
               device::Device* device = nullptr)
        : case_(halo_case), number_(number) {
        const HaloGrid& grid = case_.grid;
        const std::size_t num_dims = grid.extents.size();
        const auto full = [&](std::size_t d) {
            return grid.extents[d] + grid.ghosts[d].low + grid.ghosts[d].high;
        };
        const auto order = case_.orders[number];
        const std::int64_t gap = order == HaloCase::Order::gaps ? 3 : 0;
        strides_.resize(num_dims);
        std::int64_t stride =
            order == HaloCase::Order::components_last || gap > 0 ? case_.num_components + gap : 1;
        for (std::size_t i = 0; i < num_dims; ++i) {
            const std::size_t d = order == HaloCase::Order::fortran ? i : num_dims - 1 - i;
            strides_[d] = stride;
            stride *= full(d) + gap;
        }
        component_stride_ = order == HaloCase::Order::components_last || gap > 0 ? 1 : stride;
        if (component_stride_ != 1) stride *= case_.num_components;
        num_values_ = stride;
        if (case_.is_shared[number]) {
            shared_ = allocate_shared(comm, 8 * num_values_);
            values_ = shared_.as<double>();
        } else {
            own_.resize(static_cast<std::size_t>(num_values_));
            values_ = own_.data();
        }
        for (std::size_t d = 0; d < num_dims; ++d) origin_ += grid.ghosts[d].low * strides_[d];
        if (device == nullptr) return;
        on_device_ = device::Buffer::on(*device, size_bytes()).value();
        queue_ = device->make_queue().value();
    }

    [[nodiscard]] HaloField field() {
        auto* const values =
            on_device_.data() == nullptr ? values_ : reinterpret_cast<double*>(on_device_.data());
        HaloField field{.data = values + origin_,
                        .element_bytes = 8,
                        .num_components = case_.num_components,
                        .component_stride_bytes = 8 * component_stride_};
        for (const std::int64_t stride : strides_) field.strides_bytes.push_back(8 * stride);
        return field;
    }

    void fill(int round) {
        for (std::int64_t i = 0; i < num_values_; ++i) values_[i] = untouched;
        each(
            [&](double& value, const std::vector<std::int64_t>& at, std::int64_t component, int num_outside) {
                if (num_outside == 0) value = expected(at, component, round);
            });
        if (on_device_.data() != nullptr) move(on_device_.data(), reinterpret_cast<std::byte*>(values_));
    }

    /// Number of values that are not as they should be after an exchange.
    [[nodiscard]] int num_wrong(int round) {
        if (on_device_.data() != nullptr) move(reinterpret_cast<std::byte*>(values_), on_device_.data());
        return num_wrong_on_host(round);
    }

    // For tests that move the values on streams of their own.
    [[nodiscard]] std::byte* host_bytes() { return reinterpret_cast<std::byte*>(values_); }
    [[nodiscard]] std::byte* device_bytes() { return on_device_.data(); }
    [[nodiscard]] std::int64_t size_bytes() const { return 8 * num_values_; }
    [[nodiscard]] int num_wrong_on_host(int round) {
        int wrong = 0;
        each([&](double& value, std::vector<std::int64_t> at, std::int64_t component, int num_outside) {
            bool is_filled = num_outside <= 1 || case_.corners;
            for (std::size_t d = 0; d < at.size(); ++d) {
                if (at[d] >= 0 && at[d] < case_.global[d]) continue;
                if (!case_.grid.is_periodic[d]) is_filled = false;
                at[d] = (at[d] + case_.global[d]) % case_.global[d];
            }
            wrong += value != (is_filled ? expected(at, component, round) : untouched);
        });
        return wrong;
    }

  private:
    void move(std::byte* to, const std::byte* from) {
        queue_->start({.to = to, .from = from, .length_bytes = size_bytes()}).throw_if_error();
        queue_->finish().throw_if_error();
    }
    [[nodiscard]] double expected(const std::vector<std::int64_t>& at, std::int64_t component,
                                  int round) const {
        double value = static_cast<double>(number_) * 7 + static_cast<double>(component);
        for (const std::int64_t a : at) value = value * 61 + static_cast<double>(a);
        return value * 5 + round;
    }
    /// Visits every value that the field has, with its place in the global grid (beyond it in ghosts) and in
    /// how many dimensions that is a ghost.
    template <class Visit>
    void each(Visit visit) {
        const HaloGrid& grid = case_.grid;
        std::vector<std::int64_t> index(grid.extents.size()), at(grid.extents.size());
        const auto visit_all = [&](const auto& self, std::size_t d, std::int64_t offset,
                                   int num_outside) -> void {
            if (d == index.size()) {
                for (std::int64_t c = 0; c < case_.num_components; ++c)
                    visit(values_[offset + c * component_stride_], at, c, num_outside);
                return;
            }
            for (std::int64_t i = -grid.ghosts[d].low; i < grid.extents[d] + grid.ghosts[d].high; ++i) {
                at[d] = case_.start[d] + i;
                self(self, d + 1, offset + i * strides_[d], num_outside + (i < 0 || i >= grid.extents[d]));
            }
        };
        visit_all(visit_all, 0, origin_, 0);
    }

    HaloCase case_;
    std::size_t number_;
    std::vector<std::int64_t> strides_;
    std::int64_t component_stride_ = 1, num_values_ = 0, origin_ = 0;
    std::vector<double> own_;
    SharedArray shared_;
    double* values_ = nullptr;
    device::Buffer on_device_;
    std::unique_ptr<device::Queue> queue_;
};

}  // namespace hakobi::exchange
