#pragma once

#include <cstdint>
#include <limits>

#include "io/summary.hpp"

namespace hakobi::io {

// Chooses the path of a collective call, here and nowhere else, from values, so that every rank decides
// alike. Pure. The thresholds and their sources are policy.hpp's.

/// The hint hakobi_shuffle.
enum class ShuffleHint { automatic, always, never };

/// The facts that hold for every call on one file, on all ranks.
struct FileSetting {
    int num_ranks = 1;
    bool is_one_node = true;
    ShuffleHint shuffle = ShuffleHint::automatic;
    bool may_fill_holes = true;   ///< hakobi_holes=auto, and every node can lock a range
    bool is_direct_io = false;    ///< O_DIRECT
    bool has_own_errors = false;  ///< EngineFile::has_own_errors
    bool shares_blocks =
        false;  ///< nodes may not write to one block of the file at once (storage/abilities.hpp)
    std::int64_t cb_bytes = 4 << 20;
    std::int64_t large_piece_bytes = 1 << 20;  ///< large_piece_bytes()
    bool is_striped =
        false;  ///< the file's stripes are known: storage that waits, whatever a first piece seems to show
    bool reads_by_request =
        false;  ///< each access is a request to a server far away, and each byte takes the link's time
    bool has_limit =
        false;  ///< hakobi_storage_timeout_s: only collective buffers can be left to an access that does not end
};

/// Pieces from which on no storage gains by the shuffle: 1 MiB, but two stripes at least, so that few stripes
/// have two writers, and no more than a collective buffer, the shuffle's own largest access.
[[nodiscard]] std::int64_t large_piece_bytes(std::int64_t striping_unit_bytes, std::int64_t cb_bytes);

/// The longest cycle that a call should have where nobody asks for another; 0: a collective buffer's length.
[[nodiscard]] std::int64_t most_cycle_bytes(const RequestTotals& totals);

/// The facts that the ranks know of a call when they meet. Without mailboxes (several nodes) the last four
/// stay as they are.
struct Facts {
    bool is_write = false;
    bool is_hidden = false;       ///< the caller does not wait for the storage
    bool is_elective = false;     ///< Request::elective
    bool follows_hidden = false;  ///< elective hidden writes of the file may be under way
    bool meets_hidden = false;    ///< some of them to this call's bytes
    RequestTotals totals;
    bool are_all_in_mailboxes = false;  ///< every rank's request, and nobody has an error
    std::int64_t num_written_runs = 0;  ///< writing: accesses that serving them takes
    bool has_one_piece_a_rank = false;  ///< or none
    bool is_ahead_granted = false;      ///< the ranks run ahead from the next call on (ahead.hpp)
    bool has_waited = false;  ///< the leader, serving the mailboxes on storage of which nothing was known
};

/// The path that all ranks take: nothing is left to do; the leader serves the mailboxes; each moves its own
/// pieces; two-phase I/O, whose first phase is the shuffle; hidden writes to the same bytes are waited for,
/// and the ranks meet again.
enum class Path : std::int64_t { nothing, mailbox, own_pieces, two_phase, settle };

/// Why a call goes its way; `text_of` has the words that HAKOBI_EXPLAIN=1 prints.
enum class Why : std::int64_t {
    no_data,
    device_memory,
    fits_mailboxes,
    shares_blocks,
    has_limit,
    hint_never,
    hint_always,
    hidden,
    meets_hidden,
    one_rank_has_data,
    wanted_by_several,
    large_pieces,
    large_pieces_in_memory,
    little_in_memory,
    far_apart_in_memory,
    few_wait,
    waits,
    fine_pieces,
    only_rank,
    runs_ahead,
};
[[nodiscard]] const char* text_of(Why why);

/// Plain data: the leader's travels in the node's shared memory.
struct Choice {
    Path path = Path::nothing;
    Why why = Why::no_data;
    bool is_in_flight = false;  ///< own pieces: several accesses under way, since the storage makes them wait
    bool may_fill_holes = false;  ///< holes may be read and written back under a lock
};
[[nodiscard]] Choice choose(const FileSetting& setting, const Facts& facts);

/// The requests that a rank may carry out without meeting the others (ahead.hpp): of one piece in the file,
/// so large; or of none.
struct AheadTerms {
    bool is_granted = false;
    bool is_costly_alone = false;  ///< fine pieces that a rank carries out alone: each waits for the storage
    std::int64_t least_bytes = 0, most_bytes = std::numeric_limits<std::int64_t>::max();
};
[[nodiscard]] bool may_run_ahead(const FileSetting& setting, const Facts& facts);
/// On which terms the ranks might run ahead after this call, which says nothing of how often they had to
/// stop.
[[nodiscard]] AheadTerms terms_after(const FileSetting& setting, const Facts& facts);

/// One rank's request, and what it knows of the storage, for the way in which it moves its own pieces.
struct OwnRequest {
    bool is_write = false;
    bool is_ordered = true;
    std::int64_t size_bytes = 0, left_bytes = 0;  ///< of the request, and of that not moved yet
    std::int64_t num_pieces = 0;
    Service service = Service::unknown;
};
/// How a rank moves its own pieces: several under way at once; one after the other; by data sieving. Pieces
/// in no order are moved one after the other: of two that overlap, the later one wins.
enum class Way { in_flight, in_line, sieve };
[[nodiscard]] Way choose_own(const FileSetting& setting, const OwnRequest& own, bool is_in_flight);

/// Whether a leader tries storage of which nothing is known with its first piece, while the others wait.
/// `own`: its request.
[[nodiscard]] bool is_trial_wanted(const FileSetting& setting, const OwnRequest& own, bool is_hidden);

}  // namespace hakobi::io
