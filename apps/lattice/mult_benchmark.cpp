#include "mult_benchmark.hpp"

#include <algorithm>

#include "base/clock.hpp"

namespace hakobi::lattice {
namespace {

constexpr double batch_s = 2e-3;  // long enough for the clock and the barrier not to matter
constexpr int min_rounds = 10, max_rounds = 2000;

double quantile(std::vector<double> sorted, double p) {
    std::ranges::sort(sorted);
    const double place = p * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const auto above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

double slowest(const Comm& comm, double seconds) {
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, comm.handle());
    return seconds;
}

// Every contender begins with the ranks together.
double time_batch(const Comm& comm, const MultContender& contender, int batch) {
    MPI_Barrier(comm.handle());
    const double from_s = now_s();
    for (int i = 0; i < batch; ++i) contender.wilson->apply(*contender.in, *contender.out);
    return slowest(comm, now_s() - from_s) / batch;
}

}  // namespace

std::vector<MultTimes> time_mults(const Comm& comm, const std::vector<MultContender>& contenders,
                                  double budget_s) {
    const std::size_t n = contenders.size();
    std::vector<MultTimes> times(n);
    double round_s = 0;
    for (std::size_t i = 0; i < n; ++i) {
        double one_s = time_batch(comm, contenders[i], 3);
        one_s = time_batch(comm, contenders[i], std::clamp(static_cast<int>(batch_s / one_s), 1, 10000));
        times[i].batch = std::clamp(static_cast<int>(batch_s / one_s), 1, 10000);
        round_s += one_s * times[i].batch;
    }
    // Equal batches: a contender must not profit from another's warmth.
    int batch = 1,
        rounds = static_cast<int>(std::clamp(budget_s / round_s, double{min_rounds}, double{max_rounds}));
    for (const MultTimes& own : times) batch = std::max(batch, own.batch);
    MPI_Bcast(&batch, 1, MPI_INT, 0, comm.handle());
    MPI_Bcast(&rounds, 1, MPI_INT, 0, comm.handle());
    std::vector<OperatorTimes> before;
    for (const MultContender& contender : contenders) before.push_back(contender.wilson->times());
    for (int round = 0; round < rounds; ++round) {
        for (std::size_t k = 0; k < n; ++k) {
            const std::size_t i = round % 2 == 0 ? k : n - 1 - k;
            times[i].samples_s.push_back(time_batch(comm, contenders[i], batch));
        }
    }
    for (std::size_t i = 0; i < n; ++i) {
        MultTimes& own = times[i];
        own.batch = batch;
        own.median_s = quantile(own.samples_s, 0.5);
        own.low_s = quantile(own.samples_s, 0.25);
        own.high_s = quantile(own.samples_s, 0.75);
        const OperatorTimes& after = contenders[i].wilson->times();
        std::array<double, 2> sums{after.communication_s - before[i].communication_s,
                                   after.total_s - before[i].total_s};
        MPI_Allreduce(MPI_IN_PLACE, sums.data(), 2, MPI_DOUBLE, MPI_SUM, comm.handle());
        own.communication_share = sums[0] / sums[1];
    }
    return times;
}

Speedup speedup_over(const MultTimes& first, const MultTimes& own) {
    return {.ratio = first.median_s / own.median_s,
            .low = first.low_s / own.high_s,
            .high = first.high_s / own.low_s};
}

}  // namespace hakobi::lattice
