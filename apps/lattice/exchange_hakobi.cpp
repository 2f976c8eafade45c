#include <algorithm>
#include <hakobi/shared_array.hpp>
#include <optional>

#include "exchanges.hpp"

namespace hakobi::lattice {
namespace {

class HakobiGhosts final : public Ghosts {
  public:
    explicit HakobiGhosts(Halo halo) : halo_(std::move(halo)) {}
    void start() override { halo_.start(); }
    void wait() override { halo_.wait(); }

  private:
    Halo halo_;
};

// A direction's halves as an array of four: from below, to below, to above, from above. The middle two are a
// grid's own elements, the outer ones its ghosts.
class HakobiHalves final : public Halves {
  public:
    HakobiHalves(const Comm& comm, const Geometry& geometry, const FaceCounts& counts) {
        for (int mu = 0; mu < num_directions; ++mu) {
            if (!geometry.is_split(mu)) continue;
            std::int64_t most = 1;  // elements have one size: uneven blocks take the largest of all ranks'
            for (const auto& both : {counts.sent[at(mu)], counts.received[at(mu)]}) {
                most = std::max({most, both[0], both[1]});
            }
            MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_INT64_T, MPI_MAX, comm.handle());
            Lane& lane = lanes_[at(mu)];
            lane.doubles = (12 * most + 7) / 8 * 8;  // whole cache lines
            const auto bytes = lane.doubles * static_cast<std::int64_t>(sizeof(double));
            lane.memory = allocate_shared(comm, 4 * bytes);
            HaloGrid grid;
            for (int nu = num_directions; nu-- > 0;) {
                grid.extents.push_back(nu == mu ? 2 : 1);
                grid.ghosts.push_back(nu == mu ? GhostWidths{1, 1} : GhostWidths{});
                grid.ranks.push_back(geometry.grid()[at(nu)]);
                grid.is_periodic.push_back(true);
            }
            const HaloField field = HaloField::dense(lane.memory.data(), grid, bytes);
            lane.halo.emplace(Halo::plan(comm, grid, {&field, 1}, {.corners = false}));
        }
    }
    double* to_send(int mu, int face) override {
        const Lane& lane = lanes_[at(mu)];
        return lane.memory.as<double>() + (1 + face) * lane.doubles;
    }
    const double* received(int mu, int face) const override {
        const Lane& lane = lanes_[at(mu)];
        return lane.memory.as<double>() + 3 * face * lane.doubles;
    }
    void start() override {
        for (Lane& lane : lanes_) {
            if (lane.halo) lane.halo->start();
        }
    }
    void wait() override {
        for (Lane& lane : lanes_) {
            if (lane.halo) lane.halo->wait();
        }
    }

  private:
    struct Lane {
        SharedArray memory;
        std::int64_t doubles = 0;
        std::optional<Halo> halo;  // released before the memory
    };
    std::array<Lane, num_directions> lanes_;
};

class HakobiExchange final : public Exchange {
  public:
    HakobiExchange(const Comm& comm, const Geometry& geometry, bool sends_halves)
        : comm_(comm), geometry_(geometry), sends_halves_(sends_halves), grid_(halo_grid_of(geometry)) {}

    std::shared_ptr<double> allocate(std::int64_t num_doubles) override {
        auto memory = std::make_shared<SharedArray>(
            allocate_shared(comm_, num_doubles * static_cast<std::int64_t>(sizeof(double))));
        return {memory, memory->as<double>()};
    }

    bool sends_halves() const override { return sends_halves_; }
    std::unique_ptr<Halves> plan_halves(const FaceCounts& counts) override {
        return std::make_unique<HakobiHalves>(comm_, geometry_, counts);
    }

    std::unique_ptr<Ghosts> plan(double* data, int num_components, Reach reach) override {
        const std::int64_t site_bytes = num_components * static_cast<std::int64_t>(sizeof(double));
        const HaloField field = HaloField::dense(data, grid_, site_bytes);
        return std::make_unique<HakobiGhosts>(
            Halo::plan(comm_, grid_, {&field, 1}, {.corners = reach == Reach::corners}));
    }

  private:
    Comm comm_;
    const Geometry& geometry_;
    bool sends_halves_;
    HaloGrid grid_;
};

}  // namespace

HaloGrid halo_grid_of(const Geometry& geometry) {
    HaloGrid grid;
    for (int mu = num_directions; mu-- > 0;) {
        const std::int64_t ghosts = geometry.num_ghosts(mu);
        grid.extents.push_back(geometry.count()[at(mu)]);
        grid.ghosts.push_back({ghosts, ghosts});
        grid.ranks.push_back(geometry.grid()[at(mu)]);
        grid.is_periodic.push_back(true);
    }
    return grid;
}

std::unique_ptr<Exchange> make_hakobi_exchange(const Comm& comm, const Geometry& geometry,
                                               bool sends_halves) {
    return std::make_unique<HakobiExchange>(comm, geometry, sends_halves);
}

}  // namespace hakobi::lattice
