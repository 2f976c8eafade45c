#include <hakobi/halo.hpp>

#include "exchanges.hpp"
#include "gpu/gpu.hpp"

namespace hakobi::lattice {
namespace {

// A field's copy on the GPU, whose ghosts Halo fills. The operator is computed on the host, so what was
// computed goes there before the exchange, and comes back with the ghosts after it; all in the order of one
// stream, which the host waits for at the end alone.
class DeviceGhosts final : public Ghosts {
  public:
    DeviceGhosts(std::shared_ptr<apps::Gpu> gpu, std::shared_ptr<std::byte> on_device, double* data,
                 std::int64_t bytes, Halo halo)
        : gpu_(std::move(gpu)),
          on_device_(std::move(on_device)),
          data_(data),
          bytes_(bytes),
          halo_(std::move(halo)) {}
    void start() override {
        gpu_->copy(on_device_.get(), data_, bytes_);
        halo_.start(gpu_->stream());
    }
    void wait() override {
        halo_.wait(gpu_->stream());
        gpu_->copy(data_, on_device_.get(), bytes_);
        gpu_->synchronize();
    }

  private:
    std::shared_ptr<apps::Gpu> gpu_;
    std::shared_ptr<std::byte> on_device_;
    double* data_;
    std::int64_t bytes_;
    Halo halo_;  // released before the memory
};

class DeviceExchange final : public Exchange {
  public:
    DeviceExchange(const Comm& comm, const Geometry& geometry)
        : comm_(comm),
          gpu_(apps::Gpu::open(comm)),
          host_(make_mpi_exchange(comm, geometry, false)),
          grid_(halo_grid_of(geometry)) {}

    std::shared_ptr<double> allocate(std::int64_t num_doubles) override {
        return host_->allocate(num_doubles);
    }
    bool sends_halves() const override { return false; }
    std::unique_ptr<Halves> plan_halves(const FaceCounts& counts) override {
        return host_->plan_halves(counts);
    }
    std::unique_ptr<Ghosts> plan(double* data, int num_components, Reach reach) override {
        const std::int64_t site_bytes = num_components * static_cast<std::int64_t>(sizeof(double));
        const std::int64_t bytes = HaloField::dense_bytes(grid_, site_bytes);
        auto on_device = gpu_->allocate(comm_, bytes);
        HaloField field = HaloField::dense(on_device.get(), grid_, site_bytes);
        field.memory = Memory::device;
        return std::make_unique<DeviceGhosts>(
            gpu_, std::move(on_device), data, bytes,
            Halo::plan(comm_, grid_, {&field, 1}, {.corners = reach == Reach::corners}));
    }

  private:
    Comm comm_;
    std::shared_ptr<apps::Gpu> gpu_;
    std::unique_ptr<Exchange> host_;  ///< whose memory the fields are computed in
    HaloGrid grid_;
};

}  // namespace

std::unique_ptr<Exchange> make_device_exchange(const Comm& comm, const Geometry& geometry, bool) {
    return std::make_unique<DeviceExchange>(comm, geometry);
}

}  // namespace hakobi::lattice
