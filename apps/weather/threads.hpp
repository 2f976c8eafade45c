#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace hakobi::weather {

/// How many threads this build can use: 1 where the compiler has no OpenMP.
constexpr int most_threads() {
#ifdef _OPENMP
    return 1024;
#else
    return 1;
#endif
}

/// Calls visit(i, thread) once for each i in [0, count) on `num_threads` threads, numbered from 0, in any
/// order. Results do not depend on their number where a visit writes only what is i's own, or its thread's
/// scratch. Visits throw nothing and call no MPI. Local.
template <class Visit>
void in_parallel([[maybe_unused]] int num_threads, std::int64_t count, Visit visit) {
#ifdef _OPENMP
    // Each takes the next one: wavenumbers and rows cost differently.
#pragma omp parallel for num_threads(num_threads) schedule(dynamic) if (num_threads > 1)
    for (std::int64_t i = 0; i < count; ++i) visit(i, omp_get_thread_num());
#else
    for (std::int64_t i = 0; i < count; ++i) visit(i, 0);
#endif
}

/// Room for `count` values of each of `num_threads` threads.
template <class Value>
class Scratch {
  public:
    void resize(int num_threads, std::size_t count) {
        count_ = count;
        values_.resize(static_cast<std::size_t>(num_threads) * count);
    }
    [[nodiscard]] Value* of(int thread) { return values_.data() + static_cast<std::size_t>(thread) * count_; }

  private:
    std::size_t count_ = 0;
    std::vector<Value> values_;
};

}  // namespace hakobi::weather
