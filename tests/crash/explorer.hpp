#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "disk.hpp"
#include "losses.hpp"
#include "protocol.hpp"

namespace hakobi::test {

inline constexpr std::uint64_t one_in = 4;  ///< states, without time for all
[[nodiscard]] std::string joined(const std::set<std::int64_t>& steps);

/// The disk that a crash has left, and the promises made before it.
struct State {
    Disk disk;
    std::set<std::int64_t> seen;      ///< steps that a reader has seen whole
    std::set<std::int64_t> stored;    ///< that Input::open would have shown, had it come before
    std::set<std::int64_t> returned;  ///< whose end_step has returned
    bool is_closed = false;           ///< and the run's close
    bool is_replaced = false;  ///< by a run that removes the steps: none of the above is promised any more
    bool is_gathered = false;  ///< which completes steps behind a gap
    bool has_lost = false;     ///< what storage had not: without `sync` files may be torn
    std::int64_t first_alone = 1 << 20;  ///< steps from here on are one rank's
    std::string words;                   ///< of openers that were killed, too
    std::string story;                   ///< how it came about
};

/// Tries states of one protocol, in a folder of its own; all local. It skips states that it has tried, and
/// those that are another rank's.
class Explorer {
  public:
    struct Limits {
        std::size_t states = 100;  ///< of losses, of one protocol
        std::size_t nested = 4;    ///< points of an opener's operations at which it is killed; 0: none
        bool is_thorough = false;  ///< every opener on every state
    };
    struct Counts {
        std::int64_t states = 0, opened = 0, nested = 0, orders = 0, losses = 0, mishaps = 0, together = 0,
                     looks = 0, skipped = 0;
    };

    /// `home`: the root that a disk's texts name.
    Explorer(const Protocol& protocol, std::string root, std::string home, int num_ranks, int rank,
             Limits limits);
    ~Explorer();

    /// All that may be left of a run with these operations.
    void explore(const Disk& start, const std::vector<Operation>& operations);
    /// Its prefixes alone; `story` is what has happened to it.
    void explore_prefixes(const Disk& start, const std::vector<Operation>& operations,
                          const std::string& story);
    /// A sample of those that `explore` had on rank 0 is gone on with by all ranks. Collective.
    void explore_together(const Comm& comm);
    /// One state, with every opener.
    void try_state(const State& state, int depth);

    [[nodiscard]] const Counts& counts() const { return counts_; }
    [[nodiscard]] const std::vector<std::string>& violations() const { return violations_; }

  private:
    /// Tries each prefix of the operations, in the order in which they happened; returns the promises at
    /// each.
    std::vector<State> try_prefixes(const Disk& start, const std::vector<Operation>& operations,
                                    const std::string& story);
    /// Other orders of the ranks between two agreements.
    void try_orders(const Disk& start, const std::vector<Operation>& operations);
    /// Power losses.
    void try_losses(const Disk& start, const std::vector<Operation>& operations,
                    const std::vector<State>& promised);
    /// Power losses after an opener, which a run with `sync` was killed before.
    void try_losses_after_openers(const Disk& start, const std::vector<Operation>& operations,
                                  const std::vector<State>& promised);
    [[nodiscard]] bool is_skipped(const State& state, const Opener& opener, int depth) const;
    void try_opener(const State& state, const Opener& opener, int depth);
    /// An opener came, and how it went.
    struct Visit {
        Disk disk;
        std::vector<Operation> operations;
        Error error{ErrorCode::ok, ""};
        Opened opened;
        bool is_by_all = false;        ///< ranks of the run
        bool meets_other_run = false;  ///< which has the steps all at once
    };
    Visit visit(const State& state, const Opener& opener);
    /// Holds what it left against what was promised; returns that.
    State judge(const State& state, const Opener& opener, const Visit& visit);
    void hold_gaps(const State& before, const State& after, const Opener& opener, const Look& found);
    void hold_steps(const State& before, const State& after, const Opener& opener, const Look& found);
    void try_second(const State& after, const Opener& opener);
    void try_killed(const State& state, const Opener& opener, const Visit& visit, int depth);
    /// The answer to each change of objects that the opener makes is lost in turn.
    void try_lost_answers(const State& state, const Opener& opener, int depth);
    /// A put that was under way arrives when an opener is there, before each of its accesses of the bucket.
    void try_late(const State& state, const Operation& put);

    /// Makes it the folder's content.
    Disk make(const Disk& disk);
    const Look& look(const Disk& disk, std::int64_t first_alone);
    /// The steps that Input::open completes there.
    const std::set<std::int64_t>& completed(const Disk& disk, std::int64_t first_alone);
    std::vector<Operation> record(const Opener& opener, const std::string& root, const Comm& comm,
                                  Error& error, Opened& opened);
    [[nodiscard]] bool is_mine(const State& state) const;
    /// Whether a state is to keep what was promised.
    [[nodiscard]] bool is_sound(const State& state) const;
    /// Overviews with their final names that are not whole.
    [[nodiscard]] std::string torn_overviews(const Disk& disk) const;
    void hold(const State& state, const std::string& wrong, const Disk& disk);

    Protocol protocol_;
    std::string root_, home_;
    int num_ranks_, rank_, num_explorers_;
    Limits limits_;
    Comm alone_;
    Log log_;
    std::mt19937_64 random_;         ///< of this rank's own states
    std::mt19937_64 random_losses_;  ///< all ranks draw the same states, of which each has its own
    std::vector<State> together_;
    std::set<std::string> overviews_;  ///< names, sizes and digests, as the run makes them
    std::string story_;                ///< of the state that is tried
    Disk made_;                        ///< that an opener is about to find
    bool mishap_came_ = false;
    bool is_brief_ = false;  ///< nothing further happens to openers
    std::set<std::uint64_t> tried_;
    std::map<std::uint64_t, Look> looks_;
    std::map<std::uint64_t, std::set<std::int64_t>> completed_;
    Counts counts_;
    std::vector<std::string> violations_;
};

}  // namespace hakobi::test
