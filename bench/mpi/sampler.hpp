#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.hpp"
#include "measure/window.hpp"
#include "mpi/global_clock.hpp"
#include "pattern.hpp"

namespace hakobi::bench {

/// Where an iteration's buffers lie.
enum class Buffering {
    hot,          ///< one buffer again and again: the classical benchmark
    cold,         ///< rotating through a window larger than the last-level cache, its pages there beforehand
    cold_huge,    ///< the same on 2 MiB pages: without most TLB misses
    first_touch,  ///< as cold, with every receive buffer's pages new: the page faults too
};
[[nodiscard]] std::string to_string(Buffering buffering);

/// The send and receive memory of one buffering, on one rank; the send side is filled once, so that a
/// receiver knows every byte from the sender's rank and offset.
struct Memory {
    Buffering buffering;
    measure::BufferWindow send, receive;
    /// Local. `send_bytes` and `receive_bytes` are the sizes of the two windows.
    [[nodiscard]] static Result<Memory> create(Buffering buffering, int rank, std::int64_t send_bytes,
                                               std::int64_t receive_bytes);
};

enum class Consume { after, timed };

/// Options of taking a sample.
struct SamplingOptions {
    double sample_s = 0.002;  ///< iterations are bundled until a sample lasts about so long, ten at least
    std::int64_t max_iterations = 1000;  ///< in one sample
    Consume consume = Consume::after;    ///< received data is read after the clock stops, or within the time
    std::int64_t eviction_bytes = 0;     ///< of other memory, written before cold samples; 0: none, for tests
};

/// Takes samples of one pattern, size and memory. One sample:
///  1. Hot: the buffers are primed by iterations that do not count. Then each receiver overwrites its buffer
///     with what cannot arrive: it stays in that rank's cache, as after a receive, and holds nothing that
///     priming brought.
///  2. All ranks start at one moment of the global clock, and run a bundle of iterations, each with the next
///     slot.
///  3. A rank's time is from its start to the end of its last iteration; the slowest rank's counts.
///  4. Each receiver reads every byte that arrived and compares it with what was sent: cold, of each
///     iteration; hot, what the buffer holds in the end. A byte that no timed iteration brought is found; one
///     that only some brought is not, as all bring the same: to tell them apart, each would have to write
///     other bytes within the time.
///  5. Compared bytes are overwritten with a value that cannot arrive. They are not touched again until its
///     slot's next turn, a whole window later, so that this leaves cold buffers cold.
class Sampler {
  public:
    /// Collective, as every call. The references must outlive the sampler.
    Sampler(const Comm& comm, Pattern& pattern, Memory& memory, std::int64_t bytes,
            const SamplingOptions& options);
    ~Sampler();
    Sampler(const Sampler&) = delete;
    Sampler& operator=(const Sampler&) = delete;

    /// Seconds of one reported time (counted as the pattern says). Throws Error (format) on every rank when
    /// data arrived wrong on any.
    [[nodiscard]] double sample();
    [[nodiscard]] std::int64_t iterations() const noexcept { return iterations_; }
    /// Samples that a rank began after the agreed moment, because the message about it came too late.
    [[nodiscard]] int num_late() const noexcept { return num_late_; }

    /// For tests: called after the transfers of a sample, before they are verified.
    void (*tamper)(Memory& memory, const Buffers& last) = nullptr;

  private:
    [[nodiscard]] Buffers buffers_of(std::int64_t number);
    double run_bundle(std::int64_t iterations);
    void spoil_primed();
    Status verify_bundle();
    void calibrate();

    Comm comm_;
    Pattern& pattern_;
    Memory& memory_;
    std::int64_t bytes_;
    SamplingOptions options_;
    mpi::GlobalClock clock_;
    bool is_yielding_ = false;
    double start_delay_s_ = 50e-6;
    std::int64_t iterations_ = 1;
    std::int64_t next_ = 0;        ///< number of the next iteration: equal on all ranks
    std::vector<Buffers> bundle_;  ///< the last bundle's buffers; its first iteration had the number first_
    std::int64_t first_ = 0;
    int num_late_ = 0;
    std::uint64_t consumed_ = 0;
};

}  // namespace hakobi::bench
