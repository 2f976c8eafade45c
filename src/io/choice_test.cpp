// The path that a call takes: a row for each case of decisions 4, 5, 6 and 21, and of what hints and storage
// ask for.
#include "io/choice.hpp"

#include <gtest/gtest.h>

#include <string>

#include "units.hpp"

namespace hakobi::io {
namespace {

/// Eight ranks of one node that ask for 1 GiB in pieces of 64 KiB, of which the file has nothing between.
Facts facts(Service service, bool is_write) {
    Facts facts{.is_write = is_write};
    facts.totals.end_bytes = facts.totals.size_bytes = gib;
    facts.totals.largest_size_bytes = gib / 8;
    facts.totals.num_ranks_with_data = 8;
    facts.totals.smallest_mean_piece_bytes = 64 * kib;
    facts.totals.service = service;
    return facts;
}
Facts with_pieces(Service service, bool is_write, std::int64_t piece_bytes) {
    Facts result = facts(service, is_write);
    result.totals.smallest_mean_piece_bytes = piece_bytes;
    return result;
}
Facts short_requests(bool is_write, std::int64_t bytes_a_rank, std::int64_t piece_bytes) {
    Facts result = with_pieces(Service::from_memory, is_write, piece_bytes);
    result.totals.largest_size_bytes = bytes_a_rank;
    result.totals.end_bytes = result.totals.size_bytes = 8 * bytes_a_rank;
    return result;
}
Facts of_one_rank(Service service) {
    Facts result = with_pieces(service, true, 512);
    result.totals.num_ranks_with_data = 1;
    return result;
}
Facts apart(std::int64_t piece_bytes, std::int64_t range_bytes) {
    Facts result = with_pieces(Service::from_memory, true, piece_bytes);
    result.totals.size_bytes = 64 * mib;
    result.totals.begin_bytes = 4096;
    result.totals.end_bytes = 4096 + range_bytes;
    return result;
}
Facts mailboxes(Service service, bool is_write, std::int64_t num_written_runs) {
    Facts result = short_requests(is_write, 2 * kib, 64);
    result.totals.service = service;
    result.are_all_in_mailboxes = true;
    result.num_written_runs = num_written_runs;
    return result;
}
Facts wanted_by_all(Service service) {
    Facts result = with_pieces(service, false, gib);
    result.totals.largest_size_bytes = gib;
    result.totals.size_bytes = 8 * gib;
    return result;
}
Facts hidden(Facts of) {
    of.is_hidden = true;
    return of;
}
Facts elective(Facts of) {
    of.is_elective = true;
    return hidden(of);
}
Facts meeting_hidden(Facts of) {
    of.follows_hidden = of.meets_hidden = true;
    return elective(of);
}
Facts granted(Facts of) {
    of.is_ahead_granted = true;
    return of;
}
Facts on_device(Facts of) {
    of.totals.any.has_device_memory = true;
    return of;
}
Facts failed(Facts of) {
    of.totals.error_code = 1;
    return of;
}
Facts without_data() {
    Facts result;
    result.totals.service = Service::from_memory;
    return result;
}

const FileSetting usual{.num_ranks = 8};
const FileSetting never{.num_ranks = 8, .shuffle = ShuffleHint::never};
const FileSetting always{.num_ranks = 8, .shuffle = ShuffleHint::always};
const FileSetting two_nodes{.num_ranks = 8, .is_one_node = false};
const FileSetting limited{.num_ranks = 8, .has_own_errors = true, .has_limit = true};
const FileSetting striped{.num_ranks = 8, .is_striped = true};
const FileSetting shared_blocks{.num_ranks = 8, .is_one_node = false, .shares_blocks = true};

constexpr auto unknown = Service::unknown, memory = Service::from_memory, waits = Service::waits;
constexpr bool write = true, read = false;

struct Case {
    const char* name;
    FileSetting setting;
    Facts facts;
    Path path;
    Why why;
};
void PrintTo(const Case& one, std::ostream* os) {
    *os << one.name;
}

const Case cases[] = {
    {"nobody_has_data", usual, without_data(), Path::nothing, Why::no_data},
    {"nobody_has_data_nor_wants_the_shuffle", never, without_data(), Path::nothing, Why::no_data},
    {"some_rank_has_failed", usual, failed(facts(memory, write)), Path::nothing, Why::no_data},
    // Decision 4: pieces in memory.
    {"writing_24_KiB_loses_to_the_lock", usual, with_pieces(memory, write, 24 * kib), Path::two_phase,
     Why::fine_pieces},
    {"writing_255_KiB_loses_to_the_lock", usual, with_pieces(memory, write, 256 * kib - 1), Path::two_phase,
     Why::fine_pieces},
    {"writing_256_KiB", usual, with_pieces(memory, write, 256 * kib), Path::own_pieces,
     Why::large_pieces_in_memory},
    {"reading_8_KiB", usual, with_pieces(memory, read, 8 * kib), Path::own_pieces,
     Why::large_pieces_in_memory},
    {"reading_less", usual, with_pieces(memory, read, 8 * kib - 1), Path::two_phase, Why::fine_pieces},
    // Decision 4: any storage.
    {"a_mebibyte_gains_nothing_by_the_shuffle", usual, with_pieces(waits, write, mib), Path::own_pieces,
     Why::large_pieces},
    {"also_on_unknown_storage", usual, with_pieces(unknown, read, mib), Path::own_pieces, Why::large_pieces},
    {"what_all_want_is_read_once", usual, wanted_by_all(waits), Path::two_phase, Why::wanted_by_several},
    {"also_from_unknown_storage", usual, wanted_by_all(unknown), Path::two_phase, Why::wanted_by_several},
    {"not_from_memory", usual, wanted_by_all(memory), Path::own_pieces, Why::large_pieces},
    {"nor_between_nodes", two_nodes, wanted_by_all(waits), Path::own_pieces, Why::large_pieces},
    {"less_than_that_does", usual, with_pieces(waits, write, mib - 1), Path::two_phase, Why::waits},
    {"unknown_storage", usual, facts(unknown, write), Path::two_phase, Why::fine_pieces},
    // Decision 4: every rank has little.
    {"writing_64_pieces_of_4_KiB", usual, short_requests(write, 256 * kib, 4 * kib), Path::own_pieces,
     Why::little_in_memory},
    {"reading_64_of_them", usual, short_requests(read, 256 * kib, 4 * kib), Path::own_pieces,
     Why::little_in_memory},
    {"one_rank_has_more", usual, short_requests(read, 256 * kib + 1, 4 * kib), Path::two_phase,
     Why::fine_pieces},
    {"little_in_fine_pieces", usual, short_requests(read, 128 * kib, 2 * kib), Path::two_phase,
     Why::fine_pieces},
    {"little_of_two_nodes_that_would_share_pages", two_nodes, short_requests(write, 128 * kib, 4 * kib),
     Path::two_phase, Why::fine_pieces},
    // Decision 4: far apart.
    {"a_sixteenth_of_the_range", usual, apart(4 * kib, 16 * 64 * mib), Path::own_pieces,
     Why::far_apart_in_memory},
    {"more_than_a_sixteenth", usual, apart(4 * kib, 16 * 64 * mib - 1), Path::two_phase, Why::fine_pieces},
    {"far_apart_but_fine", usual, apart(4 * kib - 1, 16 * 64 * mib), Path::two_phase, Why::fine_pieces},
    // Decision 21.
    {"one_rank_alone_in_memory", usual, of_one_rank(memory), Path::own_pieces, Why::one_rank_has_data},
    {"one_rank_alone_that_waits", usual, of_one_rank(waits), Path::two_phase, Why::waits},
    {"few_ranks_that_run_ahead_wait_side_by_side", usual, granted(facts(waits, write)), Path::own_pieces,
     Why::few_wait},
    {"from_memory_running_ahead_changes_nothing", usual, granted(facts(memory, write)), Path::two_phase,
     Why::fine_pieces},
    // Mailboxes.
    {"little_is_served_by_the_leader", usual, mailboxes(memory, write, 64), Path::mailbox,
     Why::fits_mailboxes},
    {"few_runs_may_wait", usual, mailboxes(waits, write, 4), Path::mailbox, Why::fits_mailboxes},
    {"many_runs_may_not", usual, mailboxes(waits, write, 5), Path::two_phase, Why::waits},
    {"nor_on_unknown_storage", usual, mailboxes(unknown, write, 5), Path::two_phase, Why::fine_pieces},
    {"reads_join", usual, mailboxes(waits, read, 0), Path::mailbox, Why::fits_mailboxes},
    {"hidden_little_does_not_wait", usual, hidden(mailboxes(waits, write, 1)), Path::two_phase, Why::hidden},
    {"hidden_little", usual, hidden(mailboxes(memory, write, 1)), Path::mailbox, Why::fits_mailboxes},
    // Decision 93.
    {"elective_little_does_not_wait", usual, elective(mailboxes(waits, write, 1)), Path::two_phase,
     Why::hidden},
    {"elective_pieces_of_any_size", usual, elective(with_pieces(waits, write, gib)), Path::two_phase,
     Why::hidden},
    {"elective_on_unknown_storage", usual, elective(with_pieces(unknown, write, gib)), Path::two_phase,
     Why::hidden},
    {"elective_in_memory_is_not_hidden", usual, elective(with_pieces(memory, write, gib)), Path::own_pieces,
     Why::large_pieces},
    {"elective_little_in_memory", usual, elective(mailboxes(memory, write, 1)), Path::mailbox,
     Why::fits_mailboxes},
    {"the_same_bytes_come_first", usual, meeting_hidden(with_pieces(waits, write, gib)), Path::settle,
     Why::meets_hidden},
    {"the_same_bytes_come_first_also_in_memory", usual, meeting_hidden(mailboxes(memory, write, 1)),
     Path::settle, Why::meets_hidden},
    {"an_error_comes_before_the_same_bytes", usual, failed(meeting_hidden(facts(waits, write))),
     Path::nothing, Why::no_data},
    // Hints and storage.
    {"never", never, facts(waits, write), Path::own_pieces, Why::hint_never},
    {"always", always, with_pieces(memory, read, gib), Path::two_phase, Why::hint_always},
    {"hidden_output_does_not_wait", usual, hidden(with_pieces(memory, write, gib)), Path::two_phase,
     Why::hidden},
    {"hidden_output_without_a_shuffle", never, hidden(facts(memory, write)), Path::own_pieces,
     Why::hint_never},
    {"a_limit_needs_buffers_for_large_pieces", limited, with_pieces(memory, write, gib), Path::two_phase,
     Why::has_limit},
    {"a_limit_needs_buffers_reading", limited, with_pieces(memory, read, gib), Path::two_phase,
     Why::has_limit},
    // The processor must not touch memory of a device, on any path.
    {"a_device_needs_buffers", usual, on_device(with_pieces(memory, write, gib)), Path::two_phase,
     Why::device_memory},
    {"a_device_needs_buffers_reading", never, on_device(with_pieces(waits, read, gib)), Path::two_phase,
     Why::device_memory},
    {"a_device_needs_buffers_for_little", usual, on_device(mailboxes(memory, write, 1)), Path::two_phase,
     Why::device_memory},
    {"a_device_needs_buffers_of_one_rank", usual, on_device(of_one_rank(memory)), Path::two_phase,
     Why::device_memory},
    {"a_device_does_not_run_ahead", usual, on_device(granted(facts(waits, write))), Path::two_phase,
     Why::device_memory},
    {"nodes_may_not_share_blocks", shared_blocks, with_pieces(memory, write, gib), Path::two_phase,
     Why::shares_blocks},
    {"they_may_read_them", shared_blocks, with_pieces(memory, read, gib), Path::own_pieces,
     Why::large_pieces},
};

class ChoiceTest : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(All, ChoiceTest, testing::ValuesIn(cases),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_P(ChoiceTest, GoesItsWayForItsReason) {
    const Choice choice = choose(GetParam().setting, GetParam().facts);
    EXPECT_EQ(choice.path, GetParam().path);
    EXPECT_STREQ(text_of(choice.why), text_of(GetParam().why));
}

TEST(Choice, FillsHolesWhereNobodyElseWritesMeanwhile) {
    EXPECT_TRUE(choose(usual, facts(waits, write)).may_fill_holes) << "under the range's lock";
    EXPECT_TRUE(choose(usual, of_one_rank(memory)).may_fill_holes);
    EXPECT_FALSE(choose(usual, with_pieces(memory, write, mib)).may_fill_holes) << "others write, too";
    Facts left = facts(waits, write);
    left.totals.any.leaves_holes = true;
    EXPECT_FALSE(choose(usual, left).may_fill_holes);
    EXPECT_FALSE(choose({.may_fill_holes = false}, facts(waits, write)).may_fill_holes);
}

TEST(Choice, APieceIsLargeFromAMebibyteAndTwoStripesOnButFitsABuffer) {
    EXPECT_EQ(large_piece_bytes(4096, 4 * mib), mib);
    EXPECT_EQ(large_piece_bytes(mib, 4 * mib), 2 * mib);
    EXPECT_EQ(large_piece_bytes(16 * mib, 4 * mib), 4 * mib);
    EXPECT_EQ(large_piece_bytes(4096, 64 * kib), 64 * kib);
}

// Decision 21.
class Terms : public testing::Test {
  protected:
    FileSetting setting_{.num_ranks = 8, .has_own_errors = true};
    Facts facts_ = [] {
        Facts of = facts(memory, write);
        of.has_one_piece_a_rank = true;
        return of;
    }();
    [[nodiscard]] AheadTerms terms(bool has_waited = false) const {
        Facts after = facts_;
        after.has_waited = has_waited;
        return terms_after(setting_, after);
    }
    [[nodiscard]] bool is_granted(bool has_waited = false) const { return terms(has_waited).is_granted; }
};

TEST_F(Terms, OnePieceARankFromMemoryOfAnySize) {
    EXPECT_TRUE(is_granted());
    EXPECT_EQ(terms().least_bytes, 0);
    EXPECT_FALSE(terms().is_costly_alone);
}

TEST_F(Terms, NotForFinePiecesHiddenCallsErrorsOneRankOrAHint) {
    facts_.has_one_piece_a_rank = false;
    EXPECT_FALSE(is_granted());
    facts_.has_one_piece_a_rank = true;
    EXPECT_FALSE(terms_after(setting_, hidden(facts_)).is_granted);
    EXPECT_FALSE(terms_after(setting_, failed(facts_)).is_granted);
    for (FileSetting other :
         {FileSetting{.num_ranks = 1, .has_own_errors = true}, FileSetting{.num_ranks = 8},
          FileSetting{.num_ranks = 8, .shuffle = ShuffleHint::always, .has_own_errors = true}})
        EXPECT_FALSE(terms_after(other, facts_).is_granted);
}

TEST_F(Terms, ElectiveCallsRunAheadWhereNothingIsHidden) {
    EXPECT_TRUE(terms_after(setting_, elective(facts_)).is_granted);
    facts_.follows_hidden = true;
    EXPECT_FALSE(terms_after(setting_, elective(facts_)).is_granted);
    facts_.follows_hidden = false;
    facts_.totals.service = waits;
    facts_.totals.smallest_mean_piece_bytes = gib;
    EXPECT_FALSE(terms_after(setting_, elective(facts_)).is_granted);
}

TEST_F(Terms, LargePiecesOnAnyStorage) {
    facts_.totals.service = waits;
    facts_.totals.smallest_mean_piece_bytes = mib;
    setting_.num_ranks = 1000;
    EXPECT_TRUE(is_granted());
    EXPECT_EQ(terms().least_bytes, mib);
    EXPECT_TRUE(terms().is_costly_alone);
}

TEST_F(Terms, NotForLargePiecesThatAllWant) {
    facts_ = wanted_by_all(waits);
    facts_.has_one_piece_a_rank = true;
    EXPECT_FALSE(is_granted());
    setting_.is_one_node = false;
    EXPECT_TRUE(is_granted());
}

TEST_F(Terms, FewRanksWaitSideBySideUnlessTheyShareBytes) {
    facts_.totals.service = waits;
    facts_.totals.largest_size_bytes = 64 * kib;
    EXPECT_TRUE(is_granted());
    EXPECT_EQ(terms().most_bytes, setting_.cb_bytes);
    setting_.num_ranks = 9;
    EXPECT_FALSE(is_granted()) << "more than an aggregator has in flight";
    setting_.num_ranks = 8;
    setting_.is_direct_io = true;
    EXPECT_FALSE(is_granted()) << "two ranks would write one sector";
    setting_.is_direct_io = false;
    facts_.totals.end_bytes = facts_.totals.size_bytes - 1;
    EXPECT_FALSE(is_granted()) << "an aggregator reads it once";
}

TEST_F(Terms, ShortPiecesOfUnknownStorageOnceTheMailboxesWereServed) {
    facts_.totals.service = unknown;
    EXPECT_FALSE(is_granted()) << "nothing was tried";
    facts_.are_all_in_mailboxes = true;
    facts_.num_written_runs = 1;
    EXPECT_TRUE(is_granted());
    EXPECT_FALSE(terms().is_costly_alone);
    facts_.totals.largest_size_bytes = 64 * kib;
    EXPECT_TRUE(is_granted(true));
    EXPECT_TRUE(terms(true).is_costly_alone) << "they waited";
    EXPECT_LT(terms(true).most_bytes, 4 * kib);
}

TEST(Choice, CyclesAreShortWhereWhatLiesBetweenPiecesWouldBeMoreThanHalf) {
    RequestTotals totals{.begin_bytes = 0, .end_bytes = 100 * mib, .size_bytes = mib, .service = waits};
    EXPECT_EQ(most_cycle_bytes(totals), 0);  // nobody says what gaps cost
    totals.joined_bytes = 51 * mib;
    EXPECT_EQ(most_cycle_bytes(totals), 0);
    totals.joined_bytes = 50 * mib;
    EXPECT_EQ(most_cycle_bytes(totals), mib / 4);
    totals.service = memory;
    EXPECT_EQ(most_cycle_bytes(totals), mib);
}

TEST(OwnChoice, OverlapsWhereItWaitsAndSievesFinePiecesInMemory) {
    OwnRequest own{.is_write = true, .size_bytes = 64 * mib, .left_bytes = 64 * mib, .num_pieces = 1};
    EXPECT_EQ(choose_own(usual, own, true), Way::in_flight);
    own.size_bytes = own.left_bytes = usual.cb_bytes;
    EXPECT_EQ(choose_own(usual, own, true), Way::in_line) << "one chunk has nothing to overlap with";
    own.num_pieces = 2;
    EXPECT_EQ(choose_own(usual, own, true), Way::in_flight);
    own.is_ordered = false;
    EXPECT_EQ(choose_own(usual, own, true), Way::in_line) << "of two that overlap the later one wins";
    own.is_ordered = true;
    own.service = memory;
    EXPECT_EQ(choose_own(usual, own, false), Way::in_line);
    own.num_pieces = 4096;
    EXPECT_EQ(choose_own(usual, own, false), Way::sieve);
    EXPECT_EQ(choose_own({.is_direct_io = true}, own, false), Way::in_line);
    own.is_ordered = false;
    EXPECT_EQ(choose_own(usual, own, false), Way::in_line);
}

TEST(Trial, IsMadeOnceOfUnknownStorageWhereItDecides) {
    OwnRequest own{.size_bytes = mib, .num_pieces = 256};
    EXPECT_TRUE(is_trial_wanted(usual, own, false));
    EXPECT_FALSE(is_trial_wanted(usual, own, true)) << "hidden calls go one way";
    EXPECT_FALSE(is_trial_wanted(always, own, false));
    EXPECT_FALSE(is_trial_wanted(shared_blocks, own, false));
    EXPECT_FALSE(is_trial_wanted(limited, own, false)) << "an access to the program's memory";
    EXPECT_FALSE(is_trial_wanted(striped, own, false)) << "it would hold all up where a server stalls";
    own.num_pieces = 257;
    EXPECT_FALSE(is_trial_wanted(usual, own, false)) << "too fine to tell";
    own = {.size_bytes = mib, .num_pieces = 1, .service = waits};
    EXPECT_FALSE(is_trial_wanted(usual, own, false)) << "known";
    EXPECT_FALSE(is_trial_wanted(usual, OwnRequest{}, false)) << "nothing to try with";
}

}  // namespace
}  // namespace hakobi::io
