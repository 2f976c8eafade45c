#include "explorer.hpp"

#include <algorithm>
#include <cstdio>
#include <iterator>

#include "base/checksum.hpp"
#include "bucket.hpp"
#include "overview/overview.hpp"

namespace hakobi::test {
namespace {

constexpr std::size_t most_violations = 8;
constexpr std::int64_t most_orders = 500;  // of more, a sample
constexpr std::uint64_t one_in_together = 8;
constexpr std::ptrdiff_t most_together = 100;
constexpr std::size_t most_losses_after_openers = 8;  // of one opener in one state

/// Without their folders.
std::vector<std::string> overviews_in(const Disk& disk) {
    std::vector<std::string> all;
    for (const std::string& line : disk.listing()) {
        if (line.find(std::string(overview::suffix) + " ") == std::string::npos) continue;
        all.push_back(line.substr(line.rfind('/') + 1));
    }
    return all;
}

}  // namespace

std::string joined(const std::set<std::int64_t>& steps) {
    std::string text;
    for (const std::int64_t step : steps) text += (text.empty() ? "" : ", ") + std::to_string(step);
    return text.empty() ? "none" : text;
}

Explorer::Explorer(const Protocol& protocol, std::string root, std::string home, int num_ranks, int rank,
                   Limits limits)
    : protocol_(protocol),
      root_(std::move(root)),
      home_(std::move(home)),
      num_ranks_(num_ranks),
      rank_(rank),
      num_explorers_(num_ranks),
      limits_(limits),
      alone_(Comm::duplicate(MPI_COMM_SELF)),
      random_(20261129),
      random_losses_(20261129) {
    fs::create_directories(root_);
}

Explorer::~Explorer() {
    alone_.free();
}

bool Explorer::is_sound(const State& state) const {
    return !state.has_lost || protocol_.is_synced;
}

bool Explorer::is_mine(const State& state) const {
    return static_cast<int>(state.disk.digest() % static_cast<std::uint64_t>(num_explorers_)) == rank_;
}

void Explorer::hold(const State& state, const std::string& wrong, const Disk& disk) {
    if (violations_.size() >= most_violations) return;
    std::string text = protocol_.name + ": " + wrong + "\n    state: " + state.story +
                       "\n    seen: " + joined(state.seen) + "; stored: " + joined(state.stored) +
                       "; returned: " + joined(state.returned);
    for (const std::string& line : disk.listing()) text += "\n      " + line;
    if (!state.words.empty()) text += "\n    said: " + state.words;
    // A night that is cut off has shown what it found.
    std::printf("violation: %s\n", text.c_str());
    std::fflush(stdout);
    violations_.push_back(std::move(text));
}

std::string Explorer::torn_overviews(const Disk& disk) const {
    std::string wrong;
    if (!protocol_.has_overview) return wrong;
    for (const std::string& line : overviews_in(disk))
        if (!overviews_.contains(line)) wrong += "an overview that is not whole: " + line + "; ";
    return wrong;
}

Disk Explorer::make(const Disk& disk) {
    for (const auto& entry : fs::directory_iterator(root_)) fs::remove_all(entry.path());
    Disk made = disk;
    made.make(root_, home_);
    serve_bucket(root_);
    return made;
}

void Explorer::try_state(const State& state, int depth) {
    const std::string promised_text = joined(state.seen) + "|" + joined(state.stored) + "|" +
                                      joined(state.returned) + "|" + (state.is_closed ? "closed" : "") +
                                      (state.is_replaced ? "replaced" : "") +
                                      (state.is_gathered ? "gathered" : "");
    const std::uint64_t key = state.disk.digest() ^ checksum_of(std::as_bytes(std::span(promised_text)));
    if (!tried_.insert(key).second) {
        ++counts_.skipped;
        return;
    }
    if (depth == 0 && rank_ == 0 && state.disk.digest() / 8192 % one_in_together == 0 &&
        std::ssize(together_) < most_together)
        together_.push_back(state);
    if (depth == 0 && !is_mine(state)) return;
    ++counts_.states;
    story_ = state.story;
    const Look found = look(state.disk, state.first_alone);
    if (is_sound(state) && !found.wrong.empty()) hold(state, "before any opener: " + found.wrong, state.disk);
    for (const Opener& opener : all_openers()) {
        if (is_skipped(state, opener, depth)) continue;
        State promised = state;
        // Steps shown now have been seen, by whoever looks now.
        promised.seen.insert(found.steps.begin(), found.steps.end());
        try_opener(promised, opener, depth);
    }
}

/// Without time for all: behind an opener that was killed only those that everybody uses, and a further step
/// after each fourth state.
bool Explorer::is_skipped(const State& state, const Opener& opener, int depth) const {
    if (opener.is_refused && depth > 0) return true;
    if (limits_.is_thorough) return false;
    if (opener.is_refused) return state.disk.digest() / 32 % one_in != 0;
    if (opener.goes_on) return depth > 0 || state.disk.digest() / 64 % one_in != 0;
    return depth > 0 && (opener.replaces || opener.name == "gather");
}

std::vector<State> Explorer::try_prefixes(const Disk& start, const std::vector<Operation>& operations,
                                          const std::string& story) {
    std::vector<State> all;
    State state{.disk = start, .seen = {}, .returned = {}, .words = {}, .story = story};
    all.push_back(state);
    for (const Operation& operation : operations) {
        if (operation.kind == Kind::ended) state.returned.insert(operation.offset);
        if (operation.kind == Kind::closed) state.is_closed = true;
        if (!is_brief_ && operation.kind == Kind::put && operation.path.starts_with(bucket_folder))
            try_late(state, operation);
        if (!is_note(operation.kind) && !state.disk.apply(operation))
            hold(state, "the recording does not fit: " + text_of(operation), state.disk);
        state.story =
            story + "killed behind operation " + std::to_string(all.size()) + ", " + text_of(operation);
        const Look& found = look(state.disk, state.first_alone);
        state.seen.insert(found.steps.begin(), found.steps.end());
        all.push_back(state);
        if (operation.kind != Kind::says && operation.kind != Kind::agreement) try_state(state, 0);
        const std::set<std::int64_t>& stored = completed(state.disk, state.first_alone);
        state.stored.insert(stored.begin(), stored.end());
    }
    return all;
}

void Explorer::try_orders(const Disk& start, const std::vector<Operation>& operations) {
    // Each rank's operations between two agreements.
    std::map<std::size_t, std::vector<std::vector<const Operation*>>> epochs;
    std::vector<std::size_t> epoch_of(static_cast<std::size_t>(num_ranks_), 0);
    for (const Operation& operation : operations) {
        const auto rank = static_cast<std::size_t>(operation.rank);
        if (operation.kind == Kind::agreement) ++epoch_of[rank];
        if (operation.kind == Kind::agreement || operation.kind == Kind::says) continue;
        auto& epoch = epochs[epoch_of[rank]];
        epoch.resize(static_cast<std::size_t>(num_ranks_));
        epoch[rank].push_back(&operation);
    }
    using Cut = std::vector<std::size_t>;  // how far each rank is
    State begin{.disk = start, .seen = {}, .returned = {}, .words = {}, .story = {}};
    constexpr std::size_t most_cuts = 2000;  // at once: of more the rest is skipped, and counted so
    for (const auto& [number, epoch] : epochs) {
        std::map<Cut, std::map<std::uint64_t, State>> front;
        front[Cut(epoch.size(), 0)][begin.disk.digest()] = begin;
        State last = begin;
        std::size_t num_done = 0, num_here = 0;
        for (const auto& rank : epoch) num_here += rank.size();
        for (; num_done < num_here && !front.empty(); ++num_done) {
            std::map<Cut, std::map<std::uint64_t, State>> next;
            for (const auto& [cut, states] : front) {
                for (std::size_t rank = 0; rank < epoch.size(); ++rank) {
                    if (cut[rank] == epoch[rank].size()) continue;
                    const Operation& operation = *epoch[rank][cut[rank]];
                    for (const auto& [digest, state] : states) {
                        State further = state;
                        if (operation.kind == Kind::ended) further.returned.insert(operation.offset);
                        if (operation.kind == Kind::closed) further.is_closed = true;
                        if (!is_note(operation.kind) && !further.disk.apply(operation))
                            continue;  // comes later
                        Cut to = cut;
                        ++to[rank];
                        further.story = "ranks in another order between agreements " +
                                        std::to_string(number) + " and the next, killed when";
                        for (std::size_t each = 0; each < to.size(); ++each)
                            further.story +=
                                " " + std::to_string(to[each]) + " of " + std::to_string(epoch[each].size());
                        further.story += " were done, the last " + text_of(operation);
                        const Look& found = look(further.disk, further.first_alone);
                        further.seen.insert(found.steps.begin(), found.steps.end());
                        auto& there = next[to][further.disk.digest()];
                        further.seen.insert(there.seen.begin(), there.seen.end());
                        const std::set<std::int64_t>& stored = completed(state.disk, state.first_alone);
                        further.stored.insert(stored.begin(), stored.end());
                        further.stored.insert(there.stored.begin(), there.stored.end());
                        there = std::move(further);
                    }
                }
            }
            std::size_t num_cuts = 0;
            for (auto cut = next.begin(); cut != next.end();) {
                num_cuts += cut->second.size();
                cut = num_cuts > most_cuts ? next.erase(cut) : std::next(cut);
            }
            for (const auto& [cut, states] : next) {
                for (const auto& [digest, state] : states) {
                    last = state;
                    const bool is_sampled = !limits_.is_thorough || counts_.orders > most_orders;
                    if (is_sampled && digest / 256 % one_in != 0) continue;
                    ++counts_.orders;
                    try_state(state, 0);
                }
            }
            front = std::move(next);
        }
        if (num_done < num_here) hold(last, "no order of the ranks goes on from here", last.disk);
        begin = last;
    }
}

void Explorer::try_losses(const Disk& start, const std::vector<Operation>& operations,
                          const std::vector<State>& promised) {
    const Trace trace(start, operations);
    std::vector<std::size_t> prefixes;
    for (std::size_t at = 0; at < operations.size(); ++at)
        if (!is_note(operations[at].kind) || operations[at].kind == Kind::ended ||
            operations[at].kind == Kind::closed)
            prefixes.push_back(at + 1);
    if (prefixes.empty()) return;
    const std::size_t each = std::max<std::size_t>(1, limits_.states / prefixes.size());
    for (const std::size_t prefix : prefixes) {
        for (const Trace::Parts& parts : trace.losses(prefix, each, random_losses_)) {
            State state = promised[prefix];
            state.disk = trace.disk(prefix, parts);
            state.has_lost = true;
            // Others have seen it before it was on stable storage; what end_step has said of it holds.
            state.seen = protocol_.is_hidden && !state.is_closed ? std::set<std::int64_t>() : state.returned;
            state.stored = state.seen;
            if (protocol_.is_hidden && !state.is_closed) state.returned.clear();
            state.story += "; not stored:";
            std::size_t told = 0;
            for (const auto& [at, part] : parts) {
                if (++told > 6) break;
                state.story += (part == Disk::Part::half   ? " half of "
                                : part == Disk::Part::room ? " the bytes of "
                                                           : " ") +
                               text_of(operations[at]) + ";";
            }
            if (parts.size() > told) state.story += " and others, " + std::to_string(parts.size());
            ++counts_.losses;
            try_state(state, 0);
        }
    }
}

/// A step to which an opener has given its final name was on stable storage before.
void Explorer::try_losses_after_openers(const Disk& start, const std::vector<Operation>& operations,
                                        const std::vector<State>& promised) {
    for (std::size_t prefix = 1; prefix <= operations.size(); ++prefix) {
        State state = promised[prefix];
        if (is_note(operations[prefix - 1].kind) || !is_mine(state)) continue;
        for (const Opener& opener : all_openers()) {
            if (opener.replaces || opener.is_refused) continue;
            if (!limits_.is_thorough && opener.name != "Input::open") continue;
            made_ = make(state.disk);
            const Disk found = made_;
            const Visit came = visit(state, opener);
            if (came.operations.empty()) continue;
            Trace trace(start, operations);
            trace.go_on(prefix, found, came.operations);
            // Steps that had their names already may have been seen before they were stable.
            const Look before = look(state.disk, state.first_alone),
                       after = look(came.disk, state.first_alone);
            std::set<std::int64_t> completed;
            std::ranges::set_difference(after.steps, before.steps, std::inserter(completed, completed.end()));
            for (const Trace::Parts& parts : trace.losses(trace.size(), most_losses_after_openers, random_)) {
                State lost = state;
                lost.disk = trace.disk(trace.size(), parts);
                lost.has_lost = true;
                lost.seen = lost.stored = completed;
                lost.returned.clear();
                lost.is_gathered = opener.name == "gather";
                if (opener.goes_on) lost.first_alone = std::min(lost.first_alone, came.opened.next_step);
                lost.story += "; then " + opener.name + ", and a power loss; not stored:";
                for (const auto& [at, part] : parts)
                    lost.story +=
                        " " + text_of(at < prefix ? operations[at] : came.operations[at - prefix]) + ";";
                ++counts_.losses;
                try_state(lost, 1);
            }
        }
    }
}

void Explorer::explore(const Disk& start, const std::vector<Operation>& operations) {
    Disk end = start;
    for (const Operation& operation : operations)
        if (!is_note(operation.kind)) (void)end.apply(operation);
    for (const std::string& line : overviews_in(end)) overviews_.insert(line);
    const std::vector<State> promised = try_prefixes(start, operations, "");
    if (num_ranks_ > 1) try_orders(start, operations);
    if (limits_.states > 0) try_losses(start, operations, promised);
    if (limits_.states > 0 && protocol_.is_synced) try_losses_after_openers(start, operations, promised);
}

void Explorer::explore_prefixes(const Disk& start, const std::vector<Operation>& operations,
                                const std::string& story) {
    is_brief_ = true;
    (void)try_prefixes(start, operations, story + ", ");
    is_brief_ = false;
}

}  // namespace hakobi::test
