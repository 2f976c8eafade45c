#include "model/protocols.hpp"

#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <span>

#include "exchange/node_channel.hpp"
#include "io/ahead.hpp"
#include "io/slots.hpp"
#include "mpi/comm_state.hpp"
#include "mpi/node_round.hpp"
#include "node/team.hpp"

namespace hakobi::model {
namespace {

constexpr int most_ranks = 4;
template <class T>
using OfEach = std::array<T, most_ranks>;

/// Where it was in the run before.
template <class T>
T& made_anew() {
    alignas(T) static std::byte memory[sizeof(T)];
    return *new (memory) T();
}

std::size_t index(int rank) {
    return static_cast<std::size_t>(rank);
}

/// A process for each rank.
Job of_ranks(int num, const std::function<void(int)>& body) {
    Job job;
    for (int rank = 0; rank < num; ++rank) job.processes.emplace_back([=] { body(rank); });
    return job;
}

// node/team.hpp: mail to the leader, which answers each and leaves a word for all, as a file's meetings do
// with mailboxes. The count of rounds wraps.
Job team(int num_ranks, int num_rounds) {
    struct Shared {
        node::TeamMemory memory;
        Plain<int> word;
        OfEach<Plain<int>> mail, answers;
    };
    auto& shared = made_anew<Shared>();
    shared.memory.released.word.store(0xffffffff);
    return of_ranks(num_ranks, [=, &shared](int rank) {
        node::Team team(Comm(rank, num_ranks), &shared.memory, {});
        for (int round = 0; round < num_rounds; ++round) {
            shared.mail[index(rank)].set(10 * round + rank);
            team.round([&] {
                for (int each = 0; each < num_ranks; ++each) {
                    check(shared.mail[index(each)].get() == 10 * round + each,
                          "the leader has each rank's mail");
                    shared.answers[index(each)].set(100 * round + each);
                }
                shared.word.set(round);
            });
            check(shared.word.get() == round, "the leader's word");
            check(shared.answers[index(rank)].get() == 100 * round + rank, "its answer");
            forget(static_cast<std::uint64_t>(round));
        }
    });
}

// node/apart.cpp: each rank has two places, which it uses in turn, and all read those of a round behind its
// barrier.
Job places_in_turn(int num_ranks, int num_rounds) {
    struct Shared {
        node::TeamMemory memory;
        std::array<OfEach<Plain<int>>, 2> places;
    };
    auto& shared = made_anew<Shared>();
    return of_ranks(num_ranks, [=, &shared](int rank) {
        node::Team team(Comm(rank, num_ranks), &shared.memory, {});
        for (int round = 0; round < num_rounds; ++round) {
            auto& places = shared.places[static_cast<std::size_t>(round % 2)];
            places[index(rank)].set(10 * round + rank);
            team.barrier();
            for (int each = 0; each < num_ranks; ++each)
                check(places[index(each)].get() == 10 * round + each, "what each rank brings to the round");
            forget(static_cast<std::uint64_t>(round));
        }
    });
}

// mpi/node_round.hpp: sums and broadcasts in turn.
Job node_round(int num_ranks, int num_rounds) {
    std::memset(SharedMemory().data(), 0, static_cast<std::size_t>(mpi::NodeRound::bytes_needed(num_ranks)));
    return of_ranks(num_ranks, [=](int rank) {
        const Comm comm(rank, num_ranks);
        mpi::NodeRound rounds(SharedMemory(), rank, num_ranks);
        for (int round = 0; round < num_rounds; ++round) {
            int value = 100 * round + rank;
            const std::span<std::byte> bytes = std::as_writable_bytes(std::span(&value, 1));
            if (round % 3 == 2) {
                rounds.broadcast(comm, bytes, round % num_ranks);
                check(value == 100 * round + round % num_ranks, "the root's value");
            } else {
                rounds.reduce(comm, bytes, [](std::span<std::byte> sum, std::span<const std::byte> row) {
                    int so_far = 0, more = 0;
                    std::memcpy(&so_far, sum.data(), sizeof so_far);
                    std::memcpy(&more, row.data(), sizeof more);
                    read_plain(row.data(), static_cast<std::uint64_t>(more));
                    so_far += more;
                    std::memcpy(sum.data(), &so_far, sizeof so_far);
                });
                check(value == 100 * round * num_ranks + num_ranks * (num_ranks - 1) / 2, "the sum");
            }
            forget(static_cast<std::uint64_t>(round));
        }
    });
}

// exchange/node_channel.hpp: each rank reads what each other one gives, and changes it when nobody reads it
// any more. The numbers of exchanges wrap.
Job channel(int num_ranks, int num_exchanges) {
    struct Shared {
        OfEach<exchange::NodeChannel> channels;
        OfEach<Plain<int>> fields;
    };
    auto& shared = made_anew<Shared>();
    for (int rank = 0; rank < num_ranks; ++rank)
        (void)exchange::NodeChannel::create(Comm(rank, num_ranks), 0, shared.channels[index(rank)]);
    for (const std::uint32_t number : {0x7fffffffU, 0xfffffffeU})
        for (int rank = 0; rank < num_ranks; ++rank) {
            shared.channels[index(rank)].set_ready(number);
            for (int other = 0; other < num_ranks; ++other)
                shared.channels[index(rank)].set_done(other, number);
        }
    return of_ranks(num_ranks, [=, &shared](int rank) {
        const Comm comm(rank, num_ranks);
        exchange::NodeChannel& channel = shared.channels[index(rank)];
        std::uint32_t number = 0xfffffffe;
        for (int exchange = 0; exchange < num_exchanges; ++exchange) {
            ++number;
            shared.fields[index(rank)].set(exchange);
            channel.set_ready(number);
            const auto ring_all = [&] {
                for (int other = 0; other < num_ranks; ++other)
                    if (other != rank) channel.ring(other);
            };
            ring_all();
            unsigned copied = 1U << rank, released = 1U << rank;
            const unsigned all = (1U << num_ranks) - 1;
            std::optional<mpi::Wait> wait(std::in_place, comm);
            for (;;) {
                const std::uint32_t bell = channel.bell();
                const unsigned before = copied + released;
                for (int other = 0; other < num_ranks; ++other) {
                    const unsigned bit = 1U << other;
                    if ((copied & bit) == 0 && channel.is_ready(other, number)) {
                        check(shared.fields[index(other)].get() == exchange, "the field of this exchange");
                        channel.set_done(other, number);
                        channel.ring(other);
                        copied |= bit;
                    }
                    if ((released & bit) == 0 && channel.is_done(other, number)) released |= bit;
                }
                if (copied == all && released == all) break;
                if (copied + released != before) {
                    forget(static_cast<std::uint64_t>(exchange) << 16 | copied << 8 | released);
                    wait.emplace(comm);
                } else {
                    channel.pause(*wait, bell);
                }
            }
            forget(static_cast<std::uint64_t>(exchange));
        }
    });
}

// io/slots.hpp: collective buffers, the ranks that fill or empty them and the dispatcher, as io/shuffle.cpp
// and io/pipeline.cpp go about them.
struct Buffers {
    io::AggregatorState state;
    FutexWord changed;
    std::array<OfEach<Plain<int>>, 2> parts;

    [[nodiscard]] io::Slot& slot(std::uint32_t at) { return state.slots[at]; }
    /// The dispatcher's: the next complete one.
    std::uint32_t take(std::uint32_t num_taken) {
        while (!state.ready.has_more(num_taken)) {
            state.ready.wait(num_taken, 1);
            forget(num_taken);
        }
        std::optional<std::uint32_t> slot;
        while (!(slot = state.ready.take(num_taken))) {
            look_later();
            forget(num_taken + 1000);
        }
        return *slot;
    }
};

Buffers& buffers(std::uint32_t num_slots) {
    auto& made = made_anew<Buffers>();
    for (std::uint32_t b = 0; b < num_slots; ++b) made.slot(b).turn.store(b);
    for (FutexWord* const word : {&made.state.ready.num_pushed, &made.state.ready.tail})
        word->store(0xfffffffe);
    return made;
}
constexpr std::uint32_t none_taken = 0xfffffffe;

Job writing(int num_ranks, std::uint32_t num_slots, std::uint32_t num_turns) {
    Buffers& shared = buffers(num_slots);
    const auto num = static_cast<std::uint32_t>(num_ranks);
    Job job = of_ranks(num_ranks, [=, &shared](int rank) {
        const Comm comm(rank, num_ranks);
        for (std::uint32_t turn = 0; turn < num_turns; ++turn) {
            const std::uint32_t b = turn % num_slots;
            mpi::wait_until(comm, shared.slot(b).turn, {}, [turn](std::uint32_t t) { return t == turn; });
            shared.parts[b][index(rank)].set(static_cast<int>(turn) + 1);
            shared.state.arrive(b, num);
            forget(turn);
        }
    });
    job.processes.emplace_back([=, &shared] {
        for (std::uint32_t i = 0; i < num_turns; ++i) {
            const std::uint32_t b = shared.take(none_taken + i);
            const std::uint32_t turn = shared.slot(b).turn.load(std::memory_order_acquire);
            for (int rank = 0; rank < num_ranks; ++rank)
                check(shared.parts[b][index(rank)].get() == static_cast<int>(turn) + 1,
                      "every part of the turn");
            shared.slot(b).clear();
            shared.slot(b).open(turn + num_slots, nullptr);
            forget(i);
        }
    });
    return job;
}

Job reading(int num_ranks, std::uint32_t num_slots, std::uint32_t num_turns) {
    Buffers& shared = buffers(num_slots);
    const auto num = static_cast<std::uint32_t>(num_ranks);
    Job job = of_ranks(num_ranks, [=, &shared](int rank) {
        const Comm comm(rank, num_ranks);
        for (std::uint32_t turn = 0; turn < num_turns; ++turn) {
            const std::uint32_t b = turn % num_slots;
            mpi::wait_until(comm, shared.slot(b).turn, {},
                            [turn](std::uint32_t t) { return t == (turn | io::Slot::filled); });
            check(shared.parts[b][0].get() == static_cast<int>(turn) + 1, "the bytes of the turn");
            shared.state.arrive(b, num);
            forget(turn);
        }
    });
    job.processes.emplace_back([=, &shared] {
        const auto fill = [&](std::uint32_t b, std::uint32_t turn) {
            shared.parts[b][0].set(static_cast<int>(turn) + 1);
            shared.slot(b).open(turn | io::Slot::filled, nullptr);
        };
        for (std::uint32_t turn = 0; turn < num_slots; ++turn) fill(turn, turn);
        for (std::uint32_t i = 0; i < num_turns; ++i) {
            const std::uint32_t b = shared.take(none_taken + i);
            const std::uint32_t turn =
                shared.slot(b).turn.load(std::memory_order_acquire) & ~io::Slot::filled;
            shared.slot(b).clear();
            shared.slot(b).turn.store(turn + num_slots, std::memory_order_release);
            if (turn + num_slots < num_turns) fill(b, turn + num_slots);
            forget(i);
        }
    });
    return job;
}

// A lane a buffer, each with its own server: a rank takes whichever is open.
Job by_lanes(int num_ranks, std::uint32_t num_turns) {
    constexpr std::uint32_t num_lanes = 2;
    Buffers& shared = buffers(num_lanes);
    for (std::uint32_t b = 0; b < num_lanes; ++b) shared.slot(b).turn.store(0);
    const auto num = static_cast<std::uint32_t>(num_ranks);
    Job job = of_ranks(num_ranks, [=, &shared](int rank) {
        const Comm comm(rank, num_ranks);
        std::array<std::uint32_t, num_lanes> next{};
        while (next[0] + next[1] < num_lanes * num_turns) {
            const std::uint32_t seen = shared.changed.load(std::memory_order_acquire);
            const std::uint32_t before = next[0] + next[1];
            for (std::uint32_t lane = 0; lane < num_lanes; ++lane) {
                if (next[lane] == num_turns) continue;
                if (shared.slot(lane).turn.load(std::memory_order_acquire) != next[lane]) continue;
                shared.parts[lane][index(rank)].set(static_cast<int>(next[lane]) + 1);
                shared.state.arrive(lane, num);
                ++next[lane];
            }
            if (next[0] + next[1] == before)
                mpi::wait_until(comm, shared.changed, {}, [seen](std::uint32_t v) { return v != seen; });
            forget(next[0] << 8 | next[1]);
        }
    });
    job.processes.emplace_back([=, &shared] {
        for (std::uint32_t i = 0; i < num_lanes * num_turns; ++i) {
            const std::uint32_t b = shared.take(none_taken + i);
            const std::uint32_t turn = shared.slot(b).turn.load(std::memory_order_acquire);
            for (int rank = 0; rank < num_ranks; ++rank)
                check(shared.parts[b][index(rank)].get() == static_cast<int>(turn) + 1,
                      "every part of the turn");
            shared.slot(b).clear();
            shared.slot(b).open(turn + 1, &shared.changed);
            forget(i);
        }
    });
    return job;
}

// io/between_nodes.cpp: the last of the ranks sends a staging buffer, and opens it for its next turn.
Job staging(int num_ranks, std::uint32_t num_turns) {
    Buffers& shared = buffers(1);
    Job job = of_ranks(num_ranks, [=, &shared](int rank) {
        const Comm comm(rank, num_ranks);
        io::Slot& slot = shared.slot(0);
        for (std::uint32_t turn = 0; turn < num_turns; ++turn) {
            mpi::wait_until(comm, slot.turn, {}, [turn](std::uint32_t t) { return t == turn; });
            shared.parts[0][index(rank)].set(static_cast<int>(turn) + 1);
            if (slot.arrive(static_cast<std::uint32_t>(num_ranks))) {
                for (const int each : {0, num_ranks - 1})
                    check(shared.parts[0][index(each)].get() == static_cast<int>(turn) + 1,
                          "every part of the message");
                slot.clear();
                slot.open(turn + 1, nullptr);
            }
            forget(turn);
        }
    });
    return job;
}

// io/slots.hpp: a queue that comes round to an entry that it has used. One buffer goes through it again and
// again, and one comes once: who pushes that knows of the others' by the queue alone.
Job queue(std::uint32_t num_times) {
    struct Shared {
        io::QueueOfSlots<2> ready;
        FutexWord opened;
        std::array<Plain<std::uint32_t>, 2> bytes;
    };
    auto& shared = made_anew<Shared>();
    for (FutexWord* const word : {&shared.ready.num_pushed, &shared.ready.tail}) word->store(none_taken);
    Job job;
    job.processes.emplace_back([=, &shared] {
        const Comm comm(0, 2);
        for (std::uint32_t time = 0; time < num_times; ++time) {
            mpi::wait_until(comm, shared.opened, {}, [time](std::uint32_t n) { return n == time; });
            shared.bytes[0].set(time + 1);
            shared.ready.push(0);
            forget(time);
        }
    });
    job.processes.emplace_back([&shared] {
        shared.bytes[1].set(1);
        shared.ready.push(1);
    });
    job.processes.emplace_back([=, &shared] {
        std::uint32_t num_first = 0;
        for (std::uint32_t i = 0; i <= num_times; ++i) {
            const std::uint32_t num_taken = none_taken + i;
            while (!shared.ready.has_more(num_taken)) {
                shared.ready.wait(num_taken, 1);
                forget(i << 8 | num_first);
            }
            std::optional<std::uint32_t> slot;
            while (!(slot = shared.ready.take(num_taken))) {
                look_later();
                forget(1U << 31 | i << 8 | num_first);
            }
            check(shared.bytes[*slot].get() == (*slot == 0 ? num_first + 1 : 1), "the bytes of this turn");
            if (*slot == 0) {
                shared.opened.store(++num_first, std::memory_order_release);
                futex_wake_all(shared.opened);
            }
            forget(1U << 30 | i << 8 | num_first);
        }
        check(num_first == num_times, "each buffer as often as it was pushed");
    });
    return job;
}

// io/ahead.hpp: calls without a meeting, until the last rank's call number `closing`, from which on all meet,
// at the same call.
struct Running {
    OfEach<io::SharedControl> controls;
    OfEach<Plain<std::int64_t>> calls, written;
    Plain<bool> is_granted;
};

Running& running(int num_ranks) {
    auto& made = made_anew<Running>();
    for (int rank = 0; rank < num_ranks; ++rank)
        (void)made.controls[index(rank)].set_up(Comm(rank, num_ranks));
    for (int rank = 0; rank < num_ranks; ++rank) made.controls[index(rank)].join();
    return made;
}

void meet(Running& shared, io::Ahead& ahead, int rank, int num_ranks, std::int64_t call) {
    io::SharedControl& control = shared.controls[index(rank)];
    shared.calls[index(rank)].set(call);
    control.team().round([&] {
        for (int each = 0; each < num_ranks; ++each)
            check(shared.calls[index(each)].get() == call, "all meet in one call");
        shared.is_granted.set(ahead.grant({.is_granted = true}).is_granted);
    });
    ahead.met({.is_granted = shared.is_granted.get()}, true);
}

Job ahead(int num_ranks, std::int64_t num_calls, std::int64_t closing) {
    Running& shared = running(num_ranks);
    return of_ranks(num_ranks, [=, &shared](int rank) {
        io::Ahead ahead;
        ahead.attach(Comm(rank, num_ranks), shared.controls[index(rank)]);
        for (std::int64_t call = 0; call < num_calls; ++call) {
            const bool is_closing = rank == num_ranks - 1 && call == closing;
            const Region file =
                is_closing ? Region::strided(0, 2, 2, Region::contiguous(0, 1)) : Region::contiguous(0, 1);
            if (!ahead.passes(true, file, false)) meet(shared, ahead, rank, num_ranks, call);
            ahead.end_call();
        }
    });
}

// The same where a rank waits in the end for the calls of the others.
Job left_calls(int num_ranks, std::int64_t num_calls) {
    Running& shared = running(num_ranks);
    return of_ranks(num_ranks, [=, &shared](int rank) {
        io::Ahead ahead;
        ahead.attach(Comm(rank, num_ranks), shared.controls[index(rank)]);
        for (std::int64_t call = 0; call < num_calls; ++call) {
            if (!ahead.passes(true, Region::contiguous(0, 1), false))
                meet(shared, ahead, rank, num_ranks, call);
            shared.written[index(rank)].set(call);
            ahead.end_call();
        }
        if (rank != 0) return;
        ahead.wait_for_left_calls();
        for (int other = 0; other < num_ranks; ++other)
            check(shared.written[index(other)].get() == num_calls - 1, "the other's calls are over");
    });
}

}  // namespace

std::vector<Protocol> protocols() {
    const Bounds all, early{.num_early_returns = 1}, few_switches{.most_switches = 2},
        some_switches{.most_switches = 4};
    using enum Effort;
    return {
        {"team of 2, 3 rounds", [] { return team(2, 3); }, seconds, early},
        {"team of 3, 2 rounds, few switches", [] { return team(3, 2); }, seconds, few_switches},
        {"team of 3, 2 rounds", [] { return team(3, 2); }, minutes, all},
        {"team of 4, 2 rounds, few switches", [] { return team(4, 2); }, minutes, few_switches},
        {"places in turn: 2 ranks, 4 rounds", [] { return places_in_turn(2, 4); }, seconds, all},
        {"places in turn: 3 ranks, 3 rounds", [] { return places_in_turn(3, 3); }, minutes, some_switches},
        {"node round of 2, 4 rounds", [] { return node_round(2, 4); }, seconds, early},
        {"node round of 3, 2 rounds, few switches", [] { return node_round(3, 2); }, seconds, few_switches},
        {"node round of 3, 4 rounds, some switches", [] { return node_round(3, 4); }, minutes, some_switches},
        {"halo channel of 2, 2 exchanges, few switches", [] { return channel(2, 2); }, seconds, few_switches},
        {"halo channel of 2, 2 exchanges", [] { return channel(2, 2); }, minute, all},
        {"halo channel of 2, 3 exchanges", [] { return channel(2, 3); }, minutes, all},
        {"halo channel of 3, no switches", [] { return channel(3, 1); }, minutes, {.most_switches = 0}},
        {"writing: 2 ranks, 1 buffer, 2 turns", [] { return writing(2, 1, 2); }, moment, all},
        {"writing: 2 ranks, 2 buffers, 4 turns", [] { return writing(2, 2, 4); }, minutes, all},
        {"writing: 3 ranks, 1 buffer, 2 turns", [] { return writing(3, 1, 2); }, minutes, all},
        {"reading: 2 ranks, 1 buffer, 2 turns", [] { return reading(2, 1, 2); }, seconds, all},
        {"reading: 2 ranks, 2 buffers, 3 turns, few switches", [] { return reading(2, 2, 3); }, minutes,
         few_switches},
        {"by lanes: 1 rank, 2 turns", [] { return by_lanes(1, 2); }, seconds, all},
        {"by lanes: 2 ranks, 2 turns, few switches", [] { return by_lanes(2, 2); }, minutes, few_switches},
        {"staging: 2 ranks, 3 turns", [] { return staging(2, 3); }, moment, early},
        {"staging: 3 ranks, 3 turns", [] { return staging(3, 3); }, minutes, all},
        {"queue that comes round", [] { return queue(2); }, moment, all},
        {"queue that comes round twice", [] { return queue(4); }, minutes, all},
        {"ahead: 2 ranks, 3 calls, the 3rd closes, few switches", [] { return ahead(2, 3, 2); }, seconds,
         few_switches},
        {"ahead: 2 ranks, 3 calls, the 3rd closes", [] { return ahead(2, 3, 2); }, minute, all},
        {"ahead: 2 ranks, 6 calls, the 3rd closes, some switches", [] { return ahead(2, 6, 2); }, minutes,
         some_switches},
        {"ahead: 3 ranks, 2 calls, the 2nd closes, few switches", [] { return ahead(3, 2, 1); }, minutes,
         few_switches},
        {"left calls: 2 ranks, 2 calls", [] { return left_calls(2, 2); }, seconds, all},
        {"left calls: 3 ranks, 2 calls, few switches", [] { return left_calls(3, 2); }, minutes,
         few_switches},
    };
}

}  // namespace hakobi::model
