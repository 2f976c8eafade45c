#pragma once

#include <array>
#include <cstdint>
#include <hakobi/comm.hpp>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "geometry.hpp"

namespace hakobi::lattice {

/// The ghosts that a field needs: none, those beyond the faces, or also those beyond edges and corners.
enum class Reach { none, faces, corners };

/// The planned exchange of one field's ghost layers, used again and again. Between `start` and `wait` the
/// field's own sites may be read, not written, and its ghosts neither. Both are collective over the
/// exchange's communicator.
class Ghosts {
  public:
    virtual ~Ghosts() = default;
    virtual void start() = 0;
    virtual void wait() = 0;
};

/// How many half spinors go out through each face and come in: by direction, lower (0) and upper (1) face.
struct FaceCounts {
    std::array<std::array<std::int64_t, 2>, num_directions> sent{}, received{};
};

/// The planned exchange of projected half spinors through the faces: buffers on both sides, 12 doubles a
/// site. Between `start` and `wait` none of them may be touched; what was received stays until the next
/// `start`.
class Halves {
  public:
    virtual ~Halves() = default;
    [[nodiscard]] virtual double* to_send(int mu, int face) = 0;
    [[nodiscard]] virtual const double* received(int mu, int face) const = 0;
    virtual void start() = 0;
    virtual void wait() = 0;
};

/// A way by which ghost layers travel; one line in the registry of exchange.cpp each.
class Exchange {
  public:
    virtual ~Exchange() = default;
    /// Memory for a field, zeroed, 64-byte aligned. Collective.
    [[nodiscard]] virtual std::shared_ptr<double> allocate(std::int64_t num_doubles) = 0;
    /// Plans the exchange of `data`, an array of stored sites with `num_components` doubles each. Collective;
    /// `num_components` and `reach` equal on all ranks. `data` comes from `allocate` and is lent.
    [[nodiscard]] virtual std::unique_ptr<Ghosts> plan(double* data, int num_components, Reach reach) = 0;
    /// Whether the operator is to send half spinors, projected into buffers, in the place of ghosts.
    [[nodiscard]] virtual bool sends_halves() const = 0;
    /// Collective; what a rank sends is as much as its neighbour receives.
    [[nodiscard]] virtual std::unique_ptr<Halves> plan_halves(const FaceCounts& counts) = 0;
};

/// The names that make_exchange takes.
[[nodiscard]] std::span<const std::string_view> exchange_names();
/// Collective over `comm`; `geometry` and `comm` are lent. Throws invalid_argument for an unknown name,
/// not_found for "hakobi-device" where a rank has no GPU.
[[nodiscard]] std::unique_ptr<Exchange> make_exchange(std::string_view name, const Comm& comm,
                                                      const Geometry& geometry);

/// A field with ghosts: memory and its planned exchange, together.
class Field {
  public:
    /// Collective.
    Field(Exchange& exchange, const Geometry& geometry, int num_components, Reach reach = Reach::faces)
        : num_components_(num_components),
          memory_(exchange.allocate(geometry.num_stored() * num_components)),
          ghosts_(reach == Reach::none ? nullptr : exchange.plan(memory_.get(), num_components, reach)) {}

    [[nodiscard]] double* data() { return memory_.get(); }
    [[nodiscard]] const double* data() const { return memory_.get(); }
    [[nodiscard]] double* site(std::int32_t s) { return data() + std::int64_t{s} * num_components_; }
    [[nodiscard]] const double* site(std::int32_t s) const {
        return data() + std::int64_t{s} * num_components_;
    }
    [[nodiscard]] int num_components() const { return num_components_; }
    /// Not with Reach::none.
    void start() { ghosts_->start(); }
    void wait() { ghosts_->wait(); }
    /// Fills the ghosts. Collective.
    void update() {
        start();
        wait();
    }

  private:
    int num_components_;
    std::shared_ptr<double> memory_;
    std::unique_ptr<Ghosts> ghosts_;  // released before the memory
};

}  // namespace hakobi::lattice
