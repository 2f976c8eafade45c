// Who comes upon a state, and what is held against it.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "bucket.hpp"
#include "explorer.hpp"

namespace hakobi::test {
namespace {

constexpr unsigned most_s = 60;              // an opener takes milliseconds
constexpr std::size_t most_accesses = 1000;  // of an opener: they end
std::array<char, 4096> under_way{};          // for the alarm

void say_what_hangs(int /*signal*/) {
    const std::string_view text = "crash states: it hangs: ";
    (void)!::write(STDERR_FILENO, text.data(), text.size());
    (void)!::write(STDERR_FILENO, under_way.data(), std::strlen(under_way.data()));
    (void)!::write(STDERR_FILENO, "\n", 1);
    ::_exit(1);
}

/// While one lives, what is going on has to end.
class Watch {
  public:
    Watch(const std::string& protocol, const std::string& story, const std::string& what) {
        std::signal(SIGALRM, say_what_hangs);
        std::snprintf(under_way.data(), under_way.size(), "%s: %s: %s", protocol.c_str(), what.c_str(),
                      story.c_str());
        ::alarm(most_s);
    }
    ~Watch() { ::alarm(0); }
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
};

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
        const bool has_bytes = operation.kind == Kind::write || operation.kind == Kind::put;
        if (!has_bytes || operation.bytes.size() > 8192 || root == home) continue;
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

const Look& Explorer::look(const Disk& disk, std::int64_t first_alone) {
    const std::uint64_t key = disk.digest();
    const auto known = looks_.find(key);
    if (known != looks_.end()) return known->second;
    (void)make(disk);
    ++counts_.looks;
    const Words words;
    const Watch watch(protocol_.name, story_, "a look");
    Look found = look_at(protocol_, root_, num_ranks_, first_alone);
    found.wrong += torn_overviews(disk);
    return looks_[key] = std::move(found);
}

const std::set<std::int64_t>& Explorer::completed(const Disk& disk, std::int64_t first_alone) {
    const std::uint64_t key = disk.digest();
    const auto known = completed_.find(key);
    if (known != completed_.end()) return known->second;
    (void)make(disk);
    const Words words;
    const Watch watch(protocol_.name, story_, "Input::open");
    (void)error_of([&] { Input::open(protocol_.prefix_in(root_)).close(); });
    return completed_[key] = look_at(protocol_, root_, num_ranks_, first_alone).steps;
}

std::vector<Operation> Explorer::record(const Opener& opener, const std::string& root, const Comm& comm,
                                        Error& error, Opened& opened) {
    log_.clear();
    const Words words;
    start_recording(log_, root, 0);
    const Watch watch(protocol_.name, story_, opener.name);
    error = error_of([&] { opened = open_by(opener, protocol_, root, comm); });
    if (protocol_.is_on_objects) mishap_came_ = end_mishaps();
    std::fflush(stderr);
    stop_recording();
    ++counts_.opened;
    std::vector<Operation> operations = log_.operations();
    name_home(operations, root, home_);
    return operations;
}

Explorer::Visit Explorer::visit(const State& state, const Opener& opener) {
    Visit visit;
    visit.operations = record(opener, root_, alone_, visit.error, visit.opened);
    visit.disk = made_;
    for (const Operation& operation : visit.operations) {
        if (operation.kind == Kind::says) visit.opened.words += operation.path;
        if (operation.kind == Kind::unseen)
            hold(state, opener.name + ": a change that is not recorded: " + operation.path, visit.disk);
        if (!is_note(operation.kind) && !visit.disk.apply(operation))
            hold(state, opener.name + ": the recording does not fit: " + text_of(operation), visit.disk);
    }
    if (counts_.opened % 16 == 0) {
        const Disk there = Disk::of_folder(root_, home_);
        if (there.digest() != visit.disk.digest())
            hold(state, opener.name + ": the recording is not what is there:" + difference(visit.disk, there),
                 visit.disk);
    }
    return visit;
}

State Explorer::judge(const State& state, const Opener& opener, const Visit& visit) {
    const std::string who = opener.name + ": ";
    const ErrorCode code = visit.error.code();
    const bool may_find_nothing = opener.leaves_parts || opener.name == "gather";
    const bool is_left = protocol_.is_shown_gathered() && opener.leaves_parts;
    const bool is_right = code == ErrorCode::ok || (may_find_nothing && code == ErrorCode::not_found) ||
                          (is_left && code == ErrorCode::unsupported) ||
                          (opener.is_refused && code == ErrorCode::exists);
    State after = state;
    after.disk = visit.disk;
    after.words = state.words + visit.opened.words;
    if (visit.opened.next_step >= 0 && !visit.is_by_all)
        after.first_alone = std::min(after.first_alone, visit.opened.next_step);
    const Look found = look(after.disk, after.first_alone);
    if (!is_sound(state)) return after;
    // Without an answer it is as if it had been killed: who comes next completes the steps.
    const bool is_ended = mishap_came_;
    const bool may_end =
        (is_ended && code == ErrorCode::io) || (visit.meets_other_run && code == ErrorCode::exists);
    if (!is_right && !may_end) hold(after, who + visit.error.what(), after.disk);
    if (!found.wrong.empty()) hold(after, who + found.wrong, after.disk);
    if (!may_end && opener.goes_on && !found.steps.contains(visit.opened.next_step))
        hold(after, who + "step " + std::to_string(visit.opened.next_step) + " that it wrote is not there",
             after.disk);
    if (!may_end && opener.replaces && !found.steps.empty()) hold(after, who + "steps are left", after.disk);
    State promised = state;
    promised.is_replaced = state.is_replaced || (is_ended && opener.replaces);
    if (is_ended || may_end) {
        promised.seen = look(state.disk, state.first_alone).steps;
        promised.stored.clear();
        promised.returned.clear();
    }
    hold_gaps(promised, after, opener, found);
    if (opener.is_refused && code == ErrorCode::exists) {
        if (protocol_.is_shown_gathered()) return after;  // no reader shows pieces like these
        // It need not complete or name a step: who comes next does.
        const std::set<std::int64_t>& still = completed(after.disk, after.first_alone);
        if (!std::ranges::includes(still, promised.stored) || !std::ranges::includes(still, promised.seen))
            hold(after, who + "refused, it leaves steps " + joined(still), after.disk);
        return after;
    }
    if (!is_left) hold_steps(promised, after, opener, found);
    return after;
}

void Explorer::hold_gaps(const State& before, const State& after, const Opener& opener, const Look& found) {
    // An opener that goes on behind a gap leaves it for good. Gathering may.
    const auto has_gap = [](const std::set<std::int64_t>& steps) {
        return !steps.empty() && std::ssize(steps) != *steps.rbegin() + 1;
    };
    if (!before.is_replaced && !before.is_gathered && opener.name != "gather" && has_gap(found.steps) &&
        !has_gap(before.seen))
        hold(after, opener.name + ": shows steps " + joined(found.steps) + ", with a gap", after.disk);
}

void Explorer::hold_steps(const State& before, const State& after, const Opener& opener, const Look& found) {
    const std::string who = opener.name + ": ";
    if (before.is_replaced || opener.replaces) return;
    for (const std::int64_t step : before.seen) {
        if (!found.steps.contains(step))
            hold(after, who + "lost step " + std::to_string(step) + ", seen before " + found.why_none,
                 after.disk);
    }
    for (const std::int64_t step : before.stored) {
        if (!found.steps.contains(step))
            hold(after,
                 who + "lost step " + std::to_string(step) + ", which it would have completed before " +
                     found.why_none,
                 after.disk);
    }
    for (const std::int64_t step : before.returned) {
        const bool is_there = found.steps.contains(step);
        if (is_there || (!before.is_closed && protocol_.is_hidden && names(after.words, step))) continue;
        hold(after,
             who + "step " + std::to_string(step) + ", whose end_step returned, is neither there nor named",
             after.disk);
    }
}

void Explorer::try_second(const State& after, const Opener& opener) {
    static const Opener reader = all_openers().front();
    const Opener& second = opener.goes_on ? reader : opener;
    Disk more = make(after.disk);
    Error ignored{ErrorCode::ok, ""};
    Opened again;
    for (const Operation& operation : record(second, root_, alone_, ignored, again))
        if (!is_note(operation.kind)) (void)more.apply(operation);
    if (more.digest() != after.disk.digest())
        hold(
            after,
            opener.name + ": a second one (" + second.name + ") changes more:" + difference(after.disk, more),
            after.disk);
}

void Explorer::try_killed(const State& state, const Opener& opener, const Visit& visit, int depth) {
    const std::vector<Operation>& operations = visit.operations;
    const bool has_more =
        limits_.is_thorough || opener.name == "Input::open" || state.disk.digest() / 1024 % one_in == 0;
    std::vector<std::size_t> points;
    for (std::size_t at = 0; at < operations.size(); ++at)
        if (operations[at].kind < Kind::sync_file) points.push_back(at + 1);
    if (!points.empty()) points.pop_back();
    std::ranges::shuffle(points, random_);
    points.resize(std::min(points.size(), has_more ? limits_.nested : 0));
    std::set<std::size_t> all(points.begin(), points.end());
    if (has_more || state.disk.digest() / 4096 % 2 == 0) all.merge(points_of_lessons(operations));
    State killed = state;
    killed.disk = made_;
    if (!state.is_replaced && !opener.replaces) {
        const std::set<std::int64_t>& stored = completed(killed.disk, state.first_alone);
        killed.stored.insert(stored.begin(), stored.end());
    }
    killed.is_replaced = state.is_replaced || opener.replaces;
    killed.is_gathered = state.is_gathered || opener.name == "gather";
    if (opener.goes_on) killed.first_alone = std::min(killed.first_alone, visit.opened.next_step);
    std::size_t done = 0;
    for (const std::size_t point : all) {
        for (; done < point; ++done) {
            if (operations[done].kind == Kind::says) killed.words += operations[done].path;
            if (!is_note(operations[done].kind)) (void)killed.disk.apply(operations[done]);
        }
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

void Explorer::try_lost_answers(const State& state, const Opener& opener, int depth) {
    State lost = state;
    const bool comes = limits_.is_thorough || state.disk.digest() / 1024 % (2 * one_in) == 0;
    for (std::size_t nth = 0; comes && nth < most_accesses; ++nth) {
        lost.story = state.story + "; then " + opener.name + ", to whose change " + std::to_string(nth) +
                     " of the bucket no answer came";
        made_ = make(state.disk);
        serve_bucket(root_, {.kind = Mishap::Kind::lost, .nth = nth});
        const Visit came = visit(lost, opener);
        if (!mishap_came_) break;
        ++counts_.mishaps;
        State after = judge(lost, opener, came);
        after.is_replaced = state.is_replaced || opener.replaces;
        after.is_gathered = state.is_gathered || opener.name == "gather";
        if (limits_.is_thorough || nth % 4 == 0) try_state(after, depth + 1);
    }
    mishap_came_ = false;
}

void Explorer::try_late(const State& state, const Operation& put) {
    if (!is_mine(state) || (!limits_.is_thorough && state.disk.digest() / 1024 % one_in != 0)) return;
    std::vector<Operation> late = {put};
    name_home(late, home_, root_);
    State there = state;
    for (const Opener& opener : all_openers()) {
        // Nothing keeps a put of the run that was replaced out of the bucket.
        if (opener.replaces) continue;
        there.story = state.story + "; then " + opener.name;
        bool comes = true;
        for (std::size_t nth = 1; comes && nth < most_accesses; nth += limits_.is_thorough ? 1 : 9) {
            there.story = state.story + "; then " + opener.name + ", before whose access " +
                          std::to_string(nth) + " arrives " + text_of(put);
            made_ = make(state.disk);
            deliver(late.front(), nth);
            Visit came = visit(there, opener);
            came.meets_other_run = put.path.ends_with(".staged");
            comes = mishap_came_;
            mishap_came_ = false;
            ++counts_.mishaps;
            (void)judge(there, opener, came);
        }
    }
}

void Explorer::try_opener(const State& state, const Opener& opener, int depth) {
    story_ = state.story;
    made_ = make(state.disk);
    const Visit came = visit(state, opener);
    const State after = judge(state, opener, came);
    if (depth > 0 && !limits_.is_thorough) return;
    try_second(after, opener);
    if (limits_.nested == 0 || depth > 0 || is_brief_) return;
    try_killed(state, opener, came, depth);
    if (protocol_.is_on_objects) try_lost_answers(state, opener, depth);
}

void Explorer::explore_together(const Comm& comm) {
    static const Opener opener{.name = "resume and go on", .goes_on = true};
    const std::string root = root_.substr(0, root_.size() - 1) + 'a';  // rank 0's
    auto num = static_cast<int>(together_.size());
    MPI_Bcast(&num, 1, MPI_INT, 0, comm.handle());
    for (int i = 0; i < num; ++i) {
        State state = rank_ == 0 ? together_[static_cast<std::size_t>(i)] : State();
        story_ = "all ranks go on: " + state.story;
        if (rank_ == 0) {
            const Look found = look(state.disk, state.first_alone);
            state.seen.insert(found.steps.begin(), found.steps.end());
            (void)make(state.disk);
        }
        MPI_Barrier(comm.handle());
        serve_bucket(root);
        Visit came;
        came.operations = record(opener, root, comm, came.error, came.opened);
        MPI_Barrier(comm.handle());
        if (rank_ != 0) continue;
        ++counts_.together;
        for (const Operation& operation : came.operations)
            if (operation.kind == Kind::says) came.opened.words += operation.path;
        came.disk = Disk::of_folder(root_, home_);
        came.is_by_all = true;
        state.story += "; then all ranks";
        (void)judge(state, opener, came);
    }
}

}  // namespace hakobi::test
