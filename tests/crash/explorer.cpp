#include "explorer.hpp"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "base/checksum.hpp"
#include "series/series.hpp"

namespace hakobi::test {
namespace {

constexpr unsigned most_s = 60;  // an opener takes milliseconds
constexpr std::size_t most_violations = 8;
constexpr std::int64_t most_orders = 500;  // of more, a sample
constexpr std::uint64_t one_in = 4;        // states, without time for all
std::array<char, 4096> under_way{};        // for the alarm

void say_what_hangs(int /*signal*/) {
    const std::string_view text = "crash states: it hangs: ";
    (void)!::write(STDERR_FILENO, text.data(), text.size());
    (void)!::write(STDERR_FILENO, under_way.data(), std::strlen(under_way.data()));
    (void)!::write(STDERR_FILENO, "\n", 1);
    ::_exit(1);
}

/// Where openers were killed when something was lost: these points are tried always, and of others a sample.
struct Lesson {
    Kind kind;
    std::string_view begins, ends;
};
constexpr Lesson lessons[] = {
    {Kind::create, "/place/run", ".part"},          // the file that proved that one can be made was a step's
    {Kind::unlink, "/place/run_000000.", ".part"},  // of a step of which nobody had said that it is lost
    {Kind::unlink, "/place/run_000000.", "/step"},  // a folder without its description
    {Kind::unlink, "/stage/run.", "/step"},         // the same of one that had arrived
    {Kind::unlink, "/stage/run.", "/0"},
};
/// The first operation that each of them is about, from behind it.
std::set<std::size_t> points_of_lessons(const std::vector<Operation>& operations) {
    std::set<std::size_t> points;
    for (const Lesson& lesson : lessons) {
        const auto at = std::ranges::find_if(operations, [&](const Operation& operation) {
            return operation.kind == lesson.kind && operation.path.starts_with(lesson.begins) &&
                   operation.path.ends_with(lesson.ends);
        });
        if (at != operations.end()) points.insert(static_cast<std::size_t>(at - operations.begin()) + 1);
    }
    return points;
}

std::string joined(const std::set<std::int64_t>& steps) {
    std::string text;
    for (const std::int64_t step : steps) text += (text.empty() ? "" : ", ") + std::to_string(step);
    return text.empty() ? "none" : text;
}

/// Whether a sentence names the step.
bool names(const std::string& words, std::int64_t step) {
    const std::string wanted = "step " + std::to_string(step);
    for (std::size_t at = words.find(wanted); at != std::string::npos; at = words.find(wanted, at + 1)) {
        const std::size_t behind = at + wanted.size();
        if (behind == words.size() || words[behind] < '0' || words[behind] > '9') return true;
    }
    return false;
}

/// Texts that name the root do so as `home` from now on.
void name_home(std::vector<Operation>& operations, const std::string& root, const std::string& home) {
    for (Operation& operation : operations) {
        if (operation.kind != Kind::write || operation.bytes.size() > 8192 || root == home) continue;
        const std::string_view text(reinterpret_cast<const char*>(operation.bytes.data()),
                                    operation.bytes.size());
        for (std::size_t at = 0; (at = text.find(root, at)) != std::string_view::npos; at += home.size())
            std::memcpy(operation.bytes.data() + at, home.data(), home.size());
    }
}

std::string difference(const Disk& a, const Disk& b) {
    const std::vector<std::string> before = a.listing(), after = b.listing();
    std::string text;
    for (const std::string& line : before)
        if (std::ranges::find(after, line) == after.end()) text += "\n      - " + line;
    for (const std::string& line : after)
        if (std::ranges::find(before, line) == before.end()) text += "\n      + " + line;
    return text;
}

}  // namespace

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
      random_(20261129) {
    fs::create_directories(root_);
    std::signal(SIGALRM, say_what_hangs);
}

Explorer::~Explorer() {
    ::alarm(0);
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
    violations_.push_back(std::move(text));
}

Disk Explorer::make(const Disk& disk) {
    for (const auto& entry : fs::directory_iterator(root_)) fs::remove_all(entry.path());
    Disk made = disk;
    made.make(root_, home_);
    return made;
}

const Look& Explorer::look(const Disk& disk, std::int64_t first_alone) {
    const std::uint64_t key = disk.digest();
    const auto known = looks_.find(key);
    if (known != looks_.end()) return known->second;
    (void)make(disk);
    ++counts_.looks;
    const Words words;
    return looks_[key] = look_at(protocol_, root_, num_ranks_, first_alone);
}

const std::set<std::int64_t>& Explorer::completed(const Disk& disk, std::int64_t first_alone) {
    const std::uint64_t key = disk.digest();
    const auto known = completed_.find(key);
    if (known != completed_.end()) return known->second;
    (void)make(disk);
    const Words words;
    (void)error_of([&] { Input::open(prefix_in(root_)).close(); });
    return completed_[key] = look_at(protocol_, root_, num_ranks_, first_alone).steps;
}

std::vector<Operation> Explorer::record(const Opener& opener, Error& error, Opened& opened) {
    log_.clear();
    const Words words;
    start_recording(log_, root_, 0);
    ::alarm(most_s);
    error = error_of([&] { opened = open_by(opener, protocol_, root_, alone_); });
    ::alarm(0);
    std::fflush(stderr);
    stop_recording();
    ++counts_.opened;
    std::vector<Operation> operations = log_.operations();
    name_home(operations, root_, home_);
    return operations;
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
    if (depth == 0 && !is_mine(state)) return;
    ++counts_.states;
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
    if (limits_.is_thorough) return false;
    if (opener.goes_on) return depth > 0 || state.disk.digest() / 64 % one_in != 0;
    return depth > 0 && (opener.replaces || opener.name == "gather");
}

void Explorer::try_opener(const State& state, const Opener& opener, int depth) {
    std::snprintf(under_way.data(), under_way.size(), "%s: %s: %s", protocol_.name.c_str(),
                  opener.name.c_str(), state.story.c_str());
    const std::string who = opener.name + ": ";
    Disk disk = make(state.disk);
    const Disk before = disk;
    Error error{ErrorCode::ok, ""}, ignored{ErrorCode::ok, ""};
    Opened opened, again;
    const std::vector<Operation> operations = record(opener, error, opened);
    std::string words = state.words + opened.words;
    for (const Operation& operation : operations) {
        if (operation.kind == Kind::says) words += operation.path;
        if (operation.kind == Kind::unseen)
            hold(state, who + "a change that is not recorded: " + operation.path, disk);
        if (!is_note(operation.kind) && !disk.apply(operation))
            hold(state, who + "the recording does not fit: " + text_of(operation), disk);
    }
    if (counts_.opened % 16 == 0) {
        const Disk there = Disk::of_folder(root_, home_);
        if (there.digest() != disk.digest())
            hold(state, who + "the recording is not what is there:" + difference(disk, there), disk);
    }
    const bool may_find_nothing = opener.leaves_parts || opener.name == "gather";
    const bool is_left = protocol_.is_shown_gathered() && opener.leaves_parts;
    const bool is_right = error.code() == ErrorCode::ok ||
                          (may_find_nothing && error.code() == ErrorCode::not_found) ||
                          (is_left && error.code() == ErrorCode::unsupported);
    State after = state;
    after.disk = disk;
    after.words = words;
    if (opened.next_step >= 0) after.first_alone = std::min(after.first_alone, opened.next_step);
    if (is_sound(state) && !is_right) hold(after, who + error.what(), disk);
    const Look found = look(disk, after.first_alone);
    if (is_sound(state)) {
        if (!found.wrong.empty()) hold(after, who + found.wrong, disk);
        if (opener.goes_on && !found.steps.contains(opened.next_step))
            hold(after, who + "step " + std::to_string(opened.next_step) + " that it wrote is not there",
                 disk);
        if (opener.replaces && !found.steps.empty()) hold(after, who + "steps are left", disk);
    }
    // An opener that goes on behind a gap leaves it for good. Gathering may.
    const auto has_gap = [](const std::set<std::int64_t>& steps) {
        return !steps.empty() && std::ssize(steps) != *steps.rbegin() + 1;
    };
    if (is_sound(state) && !state.is_replaced && !state.is_gathered && opener.name != "gather" &&
        has_gap(found.steps) && !has_gap(state.seen))
        hold(after, who + "shows steps " + joined(found.steps) + ", with a gap", disk);
    if (is_sound(state) && !opener.replaces && !state.is_replaced && !is_left) {
        for (const std::int64_t step : state.seen) {
            if (!found.steps.contains(step))
                hold(after, who + "lost step " + std::to_string(step) + ", seen before", disk);
        }
        for (const std::int64_t step : state.stored) {
            if (!found.steps.contains(step))
                hold(after,
                     who + "lost step " + std::to_string(step) + ", which it would have completed before",
                     disk);
        }
        for (const std::int64_t step : state.returned) {
            const bool is_there = found.steps.contains(step);
            if (is_there || (!state.is_closed && protocol_.is_hidden && names(words, step))) continue;
            hold(after,
                 who + "step " + std::to_string(step) +
                     ", whose end_step returned, is neither there nor named",
                 disk);
        }
    }
    if (depth > 0 && !limits_.is_thorough) return;
    // A second one changes nothing more.
    static const Opener reader = all_openers().front();
    const Opener& second = opener.goes_on ? reader : opener;
    Disk more = make(disk);
    const std::vector<Operation> further = record(second, ignored, again);
    for (const Operation& operation : further)
        if (!is_note(operation.kind)) (void)more.apply(operation);
    if (more.digest() != disk.digest())
        hold(after, who + "a second one (" + second.name + ") changes more:" + difference(disk, more), disk);
    if (limits_.nested == 0 || depth > 0) return;
    const bool has_more =
        limits_.is_thorough || opener.name == "Input::open" || state.disk.digest() / 1024 % one_in == 0;
    // Killed on the way.
    std::vector<std::size_t> points;
    for (std::size_t at = 0; at < operations.size(); ++at)
        if (operations[at].kind < Kind::sync_file) points.push_back(at + 1);
    if (!points.empty()) points.pop_back();
    std::ranges::shuffle(points, random_);
    points.resize(std::min(points.size(), has_more ? limits_.nested : 0));
    std::set<std::size_t> all(points.begin(), points.end());
    if (has_more || state.disk.digest() / 4096 % 2 == 0) all.merge(points_of_lessons(operations));
    State killed = state;
    killed.disk = before;
    if (!state.is_replaced && !opener.replaces) {
        const std::set<std::int64_t>& stored = completed(before, state.first_alone);
        killed.stored.insert(stored.begin(), stored.end());
    }
    std::size_t done = 0;
    for (const std::size_t point : all) {
        for (; done < point; ++done) {
            if (operations[done].kind == Kind::says) killed.words += operations[done].path;
            if (!is_note(operations[done].kind)) (void)killed.disk.apply(operations[done]);
        }
        killed.is_replaced = state.is_replaced || opener.replaces;
        killed.is_gathered = state.is_gathered || opener.name == "gather";
        if (opener.goes_on) killed.first_alone = std::min(killed.first_alone, opened.next_step);
        killed.story =
            state.story + "; then " + opener.name + ", killed behind " + text_of(operations[point - 1]);
        ++counts_.nested;
        try_state(killed, depth + 1);
        const Look seen = look(killed.disk, killed.first_alone);
        killed.seen.insert(seen.steps.begin(), seen.steps.end());
        if (!killed.is_replaced) {
            const std::set<std::int64_t>& stored = completed(killed.disk, killed.first_alone);
            killed.stored.insert(stored.begin(), stored.end());
        }
    }
}

std::vector<State> Explorer::try_prefixes(const Disk& start, const std::vector<Operation>& operations) {
    std::vector<State> all;
    State state{.disk = start, .seen = {}, .returned = {}, .words = {}, .story = "nothing has happened"};
    all.push_back(state);
    for (const Operation& operation : operations) {
        if (operation.kind == Kind::ended) state.returned.insert(operation.offset);
        if (operation.kind == Kind::closed) state.is_closed = true;
        if (!is_note(operation.kind) && !state.disk.apply(operation))
            hold(state, "the recording does not fit: " + text_of(operation), state.disk);
        state.story = "killed behind operation " + std::to_string(all.size()) + ", " + text_of(operation);
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
        for (const Trace::Parts& parts : trace.losses(prefix, each, random_)) {
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

void Explorer::explore(const Disk& start, const std::vector<Operation>& operations) {
    const std::vector<State> promised = try_prefixes(start, operations);
    if (num_ranks_ > 1) try_orders(start, operations);
    if (limits_.states > 0) try_losses(start, operations, promised);
}

}  // namespace hakobi::test
