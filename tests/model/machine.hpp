// Runs the code of src/ that processes share memory by, on a machine of ours that tries all that C++'s memory
// model permits. tsan sees the threads of one process only; two ranks on one word are two processes to it.
//
//  1. The code is compiled with the headers of tests/model/shared in front of those of src/: SharedAtomic is
//     Atomic (atomic.hpp), whose operations come here; a futex is ours too (machine.cpp has both of its
//     calls). Each process of a job is a fiber, and gives way before each operation.
//  2. A variable is the sequence of its stores. Each process has a view: of each variable the oldest store
//     that it may still read. A load chooses among the stores from there on, which is where memory is weak;
//     what it reads moves the view on. A release leaves its view with the store, and an acquire takes it
//     over; a modification reads the last store and passes on the view that it found there. Sequentially
//     consistent operations and the futex's barriers share one more view. That is RC11 (Lahav et al., PLDI
//     2017), but that a store comes last in its sequence. Where the process knows the store before, it can be
//     nowhere else; where it does not, we say so: Violation.
//  3. Memory that is not atomic (Plain) has versions: to read or write one that the process does not know of
//     is a race.
//  4. A futex that nobody wakes is slept in for ever: a wait that ends by its time limit alone is a wake-up
//     lost. So is a loop that looks again, where nothing is left that it has not seen.
//  5. Each run follows one list of choices (who is next, which store is read, who is woken), and the next run
//     changes the last choice that has another value: depth first, until none has. A state that was there
//     before ends the run. A state is what processes may still read, their views, and a hash of all that each
//     has read so far, which the code, being deterministic, has its own state from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

namespace hakobi::model {

/// Strengths of memory_order that the machine tells apart.
struct Strength {
    bool acquires = false, releases = false, is_total = false;  ///< total: sequentially consistent
    friend auto operator<=>(const Strength&, const Strength&) = default;
};

enum class Kind : std::uint8_t { load, store, modify, wake };

/// An operation of the code: where it stands. That of a wake is the operation before it.
struct Site {
    Kind kind = Kind::load;
    std::string_view file;  ///< from the tree's root on
    std::uint32_t line = 0;
    friend auto operator<=>(const Site&, const Site&) = default;
};
[[nodiscard]] std::string text_of(const Site& site);
[[nodiscard]] std::string text_of(Strength strength);
[[nodiscard]] std::string text_of(Kind kind, Strength strength);

/// An operation that is done otherwise than it says: one that is weaker, or a wake that is left out.
struct Fault {
    Site site;
    Strength strength;
};

/// The processes of one run, and what is tried after it.
struct Job {
    std::vector<std::function<void()>> processes;
    std::function<void()> at_end = [] {};
};

struct Bounds {
    int num_early_returns = 0;     ///< of futexes that nobody has woken, in a run
    int most_switches = no_bound;  ///< to another process from one that could go on, in a run
    static constexpr int no_bound = 1 << 30;
};

struct Options {
    std::optional<Fault> fault;
    Bounds bounds;
    std::int64_t most_states = 20'000'000;
};

struct Outcome {
    std::string violation;  ///< empty: none; else with the steps that lead to it
    std::int64_t num_states = 0, num_runs = 0;
    bool is_whole = true;  ///< all states were tried
    std::map<Site, Strength> sites;
};

/// Tries all runs of the job that `set_up` makes anew, the same each time and at the same addresses, until
/// one violates something.
[[nodiscard]] Outcome explore(const std::function<Job()>& set_up, const Options& options);

/// Called by a process, or at the end: the run violates something unless `holds`.
void check(bool holds, const std::string& text);
/// Called by a process that does something with a value that it has read: its further course may depend on
/// it.
void use(std::uint64_t value);
/// Called by a process whose further course depends on `state` alone, and on no value that it has read: runs
/// that differ in these go on as one.
void forget(std::uint64_t state);
/// A hash of all that the process has read and used.
[[nodiscard]] std::uint64_t all_read();
/// Called by a process that looks again and again: goes on when there is something new to be seen.
void look_later();

/// As check, of the expression of an assert.
inline void assertion(bool holds, const char* expression) {
    if (!holds) check(false, expression);
}

// A process's operations on memory. Outside of a run they are no more than that.

[[nodiscard]] std::uint64_t load(const void* variable, std::uint64_t initial, Strength strength,
                                 const std::source_location& where);
void store(const void* variable, std::uint64_t initial, std::uint64_t value, Strength strength,
           const std::source_location& where);
/// Stores what `change` makes of the value, and returns the one before. Null: the operation reads a store
/// that it cannot change, as a compare-and-exchange that fails.
using Change = std::function<std::optional<std::uint64_t>(std::uint64_t)>;
std::uint64_t modify(const void* variable, std::uint64_t initial, const Change& change, Strength strength,
                     Strength failed, const std::source_location& where);
/// The memory of a variable begins with this value.
void begin(const void* variable);
void sleep_on(const void* variable, std::uint64_t initial, std::uint64_t value);
void wake(const void* variable, bool all);
/// `value`: what stands there, or a hash of it.
void read_plain(const void* memory, std::uint64_t value);
void write_plain(const void* memory, std::uint64_t value);

/// A value that is not atomic.
template <class Value>
class Plain {
  public:
    [[nodiscard]] Value get() const {
        read_plain(this, static_cast<std::uint64_t>(value_));
        return value_;
    }
    void set(Value value) {
        write_plain(this, static_cast<std::uint64_t>(value));
        value_ = value;
    }

  private:
    Value value_{};
};

}  // namespace hakobi::model
