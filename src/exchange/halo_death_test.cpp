// Errors that end the program: each test is run by one of its own, which reads the output.
#include <gtest/gtest.h>
#include <unistd.h>

#include <hakobi/halo.hpp>
#include <hakobi/shared_array.hpp>
#include <utility>

#include "mpi/comm_state.hpp"

namespace hakobi {
namespace {

class HaloDeath : public testing::Test {
  protected:
    Halo plan(const HaloOptions& options) {
        const HaloGrid grid{
            .extents = {4}, .ghosts = {{1, 1}}, .ranks = {comm_.size()}, .is_periodic = {true}};
        memory_ = allocate_shared(comm_, HaloField::dense_bytes(grid, sizeof(double)));
        const HaloField field = HaloField::dense(memory_.data(), grid, sizeof(double));
        return Halo::plan(comm_, grid, {&field, 1}, options);
    }
    Comm comm_ = Comm::duplicate(MPI_COMM_WORLD);
    SharedArray memory_;
};

TEST_F(HaloDeath, DISABLED_NamesTheRankThatDoesNotCome) {
    Halo halo = plan({.timeout_s = 0.3});
    if (comm_.rank() == 1) usleep(20'000'000);
    halo.exchange();
}

// As if rank 1's process had ended: the launcher, too, would end the program if it really had.
TEST_F(HaloDeath, DISABLED_SeesThatARankHasDied) {
    Halo halo = plan({.path = "packed"});
    if (comm_.rank() == 0) --comm_.state().node.processes[1].start_ticks;
    if (comm_.rank() == 0) halo.exchange();
    if (comm_.rank() == 1) usleep(20'000'000);
}

TEST_F(HaloDeath, DISABLED_SeesThatARankHasDiedWithoutMessages) {
    Halo halo = plan({.path = "direct"});
    if (comm_.rank() == 0) --comm_.state().node.processes[1].start_ticks;
    if (comm_.rank() == 0) halo.exchange();
    if (comm_.rank() == 1) usleep(20'000'000);
}

TEST_F(HaloDeath, DISABLED_KeepsMemoryThatIsInFlight) {
    Halo halo = plan({});
    halo.start();
    { const SharedArray freed = std::exchange(memory_, {}); }  // with assertions the program ends here
    halo.wait();
    MPI_Barrier(comm_.handle());
}

}  // namespace
}  // namespace hakobi
