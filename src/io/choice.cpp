#include "io/choice.hpp"

#include <algorithm>

#include "io/policy.hpp"

namespace hakobi::io {
namespace {

/// Whether a rank's requests of at most `size_bytes` are so short that the shuffle's stages have nothing to
/// overlap with.
bool is_short(std::int64_t size_bytes, std::int64_t piece_bytes) {
    return size_bytes <= policy().short_request && piece_bytes >= policy().short_request_piece;
}

/// Every byte is wanted twice or more: two-phase I/O reads it once. Between nodes each rank would get it by
/// messages of its own, and their caches have it after the first.
bool is_wanted_by_several(const FileSetting& setting, const Facts& facts) {
    const RequestTotals& totals = facts.totals;
    return setting.is_one_node && !facts.is_write &&
           totals.size_bytes / 2 >= totals.end_bytes - totals.begin_bytes;
}

struct PathAndWhy {
    Path path;
    Why why;
};

PathAndWhy in_memory(const FileSetting& setting, const Facts& facts) {
    const RequestTotals& totals = facts.totals;
    const std::int64_t piece = totals.smallest_mean_piece_bytes;
    if (totals.num_ranks_with_data == 1) return {Path::own_pieces, Why::one_rank_has_data};
    if (piece >= (facts.is_write ? policy().direct_write_piece : policy().direct_read_piece))
        return {Path::own_pieces, Why::large_pieces_in_memory};
    if (setting.is_one_node && is_short(totals.largest_size_bytes, piece))
        return {Path::own_pieces, Why::little_in_memory};
    const std::int64_t part = (totals.end_bytes - totals.begin_bytes) / policy().least_sparse_part;
    if (piece >= policy().sparse_piece && totals.size_bytes <= part)
        return {Path::own_pieces, Why::far_apart_in_memory};
    return {Path::two_phase, Why::fine_pieces};
}

/// Whether the call leaves its accesses behind, whatever the pieces are. An elective one does not where
/// nobody would wait for them anyway.
bool is_hidden_now(const Facts& facts) {
    return facts.is_hidden && !(facts.is_elective && facts.totals.service == Service::from_memory);
}

// Few accesses, or storage that does not make each of them wait. They are made at once: hidden output does
// not wait for them.
bool are_mailboxes_served(const Facts& facts) {
    const bool waits_for_each = facts.is_write && facts.totals.service != Service::from_memory;
    return facts.totals.error_code == 0 && facts.totals.size_bytes > 0 && facts.are_all_in_mailboxes &&
           !facts.totals.any.has_device_memory &&
           (!waits_for_each ||
            (!is_hidden_now(facts) && facts.num_written_runs <= policy().most_waiting_runs));
}

// The first rule that holds decides.
PathAndWhy path_of(const FileSetting& setting, const Facts& facts) {
    const RequestTotals& totals = facts.totals;
    if (totals.error_code != 0 || totals.size_bytes == 0) return {Path::nothing, Why::no_data};
    if (facts.meets_hidden) return {Path::settle, Why::meets_hidden};
    if (totals.any.has_device_memory) return {Path::two_phase, Why::device_memory};
    if (setting.has_limit) return {Path::two_phase, Why::has_limit};
    if (are_mailboxes_served(facts)) return {Path::mailbox, Why::fits_mailboxes};
    if (facts.is_write && setting.shares_blocks) return {Path::two_phase, Why::shares_blocks};
    if (setting.shuffle == ShuffleHint::never) return {Path::own_pieces, Why::hint_never};
    if (setting.shuffle == ShuffleHint::always) return {Path::two_phase, Why::hint_always};
    if (is_hidden_now(facts)) return {Path::two_phase, Why::hidden};
    if (totals.service != Service::from_memory && is_wanted_by_several(setting, facts))
        return {Path::two_phase, Why::wanted_by_several};
    if (totals.smallest_mean_piece_bytes >= setting.large_piece_bytes)
        return {Path::own_pieces, Why::large_pieces};
    if (totals.service == Service::from_memory) return in_memory(setting, facts);
    if (totals.service == Service::unknown) return {Path::two_phase, Why::fine_pieces};
    // The ranks run ahead from the next call on, and this one can go the same way.
    if (facts.is_ahead_granted) return {Path::own_pieces, Why::few_wait};
    return {Path::two_phase, Why::waits};
}

}  // namespace

std::int64_t large_piece_bytes(std::int64_t striping_unit_bytes, std::int64_t cb_bytes) {
    return std::min(cb_bytes, std::max<std::int64_t>(policy().large_piece, 2 * striping_unit_bytes));
}

std::int64_t most_cycle_bytes(const RequestTotals& totals) {
    if (totals.service == Service::from_memory) return policy().cached_cycle;
    // An access reads a cycle from its first piece to its last.
    if (totals.joined_bytes > 0 && totals.joined_bytes <= (totals.end_bytes - totals.begin_bytes) / 2)
        return policy().requested_gap;
    return 0;
}

const char* text_of(Why why) {
    switch (why) {
        case Why::no_data:
            return "no rank has any data";
        case Why::device_memory:
            return "values of a device go through buffers of the host, which it copies to or from";
        case Why::fits_mailboxes:
            return "every rank has little";
        case Why::shares_blocks:
            return "nodes may not write to one block of the file at once";
        case Why::has_limit:
            return "hakobi_storage_timeout_s limits an access, which then must not be to the program's own "
                   "memory";
        case Why::hint_never:
            return "hakobi_shuffle=never";
        case Why::hint_always:
            return "hakobi_shuffle=always";
        case Why::hidden:
            return "hidden output does not wait for the storage";
        case Why::meets_hidden:
            return "hidden writes to the same bytes come first";
        case Why::one_rank_has_data:
            return "one rank alone has data, and the storage serves it from memory";
        case Why::wanted_by_several:
            return "several ranks want the same bytes, and the storage does not serve them from memory";
        case Why::large_pieces:
            return "every rank's pieces are large for any storage";
        case Why::large_pieces_in_memory:
            return "the storage serves from memory and the pieces are large";
        case Why::little_in_memory:
            return "the storage serves from memory and every rank has little";
        case Why::far_apart_in_memory:
            return "the storage serves from memory and the pieces are far apart";
        case Why::few_wait:
            return "the storage makes requests wait, and few ranks have one piece each";
        case Why::waits:
            return "the storage makes requests wait";
        case Why::fine_pieces:
            return "the pieces are fine";
        case Why::only_rank:
            return "the only rank has one short piece";
        case Why::runs_ahead:
            return "every rank has one piece, as in the calls before";
    }
    return "";
}

Choice choose(const FileSetting& setting, const Facts& facts) {
    const auto [path, why] = path_of(setting, facts);
    // Two-phase writes lock the range; of ranks with their own pieces no other may write meanwhile.
    const bool is_safe = path == Path::two_phase || facts.totals.num_ranks_with_data == 1;
    return {path, why, facts.totals.service != Service::from_memory,
            setting.may_fill_holes && !facts.totals.any.leaves_holes && is_safe};
}

bool may_run_ahead(const FileSetting& setting, const Facts& facts) {
    return setting.has_own_errors && !setting.has_limit && setting.num_ranks > 1 && !is_hidden_now(facts) &&
           !facts.follows_hidden && setting.shuffle == ShuffleHint::automatic && facts.has_one_piece_a_rank;
}

AheadTerms terms_after(const FileSetting& setting, const Facts& facts) {
    const RequestTotals& totals = facts.totals;
    if (!may_run_ahead(setting, facts) || totals.error_code != 0 || totals.size_bytes == 0) return {};
    if (totals.any.has_device_memory) return {};
    if (totals.service == Service::from_memory) return {.is_granted = true};
    const bool is_waiting = totals.service == Service::waits;
    if (is_wanted_by_several(setting, facts)) return {};
    if (totals.smallest_mean_piece_bytes >= setting.large_piece_bytes)
        return {.is_granted = true, .is_costly_alone = is_waiting, .least_bytes = setting.large_piece_bytes};
    // So few have no more accesses in flight than an aggregator has, if each makes one. Sectors that two
    // ranks share need the aggregator, and what several read is read once by it.
    const bool is_apart = totals.size_bytes <= totals.end_bytes - totals.begin_bytes;
    if ((is_waiting || facts.has_waited) && is_apart && !setting.is_direct_io &&
        setting.num_ranks <= policy().most_waiting_ranks && totals.largest_size_bytes <= setting.cb_bytes)
        return {.is_granted = true,
                .is_costly_alone = true,
                .most_bytes = is_waiting ? setting.cb_bytes : policy().tried_piece - 1};
    // Nobody has tried the storage with more, and it did not make these wait.
    if (are_mailboxes_served(facts) && totals.service == Service::unknown && !facts.has_waited)
        return {.is_granted = true, .most_bytes = policy().tried_piece - 1};
    return {};
}

Way choose_own(const FileSetting& setting, const OwnRequest& own, bool is_in_flight) {
    // One chunk alone has nothing to overlap with.
    if (is_in_flight && own.is_ordered && (own.left_bytes > setting.cb_bytes || own.num_pieces > 1))
        return Way::in_flight;
    if (own.service != Service::from_memory) return Way::in_line;
    const bool is_sieved = own.is_ordered && !setting.is_direct_io && own.num_pieces > 1 &&
                           own.size_bytes / own.num_pieces < policy().direct_read_piece;
    return is_sieved ? Way::sieve : Way::in_line;
}

bool is_trial_wanted(const FileSetting& setting, const OwnRequest& own, bool is_hidden) {
    return own.service == Service::unknown && own.is_ordered && own.size_bytes > 0 &&
           setting.shuffle != ShuffleHint::always && !is_hidden && !setting.shares_blocks &&
           !setting.is_striped && !setting.has_limit &&
           own.size_bytes / own.num_pieces >= policy().tried_piece;
}

}  // namespace hakobi::io
