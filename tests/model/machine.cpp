#include "model/machine.hpp"

#include <ucontext.h>

#include <algorithm>
#include <array>
#include <exception>
#include <memory>
#include <ostream>
#include <sstream>
#include <unordered_set>
#include <utility>

namespace hakobi::model {
namespace {

constexpr std::size_t most_variables = 128, stack_bytes = std::size_t{256} << 10;
constexpr std::int64_t most_steps = 100'000;  // of a run: one that takes more goes round in a circle

std::ostream& operator<<(std::ostream& out, const Site& site) {
    return out << text_of(site);
}

struct Violation {
    std::string text;
};
struct Abandoned {};  // ends a process whose run is over

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {  // splitmix64
    hash += value + 0x9e3779b97f4a7c15ULL;
    hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9ULL;
    hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebULL;
    return hash ^ (hash >> 31);
}

/// The oldest store of each variable that may still be read.
using View = std::array<std::uint16_t, most_variables>;

void join(View& view, const View& other, std::size_t num) {
    for (std::size_t i = 0; i < num; ++i) view[i] = std::max(view[i], other[i]);
}

struct Stored {
    std::uint64_t value = 0;
    View view{};  ///< released with it
};

/// Variables that are not atomic have one for their writes, and one for each process's reads.
struct Variable {
    std::uintptr_t address = 0;
    int reader = 0;
    bool is_atomic = false;
    std::uint16_t last = 0;      ///< the number of its last store
    std::vector<Stored> stores;  ///< atomic
    std::uint64_t value = 0;     ///< not atomic
    std::uint16_t oldest = 0;    ///< that any process may still read
    [[nodiscard]] std::uint64_t key() const { return mix(address, static_cast<std::uint64_t>(reader)); }
};

struct Process {
    enum class State : std::uint8_t { ready, asleep, looking, over };
    std::function<void()> body;
    ucontext_t context{};
    std::unique_ptr<char[]> stack;
    State state = State::ready;
    std::size_t word = 0;  ///< asleep: the variable
    bool was_woken = false;
    View view{};
    std::uint64_t history = 0;
    Site last;
};

struct Choice {
    int chosen = 0, num = 0;
};

class Machine {
  public:
    explicit Machine(const Options& options) : options_(options) {}

    Outcome explore(const std::function<Job()>& set_up) {
        std::string found;
        do {
            found = run(set_up);
            ++outcome_.num_runs;
            if (found.empty()) continue;
            is_told_ = true;
            outcome_.violation = run(set_up) + "\nafter\n" + told_;
            break;
        } while (next_choices());
        outcome_.num_states = static_cast<std::int64_t>(seen_.size());
        return std::move(outcome_);
    }

    [[nodiscard]] bool is_running() const { return current_ >= 0 && !is_over_; }

    std::uint64_t load(const void* variable, std::uint64_t initial, Strength strength, const Site& site) {
        strength = before(site, strength);
        const std::size_t at = atomic(variable, initial);
        const std::uint16_t from = oldest_for(at, strength.is_total);
        const auto age = static_cast<std::uint16_t>(choose(variables_[at].last - from + 1));
        return read(at, static_cast<std::uint16_t>(variables_[at].last - age), strength, site);
    }

    void store(const void* variable, std::uint64_t initial, std::uint64_t value, Strength strength,
               const Site& site) {
        strength = before(site, strength);
        const std::size_t at = atomic(variable, initial);
        Process& me = process();
        if (me.view[at] != variables_[at].last)
            throw Violation{text_of(site) + ": a store over one that the process does not know of"};
        append(at, value, strength, View{}, site);
    }

    std::uint64_t modify(const void* variable, std::uint64_t initial, const Change& change, Strength strength,
                         Strength failed, const Site& site) {
        const Strength asked = strength;
        strength = before(site, strength);
        if (strength != asked) failed = {strength.acquires, false, strength.is_total};
        const std::size_t at = atomic(variable, initial);
        // The last store, and each that it could read without changing anything.
        std::vector<std::uint16_t> readable{variables_[at].last};
        for (std::uint16_t i = variables_[at].last; i-- > oldest_for(at, failed.is_total);)
            if (!change(variables_[at].stores[i].value)) readable.push_back(i);
        const std::uint16_t number =
            readable[static_cast<std::size_t>(choose(static_cast<int>(readable.size())))];
        const std::uint64_t old = variables_[at].stores[number].value;
        const std::optional<std::uint64_t> value = change(old);
        if (!value) return read(at, number, failed, site);
        Process& me = process();
        const View found = variables_[at].stores[number].view;
        if (strength.acquires) join(me.view, found, variables_.size());
        append(at, *value, strength, found, site);
        return old;
    }

    void sleep_on(const void* variable, std::uint64_t initial, std::uint64_t value) {
        give_way();
        Process& me = process();
        barrier(me);
        const std::size_t at = atomic(variable, initial);
        const auto age = static_cast<std::uint16_t>(choose(variables_[at].last - me.view[at] + 1));
        me.view[at] = static_cast<std::uint16_t>(variables_[at].last - age);
        const bool sleeps = variables_[at].stores[me.view[at]].value == value;
        tell(sleeps ? "sleeps" : "does not sleep");
        if (!sleeps) return;
        me.state = Process::State::asleep;
        me.word = at;
        me.was_woken = false;
        go_on(pick());
        if (std::exchange(me.was_woken, false)) barrier(me);
        tell("goes on");
    }

    void wake(const void* variable, bool all) {
        Site site = process().last;
        site.kind = Kind::wake;
        give_way();
        outcome_.sites.try_emplace(site);
        barrier(process());
        if (options_.fault && options_.fault->site == site) return tell("does not wake: the fault");
        tell("wakes");
        std::vector<Process*> asleep;
        for (Process& each : processes_)
            if (each.state == Process::State::asleep &&
                variables_[each.word].address == reinterpret_cast<std::uintptr_t>(variable))
                asleep.push_back(&each);
        if (asleep.empty()) return;
        if (!all) asleep = {asleep[static_cast<std::size_t>(choose(static_cast<int>(asleep.size())))]};
        for (Process* const each : asleep) {
            each->state = Process::State::ready;
            each->was_woken = true;
        }
    }

    void look_later() {
        give_way();
        Process& me = process();
        me.state = Process::State::looking;
        tell("looks again later");
        go_on(pick());
        me.state = Process::State::ready;
        for (std::size_t i = 0; i < variables_.size(); ++i)
            if (variables_[i].is_atomic) me.view[i] = variables_[i].last;
    }

    void begin(const void* variable) {
        const auto address = reinterpret_cast<std::uintptr_t>(variable);
        std::erase_if(variables_, [address](const Variable& each) { return each.address == address; });
    }

    void read_plain(const void* memory, std::uint64_t value) {
        Process& me = process();
        const std::size_t written = plain(memory, -1), read = plain(memory, current_);
        if (me.view[written] != variables_[written].last)
            throw Violation{"a race: read before the process knows that it was written"};
        me.view[read] = ++variables_[read].last;
        me.history = mix(me.history, value);
        tell("reads ", value);
    }

    void write_plain(const void* memory, std::uint64_t value) {
        Process& me = process();
        const std::size_t written = plain(memory, -1);
        for (std::size_t i = 0; i < variables_.size(); ++i) {
            if (variables_[i].is_atomic || variables_[i].address != variables_[written].address) continue;
            if (me.view[i] != variables_[i].last)
                throw Violation{i == written ? "a race: written before the process knows of another's write"
                                             : "a race: written while another process may still read it"};
        }
        me.view[written] = ++variables_[written].last;
        variables_[written].value = value;
        tell("writes ", value);
    }

    void use(std::uint64_t value) { process().history = mix(process().history, value); }
    void forget(std::uint64_t state) { process().history = mix(static_cast<std::uint64_t>(current_), state); }
    [[nodiscard]] std::uint64_t all_read() { return process().history; }

    /// Outside of a run.
    [[nodiscard]] std::uint64_t& value_of(const void* variable, std::uint64_t initial) {
        return variables_[atomic(variable, initial)].stores.back().value;
    }

  private:
    // One run.

    std::string run(const std::function<Job()>& set_up) {
        current_ = -1;
        is_over_ = false;
        pos_ = 0;
        num_steps_ = 0;
        num_early_left_ = options_.bounds.num_early_returns;
        num_switches_left_ = options_.bounds.most_switches;
        variables_.clear();
        violation_.clear();
        told_.clear();
        total_ = {};
        Job job = set_up();
        processes_.resize(job.processes.size());
        for (std::size_t p = 0; p < processes_.size(); ++p) prepare(p, std::move(job.processes[p]));
        if (const int first = pick(); first >= 0) {
            current_ = first;
            swapcontext(&main_, &process().context);
        }
        is_over_ = true;
        for (std::size_t p = 0; p < processes_.size(); ++p) {  // their stacks hold objects
            if (processes_[p].state == Process::State::over) continue;
            current_ = static_cast<int>(p);
            swapcontext(&main_, &processes_[p].context);
        }
        current_ = -1;
        if (violation_.empty() && was_finished_) try {
                job.at_end();
            } catch (const Violation& violation) {
                violation_ = "at the end: " + violation.text;
            }
        return violation_;
    }

    void prepare(std::size_t p, std::function<void()> body) {
        Process& each = processes_[p];
        each.body = std::move(body);
        each.state = Process::State::ready;
        each.view = {};
        each.history = mix(p, 0);
        each.last = {};
        if (!each.stack) each.stack = std::make_unique<char[]>(stack_bytes);
        getcontext(&each.context);
        each.context.uc_stack.ss_sp = each.stack.get();
        each.context.uc_stack.ss_size = stack_bytes;
        each.context.uc_link = &main_;
        makecontext(
            &each.context, [] { running->live(); }, 0);
    }

    void live() {
        Process& me = process();
        try {
            if (!is_over_) me.body();
        } catch (const Violation& violation) {
            violation_ = "process " + std::to_string(current_) + ": " + violation.text;
        } catch (const Abandoned&) {
        }
        me.state = Process::State::over;
        if (is_over_) return;
        if (!violation_.empty()) {
            was_finished_ = false;
            return;  // to main
        }
        tell("ends");
        if (const int next = pick(); next >= 0) {
            current_ = next;
            setcontext(&process().context);
        }
    }

    /// The process that has the next step; -1: the run is over.
    int pick() {
        was_finished_ = false;
        if (++num_steps_ > most_steps) violation_ = "no end";
        std::vector<int>& able = able_;
        able.clear();
        std::size_t num_live = 0;
        const int num = static_cast<int>(processes_.size());
        for (int i = 0; i < num; ++i) {  // the one that is running first
            const int p = (std::max(current_, 0) + i) % num;
            const Process& each = processes_[static_cast<std::size_t>(p)];
            num_live += each.state == Process::State::over ? 0 : 1;
            if (each.state == Process::State::ready ||
                (each.state == Process::State::looking && is_behind(each)))
                able.push_back(p);
        }
        if (num_live == 0) {
            was_finished_ = true;
            return -1;
        }
        if (able.empty()) violation_ = "for ever: " + who_waits();
        if (!violation_.empty()) return -1;
        if (pos_ == choices_.size() && !is_told_) {
            if (static_cast<std::int64_t>(seen_.size()) >= options_.most_states) outcome_.is_whole = false;
            if (!outcome_.is_whole || !seen_.insert(hash_of_state()).second) return -1;
        }
        const bool goes_on = able.front() == current_;
        if (goes_on && num_switches_left_ == 0) return current_;
        if (num_early_left_ > 0)
            for (int p = 0; p < num; ++p)
                if (processes_[static_cast<std::size_t>(p)].state == Process::State::asleep)
                    able.push_back(p);
        const int next = able[static_cast<std::size_t>(choose(static_cast<int>(able.size())))];
        if (goes_on && next != current_) --num_switches_left_;
        Process& chosen = processes_[static_cast<std::size_t>(next)];
        if (chosen.state == Process::State::asleep) {
            --num_early_left_;
            chosen.state = Process::State::ready;
        }
        return next;
    }

    void go_on(int next) {
        if (next < 0) {
            is_over_ = true;
            throw Abandoned();
        }
        if (next == current_) return;
        Process& me = process();
        current_ = next;
        swapcontext(&me.context, &process().context);
        if (is_over_) throw Abandoned();
    }
    void give_way() {
        if (is_over_) throw Abandoned();
        process().history = mix(process().history, 1);  // one operation further
        go_on(pick());
    }

    int choose(int num) {
        if (num == 1) return 0;
        if (pos_ == choices_.size()) choices_.push_back({0, num});
        return choices_[pos_++].chosen;
    }
    bool next_choices() {
        while (!choices_.empty() && choices_.back().chosen + 1 == choices_.back().num) choices_.pop_back();
        if (choices_.empty()) return false;
        ++choices_.back().chosen;
        return true;
    }

    // Operations.

    Strength before(const Site& site, Strength strength) {
        process().last = site;
        give_way();
        outcome_.sites.try_emplace(site, strength);
        return options_.fault && options_.fault->site == site ? options_.fault->strength : strength;
    }
    [[nodiscard]] std::uint16_t oldest_for(std::size_t at, bool is_total) {
        const std::uint16_t known = process().view[at];
        return is_total ? std::max(known, total_[at]) : known;
    }
    std::uint64_t read(std::size_t at, std::uint16_t number, Strength strength, const Site& site) {
        Process& me = process();
        const Stored& stored = variables_[at].stores[number];
        me.view[at] = number;
        if (strength.acquires) join(me.view, stored.view, variables_.size());
        tell(site, ": reads ", stored.value, number == variables_[at].last ? "" : ", an old value");
        return stored.value;
    }
    /// `passed_on`: the view of the store that this one has modified.
    void append(std::size_t at, std::uint64_t value, Strength strength, const View& passed_on,
                const Site& site) {
        Process& me = process();
        me.view[at] = ++variables_[at].last;
        Stored stored{value, passed_on};
        if (strength.releases) join(stored.view, me.view, variables_.size());
        stored.view[at] = me.view[at];
        variables_[at].stores.push_back(stored);
        if (strength.is_total) total_[at] = me.view[at];
        tell(site, ": stores ", value);
    }
    void barrier(Process& me) {
        for (std::size_t i = 0; i < variables_.size(); ++i)
            if (variables_[i].is_atomic) me.view[i] = total_[i] = std::max(me.view[i], total_[i]);
    }

    // Variables.

    std::size_t atomic(const void* variable, std::uint64_t initial) {
        return found_or_new({.address = reinterpret_cast<std::uintptr_t>(variable),
                             .reader = -1,
                             .is_atomic = true,
                             .stores = {Stored{.value = initial}}});
    }
    std::size_t plain(const void* memory, int reader) {
        return found_or_new({.address = reinterpret_cast<std::uintptr_t>(memory), .reader = reader});
    }
    std::size_t found_or_new(Variable variable) {
        for (std::size_t i = 0; i < variables_.size(); ++i)
            if (variables_[i].address == variable.address && variables_[i].reader == variable.reader)
                return i;
        if (variables_.size() == most_variables) throw Violation{"too many variables for this machine"};
        variables_.push_back(std::move(variable));
        return variables_.size() - 1;
    }

    // States.

    [[nodiscard]] bool is_behind(const Process& each) const {
        for (std::size_t i = 0; i < variables_.size(); ++i)
            if (variables_[i].is_atomic && each.view[i] < variables_[i].last) return true;
        return false;
    }
    /// By how many stores it is behind, of those that anybody may still read: alike of states that differ in
    /// older ones alone.
    [[nodiscard]] std::uint64_t hash_of(const View& view) const {
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < variables_.size(); ++i) {
            const Variable& each = variables_[i];
            const int behind =
                each.is_atomic ? each.last - std::max(view[i], each.oldest) : view[i] != each.last;
            if (behind > 0) sum += mix(each.key(), static_cast<std::uint64_t>(behind));
        }
        return sum;
    }
    [[nodiscard]] std::uint64_t hash_of_state() {
        for (std::size_t i = 0; i < variables_.size(); ++i) {
            variables_[i].oldest = variables_[i].last;
            for (const Process& each : processes_)
                if (each.state != Process::State::over)
                    variables_[i].oldest = std::min(variables_[i].oldest, each.view[i]);
        }
        std::uint64_t sum = mix(hash_of(total_), static_cast<std::uint64_t>(num_early_left_));
        if (options_.bounds.most_switches != Bounds::no_bound)
            sum = mix(mix(sum, static_cast<std::uint64_t>(num_switches_left_)),
                      static_cast<std::uint64_t>(current_));
        for (const Variable& each : variables_) {
            std::uint64_t hash = mix(each.key(), each.value);
            for (std::size_t i = each.oldest; each.is_atomic && i <= each.last; ++i)
                hash = mix(mix(hash, each.stores[i].value), hash_of(each.stores[i].view));
            sum += hash;
        }
        for (std::size_t p = 0; p < processes_.size(); ++p) {
            const Process& each = processes_[p];
            std::uint64_t hash = mix(p, static_cast<std::uint64_t>(each.state));
            hash = mix(hash, each.history);  // who is through has left results
            if (each.state != Process::State::over) hash = mix(hash, hash_of(each.view));
            if (each.state == Process::State::asleep) hash = mix(hash, variables_[each.word].key());
            sum += mix(hash, each.was_woken ? 1 : 0);
        }
        return sum;
    }

    // Words.

    [[nodiscard]] std::string who_waits() const {
        std::string text;
        for (std::size_t p = 0; p < processes_.size(); ++p) {
            const Process& each = processes_[p];
            if (each.state == Process::State::over) continue;
            text += (text.empty() ? "process " : ", process ") + std::to_string(p) +
                    (each.state == Process::State::asleep ? " sleeps behind " : " looks again behind ") +
                    text_of(each.last);
        }
        return text;
    }
    template <class... Parts>
    void tell(const Parts&... parts) {
        if (!is_told_ || current_ < 0) return;
        std::ostringstream line;
        line << "  " << current_ << "  ";
        (line << ... << parts) << '\n';
        told_ += line.str();
    }
    [[nodiscard]] Process& process() { return processes_[static_cast<std::size_t>(current_)]; }

  public:
    static Machine* running;

  private:
    const Options options_;
    Outcome outcome_;
    std::unordered_set<std::uint64_t> seen_;
    std::vector<Choice> choices_;
    // These are the run's.
    std::size_t pos_ = 0;
    std::int64_t num_steps_ = 0;
    int current_ = -1, num_early_left_ = 0, num_switches_left_ = 0;
    bool is_over_ = false, was_finished_ = false;
    bool is_told_ = false;
    std::string violation_, told_;
    std::vector<Variable> variables_;
    View total_{};
    std::vector<Process> processes_;
    std::vector<int> able_;  // of pick
    ucontext_t main_{};
};

Machine* Machine::running = nullptr;

Site site_of(Kind kind, const std::source_location& where) {
    std::string_view file = where.file_name();
    if (const std::size_t at = file.rfind("/src/"); at != std::string_view::npos) file.remove_prefix(at + 1);
    return {.kind = kind, .file = file, .line = where.line()};
}

bool is_running() {
    return Machine::running != nullptr && Machine::running->is_running();
}

}  // namespace

std::string text_of(Strength strength) {
    if (strength.is_total) return "seq_cst";
    if (strength.acquires) return strength.releases ? "acq_rel" : "acquire";
    return strength.releases ? "release" : "relaxed";
}

std::string text_of(Kind kind, Strength strength) {
    switch (kind) {
        case Kind::load:
            return "load " + text_of(strength);
        case Kind::store:
            return "store " + text_of(strength);
        case Kind::modify:
            return "modify " + text_of(strength);
        case Kind::wake:
            break;
    }
    return "wake";
}

std::string text_of(const Site& site) {
    return std::string(site.file) + ':' + std::to_string(site.line) +
           (site.kind == Kind::wake ? " (wake)" : "");
}

Outcome explore(const std::function<Job()>& set_up, const Options& options) {
    Machine machine(options);
    Machine::running = &machine;
    Outcome outcome = machine.explore(set_up);
    Machine::running = nullptr;
    return outcome;
}

void check(bool holds, const std::string& text) {
    if (!holds) throw Violation{text};
}
void use(std::uint64_t value) {
    if (is_running()) Machine::running->use(value);
}
void forget(std::uint64_t state) {
    if (is_running()) Machine::running->forget(state);
}
std::uint64_t all_read() {
    return is_running() ? Machine::running->all_read() : 0;
}
void look_later() {
    if (is_running()) Machine::running->look_later();
}

std::uint64_t load(const void* variable, std::uint64_t initial, Strength strength,
                   const std::source_location& where) {
    if (is_running()) return Machine::running->load(variable, initial, strength, site_of(Kind::load, where));
    return Machine::running->value_of(variable, initial);
}
void store(const void* variable, std::uint64_t initial, std::uint64_t value, Strength strength,
           const std::source_location& where) {
    if (is_running())
        return Machine::running->store(variable, initial, value, strength, site_of(Kind::store, where));
    Machine::running->value_of(variable, initial) = value;
}
std::uint64_t modify(const void* variable, std::uint64_t initial, const Change& change, Strength strength,
                     Strength failed, const std::source_location& where) {
    if (is_running())
        return Machine::running->modify(variable, initial, change, strength, failed,
                                        site_of(Kind::modify, where));
    std::uint64_t& value = Machine::running->value_of(variable, initial);
    const std::uint64_t old = value;
    value = change(old).value_or(old);
    return old;
}
void begin(const void* variable) {
    if (Machine::running != nullptr && !is_running()) Machine::running->begin(variable);
}
void sleep_on(const void* variable, std::uint64_t initial, std::uint64_t value) {
    if (is_running()) Machine::running->sleep_on(variable, initial, value);
}
void wake(const void* variable, bool all) {
    if (is_running()) Machine::running->wake(variable, all);
}
void read_plain(const void* memory, std::uint64_t value) {
    if (is_running()) Machine::running->read_plain(memory, value);
}
void write_plain(const void* memory, std::uint64_t value) {
    if (is_running()) Machine::running->write_plain(memory, value);
}

}  // namespace hakobi::model
