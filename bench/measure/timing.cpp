#include "measure/timing.hpp"

#include <algorithm>
#include <cstring>
#include <thread>

#include "mpi/agree.hpp"
#include "mpi/comm_state.hpp"

namespace hakobi::measure {
namespace {

constexpr std::int64_t assumed_cache_bytes = std::int64_t{32} << 20;
constexpr double start_delay_s = 50e-6;

BufferWindow window_of(const Comm& comm, std::int64_t bytes) {
    auto window = BufferWindow::create({.bytes = bytes});
    mpi::agree_or_throw(comm, window.ok() ? Status() : window.status());
    return std::move(window).value();
}

std::int64_t bytes_to_write(const Topology& topology) {
    const std::int64_t cache_bytes = topology.caches().last_level_bytes();
    return 2 * (cache_bytes > 0 ? cache_bytes : assumed_cache_bytes);
}

}  // namespace

Timing::Timing(const Comm& comm, const Topology& topology, bool is_hot)
    : comm_(comm),
      is_hot_(is_hot),
      eviction_bytes_(is_hot ? 0 : bytes_to_write(topology)),
      other_(window_of(comm, std::max<std::int64_t>(eviction_bytes_, 1))),
      is_yielding_(comm.node_size() > static_cast<int>(std::thread::hardware_concurrency())) {
    settle();
}

void Timing::settle() {
    clock_ = mpi::GlobalClock::synchronize(comm_);
}

void Timing::start_together() {
    if (!is_hot_) std::memset(other_.bytes().data(), ++mark_, other_.bytes().size());
    mpi::check(MPI_Barrier(comm_.state().internal), "MPI_Barrier");
    mpi::wait_until(clock_.agree_start(comm_, start_delay_s), is_yielding_);
}

double Timing::slowest(double own_s) const {
    mpi::check(MPI_Allreduce(MPI_IN_PLACE, &own_s, 1, MPI_DOUBLE, MPI_MAX, comm_.state().internal),
               "MPI_Allreduce");
    return own_s;
}

}  // namespace hakobi::measure
