#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/status.hpp"

namespace hakobi::io {

/// Every threshold by which the engine decides how to carry out a call. Each has a row in `thresholds()`:
/// the cases that show its worth, and the value at which it does not exist. All were measured on two cores of
/// an AMD EPYC with Open MPI 4.1.4 and MPICH 4.0.2, on a memory file system and on the storage model of 4
/// servers of 500 MB/s, 2 ms; none has been tried on a parallel file system, where `hakobi tune --try
/// hakobi_policy_NAME=…` finds others. "D4" is docs/decisions/0004-….md.
struct Policy {
    static constexpr std::int64_t kib = 1 << 10, mib = 1 << 20;

    // --- Which path a call takes (choice.cpp) --------------------------------------------------------------
    /// Mean piece from which writing directly beats the shuffle where storage serves from memory: rows of 25
    /// KB lose to the inode's lock, 1.3 against 1.6 GB/s (D4).
    std::int64_t direct_write_piece = 256 * kib;
    /// The same, reading: 24 KiB 6.3 GB/s, 4 KiB 5.0 against 3.1 by the shuffle, but 4 KiB of two ranks 3.5
    /// against 4.0 (D4).
    std::int64_t direct_read_piece = 8 * kib;
    /// Mean piece from which no storage gains by the shuffle, or two stripes if that is more, at most a
    /// collective buffer: 24 variables of 2.5 MiB a rank, 0.89 GB/s by the shuffle (D4, model).
    std::int64_t large_piece = 1 * mib;
    /// A rank's request so short that the shuffle's stages have nothing to overlap with, and its pieces:
    /// IOR's 47,008 bytes, 8 ranks, 376 us by the shuffle, 229 directly; 64 x 2 KiB 921 and 3,693 (D4).
    std::int64_t short_request = 256 * kib, short_request_piece = 4 * kib;
    /// Pieces of so much, of which the range asked for is so many times the sum, have their collective
    /// buffers to themselves: 64 x 4 KiB a rank over 1 GiB, 22 ms by the shuffle, 2 to 4 directly (memory
    /// file system).
    std::int64_t sparse_piece = 4 * kib, least_sparse_part = 16;

    // --- What is tried, and believed, of storage (meeting.cpp, paths/own_pieces.cpp) -----------------------
    /// The leader's trial of unknown storage: pieces from which it is made (D4).
    std::int64_t tried_piece = 4 * kib;
    /// Asleep in one access: a page cache never is, a disk or network is longer (D4).
    std::int64_t waited_us = 200;
    /// Waits in a row until writes call the storage slow: a writer that lost its core sleeps at the inode's
    /// lock now and then (8 ranks, 256 KiB a call: 1,717 us with 1, 1,271 with 4; D4).
    std::int64_t believed_waits = 4;

    // --- Own pieces (choice.cpp, pieces.cpp, sieve.cpp) ----------------------------------------------------
    /// A copy that the kernel would do slowly goes through a buffer (decision 6), a request alone from so
    /// much on: it would otherwise be one call, and below the detour costs as much (1 us).
    std::int64_t bounced_from = 16 * kib;
    /// By the end of more its beginning has left the cache: copies pass it by (decision 6).
    std::int64_t past_cache_from = 8 * mib;
    /// Data sieving of one rank alone: a stretch that stays in the processor's cache between its access and
    /// its copy, and the mean distance of pieces up to which moving what lies between costs less than a call
    /// of the kernel for each, 2 us (D4).
    std::int64_t sieve_window = 256 * kib, sieved_stride = 4 * kib;

    // --- Small requests, by mailbox (choice.cpp, paths/mailbox.cpp) ----------------------------------------
    /// Runs that the leader writes one after the other where each may wait; more go to the pipeline, which
    /// has several in flight (model: 2 ms each).
    std::int64_t most_waiting_runs = 4;
    /// Gap that is read over: 10 us from memory, where a call takes 1 us, but a call to storage that waits
    /// takes ms.
    std::int64_t joined_gap = 64 * kib;

    // --- Ranks that run ahead (choice.cpp, ahead.cpp) ------------------------------------------------------
    /// Ranks whose contiguous pieces wait for the storage side by side rather than go through the shuffle one
    /// call after the other (512 calls of 64 KiB, 8 ranks, model; D21).
    std::int64_t most_waiting_ranks = 8;

    // --- Cycles (choice.cpp, plan.cpp) ---------------------------------------------------------------------
    /// The cycle for storage that serves from memory: deposited bytes are still in the processor's cache when
    /// they are written (decision 5).
    std::int64_t cached_cycle = 1 * mib;
    /// The longest gap that is read over on storage read by requests: it costs less than another request, at
    /// 1 Gbit/s 2 ms (D79). Cycles are so short where the gaps would otherwise exceed half of the bytes asked
    /// for.
    std::int64_t requested_gap = 256 * kib;

    // --- Files with stripes (striping.cpp; D51, D52) -------------------------------------------------------
    /// Cycles of less would be requests that a server spends on overhead: files of finer stripes have
    /// contiguous domains.
    std::int64_t least_striped_cycle = 256 * kib;
    /// Aggregators of one server: one where there are no more nodes than servers. A client gets 0.9 to 1.2
    /// GB/s into a shared Lustre file, a server of disks or flash takes 0.5 to 5.
    std::int64_t most_aggregators_of_server = 4;
    /// Servers for which a node has one aggregator; where it has more, it has more aggregators, if it has
    /// ranks for them.
    std::int64_t servers_of_aggregator = 8, most_aggregators_of_node = 4;
    /// Requests in flight for one server, of each aggregator. Lustre's clients have 8 of 1 to 4 MiB in flight
    /// at most (max_rpcs_in_flight). A thread that waits writes 0.92 GB/s (h5py pull request 2227): of
    /// stripes of 4 MiB, two take half of what a client of 3 GB/s could, and one of each of four aggregators
    /// 30 % of a server of 10 GB/s (`hakobi study scale`; D5).
    std::int64_t server_requests = 4;

    // --- The layout of new files (layout_choice.cpp) -------------------------------------------------------
    /// Stripes for each node: its link takes what about four servers give, and PnetCDF 1.15 takes as many.
    /// One a node leaves the links idle (8 nodes of 27 MB/s, 16 servers of 15: 0.113 GB/s with 8 stripes,
    /// 0.200 with 16); fewer than nodes is what collective writes on Frontier suffer from (128 nodes, 30 GB/s
    /// where nodes and servers could do 370; mpich issue 7935; D49).
    std::int64_t auto_stripes_a_node = 4;
    /// A stripe's share of the file, where its size is known: below, a server's part is over before it
    /// streams (NERSC's advice is 1 stripe up to 1 GB and 8 up to 10, for one writer; four collective buffers
    /// here; D49).
    std::int64_t least_auto_stripe_share = 16 * mib;

    friend bool operator==(const Policy&, const Policy&) = default;
};

/// A threshold's line in the table of all.
struct Threshold {
    std::string_view name;  ///< of the hint: hakobi_policy_NAME
    std::int64_t Policy::*value;
    /// The value at which the case that it stands for does not exist.
    std::int64_t without;
    /// Where its worth shows: cases of `hakobi bench collective --suite regressions`, or another command.
    std::string_view rows;
    std::int64_t least = 0;  ///< that it may be set to
};
[[nodiscard]] std::span<const Threshold> thresholds();

/// The policy in force: the defaults, changed by hints of the process (HAKOBI_HINTS, HAKOBI_HINTS_FILE),
/// which are read at the first call. Equal on all ranks: `Engine::open` refuses others. Any thread.
[[nodiscard]] const Policy& policy();
/// Whether a hint is a threshold's.
[[nodiscard]] bool is_threshold(std::string_view hint);
/// Sets it. invalid_argument, naming the nearest, for one that there is none of, or for a bad value. Pure.
[[nodiscard]] Status set_threshold(std::string_view hint, std::string_view value, Policy& policy);
/// Equal for equal policies, and hardly for others; not negative. Pure.
[[nodiscard]] std::int64_t fingerprint(const Policy& policy);

/// Limits: no figure depends on them.
namespace policy_limits {
constexpr std::int64_t kib = 1 << 10, mib = 1 << 20;
/// The buffers of an aggregator, without the hint hakobi_depth: four under way and two that fill. With eight,
/// those that a first call takes from the kernel cost 5 ms more, and deposited bytes leave the processor's
/// cache (block3d, 8 ranks, model: 0.61 CPU s/GB, 0.68 with eight; D7).
constexpr int usual_depth = 6;
/// The smallest cycle: from 4 KiB to this no row of the suite of regressions changes (decision 93).
constexpr std::int64_t smallest_cycle = 256 * kib;
/// The same of elective hidden writes, of which each cycle holds a buffer until it is stored, and nobody
/// waits for the first one: 24 calls of 640 KiB in two cycles each wait for buffers, 1.19 times the run
/// without output, in one they do not (hidden.py, flash).
constexpr std::int64_t smallest_elective_cycle = 1 * mib;
/// How much of its first piece a leader tries unknown storage with, while the others wait.
constexpr std::int64_t most_tried = 256 * kib;
/// The buffer of copies that the kernel would do slowly, where storage serves from memory: of the processor's
/// cache. Where a request waits, each is as long as it may be (24 x 2.5 MiB a call, model: reading 2.4 times
/// as fast).
constexpr std::int64_t bounce = 256 * kib;
/// A rank's own writes behind hidden ones (write_behind.hpp): HDF5's and PnetCDF's headers are from 8 bytes
/// to some 100 KiB; a longer write is data, and its program waits for it as it did.
constexpr std::int64_t most_behind = 1 * mib, most_behind_together = 16 * mib;
/// The longest run of joined pieces that the mailbox's leader reads at once, through a buffer.
constexpr std::int64_t most_read_run = 1 * mib;
/// Calls of one piece a rank in a row until its ranks run ahead, at most, however often they had to stop
/// (ahead.hpp): a request of many fine pieces that a rank carries out alone costs as much as 10 of its calls
/// by the shuffle.
constexpr std::int64_t most_calls_before_ahead = 1024;
/// I/O threads of an aggregator of a file with stripes: they sleep, one in each request.
constexpr int most_striped_threads = 64;
/// An access that takes so long, and so many times as long as the mean of the others, is told as late.
constexpr double late_s = 1.0, late_times = 10;
/// The range of the hint striping_unit, and of stripe sizes that storage is believed to have.
constexpr std::int64_t least_stripe = 4 * kib, most_stripe = 1024 * mib;
/// Lustre's own limit (LOV_MAX_STRIPE_COUNT).
constexpr int most_stripes = 2000;
}  // namespace policy_limits

/// Memory of devices (device_memory.cpp, shuffle.cpp): an H200's, by `hakobi bench device`.
namespace device_policy {
/// Shorter runs are packed on the device, which then copies them as one: an H200's copies to page-locked
/// memory, of every third run of 8 bytes 6.1 GB/s as they are, 26.7 on the device and 53.8 from there; of 32
/// bytes 24.1, 105 and 53.8; of 64 bytes 44.5, which is as much as both together. The other way the same.
constexpr std::int64_t short_run = 64;
/// Device memory for that: a collective buffer's part at a time.
constexpr std::int64_t scratch = 4 << 20;
/// Collective buffers that a rank has copies under way to: the device has the next ones while the first are
/// waited for.
constexpr std::size_t most_copied_parts = 4;
}  // namespace device_policy

}  // namespace hakobi::io
