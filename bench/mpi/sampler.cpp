#include "sampler.hpp"

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "mpi/agree.hpp"
#include "mpi/comm_state.hpp"

namespace hakobi::bench {
namespace {

/// Fills receive buffers until something arrives.
constexpr std::byte spoilt{0x5a};

/// The 64-bit word at a (multiple of 8) byte offset of a rank's send window: a finalised counter
/// (splitmix64), so that no two places of any two ranks look alike.
std::uint64_t word_at(int rank, std::int64_t offset_bytes) {
    std::uint64_t x =
        (static_cast<std::uint64_t>(rank + 1) << 40) + static_cast<std::uint64_t>(offset_bytes / 8);
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

std::byte byte_at(int rank, std::int64_t offset_bytes) {
    const std::uint64_t word = word_at(rank, offset_bytes - offset_bytes % 8);
    std::byte bytes[8];
    std::memcpy(bytes, &word, 8);
    return bytes[offset_bytes % 8];
}

void fill(std::span<std::byte> memory, int rank) {
    for (std::size_t at = 0; at + 8 <= memory.size(); at += 8) {
        const std::uint64_t word = word_at(rank, static_cast<std::int64_t>(at));
        std::memcpy(memory.data() + at, &word, 8);
    }
}

/// Whether `data` is what rank `source` has at `offset_bytes` of its send window.
bool is_from(std::span<const std::byte> data, int source, std::int64_t offset_bytes) {
    std::size_t at = 0;
    if (offset_bytes % 8 == 0) {
        std::uint64_t different = 0;
        for (; at + 8 <= data.size(); at += 8) {
            std::uint64_t word = 0;
            std::memcpy(&word, data.data() + at, 8);
            different |= word ^ word_at(source, offset_bytes + static_cast<std::int64_t>(at));
        }
        if (different != 0) return false;
    }
    for (; at < data.size(); ++at) {
        if (data[at] != byte_at(source, offset_bytes + static_cast<std::int64_t>(at))) return false;
    }
    return true;
}

bool is_reduced_from_all(std::span<const std::byte> data, int num_ranks, std::int64_t offset_bytes) {
    if (data.size() % 8 != 0) {
        for (std::size_t at = 0; at < data.size(); ++at) {
            std::byte all{0};
            for (int rank = 0; rank < num_ranks; ++rank) {
                all ^= byte_at(rank, offset_bytes + static_cast<std::int64_t>(at));
            }
            if (data[at] != all) return false;
        }
        return true;
    }
    for (std::size_t at = 0; at < data.size(); at += 8) {
        std::uint64_t sum = 0;
        for (int rank = 0; rank < num_ranks; ++rank)
            sum += word_at(rank, offset_bytes + static_cast<std::int64_t>(at));
        std::uint64_t word = 0;
        std::memcpy(&word, data.data() + at, 8);
        if (word != sum) return false;
    }
    return true;
}

/// Reads memory so that the compiler cannot leave it out; word by word, as a solver would.
std::uint64_t read_all(std::span<const std::byte> data) {
    std::uint64_t sum = 0;
    std::size_t at = 0;
    for (; at + 8 <= data.size(); at += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, data.data() + at, 8);
        sum += word;
    }
    for (; at < data.size(); ++at) sum += static_cast<std::uint64_t>(data[at]);
    return sum;
}

}  // namespace

std::string to_string(Buffering buffering) {
    switch (buffering) {
        case Buffering::hot:
            return "hot";
        case Buffering::cold:
            return "cold";
        case Buffering::cold_huge:
            return "cold-huge";
        case Buffering::first_touch:
            return "first-touch";
    }
    return "hot";
}

Result<Memory> Memory::create(Buffering buffering, int rank, std::int64_t send_bytes,
                              std::int64_t receive_bytes) {
    const bool huge_pages = buffering == Buffering::cold_huge;
    auto send = measure::BufferWindow::create(
        {.bytes = std::max<std::int64_t>(send_bytes, 1), .huge_pages = huge_pages});
    if (!send.ok()) return send.status();
    auto receive = measure::BufferWindow::create({.bytes = std::max<std::int64_t>(receive_bytes, 1),
                                                  .huge_pages = huge_pages,
                                                  .touch = buffering != Buffering::first_touch});
    if (!receive.ok()) return receive.status();
    Memory memory{buffering, std::move(send).value(), std::move(receive).value()};
    fill(memory.send.bytes(), rank);
    return memory;
}

Sampler::Sampler(const Comm& comm, Pattern& pattern, Memory& memory, std::int64_t bytes,
                 const SamplingOptions& options)
    : comm_(comm),
      pattern_(pattern),
      memory_(memory),
      bytes_(bytes),
      options_(options),
      clock_(mpi::GlobalClock::synchronize(comm)),
      is_yielding_(comm.node_size() > static_cast<int>(std::thread::hardware_concurrency())) {
    // Bytes that earlier samplers left could be those that this one expects: the windows are shared, the
    // contents go by offset.
    std::fill(memory_.receive.bytes().begin(), memory_.receive.bytes().end(), spoilt);
    // That left the end of the window in the caches, where slots of small messages would find themselves: all
    // of a row's visits together touch too little to drive it out.
    if (memory_.buffering != Buffering::hot && options_.eviction_bytes > 0) {
        auto other = measure::BufferWindow::create({.bytes = options_.eviction_bytes});
        mpi::agree_or_throw(comm_, other.ok() ? Status() : other.status());
        std::fill(other.value().bytes().begin(), other.value().bytes().end(), spoilt);
        consumed_ += read_all(other.value().bytes());
    }
    pattern_.begin(memory_.send.bytes(), memory_.receive.bytes());
    double worst_s = clock_.uncertainty_s();
    mpi::check(MPI_Allreduce(MPI_IN_PLACE, &worst_s, 1, MPI_DOUBLE, MPI_MAX, comm_.state().internal),
               "MPI_Allreduce");
    start_delay_s_ = std::max(start_delay_s_, 4 * worst_s);
    calibrate();
}

Sampler::~Sampler() {
    pattern_.end();
}

Buffers Sampler::buffers_of(std::int64_t number) {
    const std::int64_t visit = memory_.buffering == Buffering::hot ? 0 : number;
    const std::int64_t send_bytes = pattern_.send_bytes(bytes_);
    const std::int64_t receive_bytes = pattern_.receive_bytes(bytes_);
    return {memory_.send.slot(send_bytes, visit), memory_.receive.slot(receive_bytes, visit),
            memory_.send.offset_of_visit(send_bytes, visit),
            memory_.receive.offset_of_visit(receive_bytes, visit)};
}

void Sampler::calibrate() {
    std::int64_t most = options_.max_iterations;
    // Within one sample no slot comes twice, or what an earlier iteration brought could not be verified.
    if (memory_.buffering != Buffering::hot) {
        most = std::min({most, memory_.send.num_slots(pattern_.send_bytes(bytes_)),
                         memory_.receive.num_slots(pattern_.receive_bytes(bytes_))});
    }
    std::int64_t iterations = 1;
    for (;;) {
        const double elapsed_s = run_bundle(iterations);  // equal on all ranks: so is every decision here
        mpi::agree_or_throw(comm_, verify_bundle());
        if (iterations >= most || elapsed_s >= options_.sample_s / 2) {
            const double per_iteration_s = std::max(elapsed_s / static_cast<double>(iterations), 1e-9);
            // Ten at least, so that neither the start nor the first message shows, unless they take ten times
            // too long.
            const double fitting = options_.sample_s / per_iteration_s;
            const auto wanted = static_cast<std::int64_t>(std::max(fitting, std::min(10.0, 10 * fitting)));
            iterations_ = std::clamp<std::int64_t>(wanted, 1, most);
            return;
        }
        iterations = std::min(most, iterations * 4);
    }
}

double Sampler::run_bundle(std::int64_t iterations) {
    first_ = next_;
    bundle_.clear();
    for (std::int64_t i = 0; i < iterations; ++i) bundle_.push_back(buffers_of(first_ + i));
    if (memory_.buffering == Buffering::first_touch) memory_.receive.forget();
    pattern_.settle();
    // Hot means hot: what ran since the last sample (cold buffers, verification) has emptied the caches.
    const int num_primings = memory_.buffering != Buffering::hot ? 0 : bytes_ <= 65536 ? 16 : 2;
    for (int i = 0; i < num_primings; ++i) pattern_.run(bundle_.front(), bytes_, first_ + i);
    if (num_primings > 0) spoil_primed();
    // The data that each iteration brings this rank, known before the clock starts.
    std::vector<std::pair<std::int64_t, std::span<std::byte>>> arrived;
    for (std::int64_t i = 0; options_.consume == Consume::timed && i < iterations; ++i) {
        const auto receive = bundle_[static_cast<std::size_t>(i)].receive;
        for (const Arrival& arrival : pattern_.arrivals(bytes_, first_ + i)) {
            arrived.emplace_back(first_ + i, receive.subspan(static_cast<std::size_t>(arrival.at_bytes),
                                                             static_cast<std::size_t>(arrival.length_bytes)));
        }
    }
    auto next_arrived = arrived.begin();
    const double start_s = clock_.agree_start(comm_, start_delay_s_);
    mpi::wait_until(start_s, is_yielding_);
    const double began_s = now_s();
    std::int64_t number = first_;
    for (const Buffers& buffers : bundle_) {
        pattern_.run(buffers, bytes_, number++);
        if (options_.consume == Consume::timed) {
            for (; next_arrived != arrived.end() && next_arrived->first == number - 1; ++next_arrived)
                consumed_ += read_all(next_arrived->second);
        }
    }
    const double mine_s = now_s() - began_s;
    next_ += iterations;
    // Both maxima in one message. A start counts as late from the delay's tenth on: a polling loop's own
    // grain is less.
    double worst[2] = {mine_s, began_s - start_s > 0.1 * start_delay_s_ ? 1.0 : 0.0};
    mpi::check(MPI_Allreduce(MPI_IN_PLACE, worst, 2, MPI_DOUBLE, MPI_MAX, comm_.state().internal),
               "MPI_Allreduce");
    if (worst[1] > 0) ++num_late_;
    pattern_.settle();
    return worst[0];
}

void Sampler::spoil_primed() {
    // One-sided patterns write into ranks that take no part: none may spoil before all are done.
    mpi::check(MPI_Barrier(comm_.state().internal), "MPI_Barrier");
    const Buffers& buffers = bundle_.front();
    std::fill(buffers.receive.begin(), buffers.receive.end(), spoilt);
    pattern_.settle();
}

Status Sampler::verify_bundle() {
    Status status;
    const bool is_hot = memory_.buffering == Buffering::hot;
    bool is_done = false;
    for (std::size_t i = bundle_.size(); i-- > 0 && !is_done;) {
        const Buffers& buffers = bundle_[i];
        const std::int64_t number = first_ + static_cast<std::int64_t>(i);
        const std::vector<Arrival> arrivals = pattern_.arrivals(bytes_, number);
        // Hot: the one buffer holds what came last; a rank receives nothing in a broadcast of its own.
        if (is_hot && arrivals.empty() && i > 0) continue;
        is_done = is_hot;
        for (const Arrival& arrival : arrivals) {
            const auto data = buffers.receive.subspan(static_cast<std::size_t>(arrival.at_bytes),
                                                      static_cast<std::size_t>(arrival.length_bytes));
            const std::int64_t from = buffers.send_offset_bytes + arrival.from_bytes;
            const bool is_right = pattern_.is_reduced() ? is_reduced_from_all(data, comm_.size(), from)
                                                        : is_from(data, arrival.source, from);
            if (!is_right) {
                status.keep_first({ErrorCode::format,
                                   "wrong data: " + std::to_string(bytes_) + " bytes from rank " +
                                       std::to_string(arrival.source) + ", " + to_string(memory_.buffering) +
                                       " buffers, iteration " + std::to_string(number)});
            }
        }
        std::fill(buffers.receive.begin(), buffers.receive.end(), spoilt);
    }
    return status;
}

double Sampler::sample() {
    const double elapsed_s = run_bundle(iterations_);
    if (tamper != nullptr) tamper(memory_, bundle_.back());
    mpi::agree_or_throw(comm_, verify_bundle());
    return elapsed_s / (static_cast<double>(iterations_) * pattern_.times_per_iteration());
}

}  // namespace hakobi::bench
