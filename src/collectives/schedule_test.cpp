#include "collectives/schedule.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <deque>
#include <functional>
#include <hakobi/error.hpp>
#include <map>
#include <string>
#include <tuple>

#include "collectives/choice.hpp"

namespace hakobi::collectives {
namespace {

using Words = std::vector<std::int64_t>;

/// One rank's memory in a run of schedules without MPI. An element of an allreduce is one word.
struct Rank {
    Words input, output, scratch;
    Schedule schedule;
    std::vector<std::size_t> round;  // of each lane
    std::vector<bool> has_begun;     // its round
    bool is_in_place = false;

    std::byte* place(Slot slot, std::int64_t bytes) {
        Words& words = slot.buffer == Buffer::scratch                 ? scratch
                       : slot.buffer == Buffer::input && !is_in_place ? input
                                                                      : output;
        const auto size = static_cast<std::int64_t>(words.size() * sizeof(std::int64_t));
        EXPECT_GE(slot.offset_bytes, 0);
        EXPECT_LE(slot.offset_bytes + bytes, size);
        return reinterpret_cast<std::byte*>(words.data()) + slot.offset_bytes;
    }
    void copy(const Copy& each, std::size_t loop = 0, std::int64_t from = 0, std::int64_t to = 0) {
        if (loop == each.repeats.size()) {
            const Slot source{each.from.buffer, each.from.offset_bytes + from};
            const Slot target{each.to.buffer, each.to.offset_bytes + to};
            std::memmove(place(target, each.bytes), place(source, each.bytes),
                         static_cast<std::size_t>(each.bytes));
            return;
        }
        const Repeat repeat = each.repeats[loop];
        for (std::int64_t i = 0; i < repeat.count; ++i)
            copy(each, loop + 1, from + i * repeat.from_stride, to + i * repeat.to_stride);
    }
    void sum(const Sum& each) {
        Words total(static_cast<std::size_t>(each.bytes) / 8), operand(total.size());
        for (const Slot& slot : each.operands) {
            std::memcpy(operand.data(), place(slot, each.bytes), static_cast<std::size_t>(each.bytes));
            for (std::size_t i = 0; i < total.size(); ++i) total[i] += operand[i];
        }
        std::memcpy(place(each.to, each.bytes), total.data(), static_cast<std::size_t>(each.bytes));
    }
};

/// Runs the ranks' schedules against each other. A message's bytes are taken when its receiver finishes the
/// round, and until then its sender may not: what MPI allows at its latest. Says whether all came to their
/// end.
class Simulation {
  public:
    explicit Simulation(std::vector<Rank>& ranks) : ranks_(ranks) {
        for (Rank& rank : ranks_) {
            rank.scratch.assign(static_cast<std::size_t>(rank.schedule.scratch_bytes) / 8 + 1, -777);
            rank.round.assign(rank.schedule.lanes.size(), 0);
            rank.has_begun.assign(rank.schedule.lanes.size(), false);
        }
    }
    bool to_its_end() {
        for (bool has_moved = true; has_moved;) {
            has_moved = false;
            for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
                for (std::size_t lane = 0; lane < ranks_[rank].round.size(); ++lane)
                    has_moved = advance(rank, lane) || has_moved;
            }
        }
        for (const Rank& rank : ranks_) {
            for (std::size_t lane = 0; lane < rank.round.size(); ++lane) {
                if (rank.round[lane] != rank.schedule.lanes[lane].rounds.size()) return false;
            }
        }
        for (const auto& [key, queue] : mail_) {
            if (!queue.empty()) return false;
        }
        return true;
    }

  private:
    using Key = std::tuple<std::size_t, std::size_t, std::size_t>;  // from, to, lane

    bool advance(std::size_t number, std::size_t lane) {
        Rank& rank = ranks_[number];
        const auto& rounds = rank.schedule.lanes[lane].rounds;
        if (rank.round[lane] == rounds.size()) return false;
        const Round& round = rounds[rank.round[lane]];
        const bool begins = !rank.has_begun[lane];
        if (begins) {
            rank.has_begun[lane] = true;
            for (const Copy& each : round.before) rank.copy(each);
            for (const Message& send : round.sends) {
                const std::byte* data = rank.place(send.slot, send.bytes);
                mail_[{number, static_cast<std::size_t>(send.peer), lane}].emplace_back(data,
                                                                                        data + send.bytes);
            }
        }
        for (const Message& receive : round.receives) {
            if (mail_[{static_cast<std::size_t>(receive.peer), number, lane}].empty()) return begins;
        }
        for (const Message& receive : round.receives) {
            auto& queue = mail_[{static_cast<std::size_t>(receive.peer), number, lane}];
            EXPECT_EQ(static_cast<std::int64_t>(queue.front().size()), receive.bytes);
            std::memcpy(rank.place(receive.slot, receive.bytes), queue.front().data(), queue.front().size());
            queue.pop_front();
        }
        for (const Sum& each : round.sums) rank.sum(each);
        for (const Copy& each : round.after) rank.copy(each);
        ++rank.round[lane];
        rank.has_begun[lane] = false;
        return true;
    }

    std::vector<Rank>& ranks_;
    std::map<Key, std::deque<std::vector<std::byte>>> mail_;
};

std::vector<Form> forms_of(const std::string& shape, Operation operation, std::int64_t bytes) {
    std::vector<Form> forms;
    const NetworkShape parsed = NetworkShape::parse(shape);
    // Different prices bring different factors.
    for (const NetworkCosts& costs :
         {NetworkCosts{1e-6, 1e-9, 1e12}, NetworkCosts{1e-9, 1e-6, 1e9}, NetworkCosts{1e-6, 1e-6, 1e6}}) {
        for (Choice& choice : choices(parsed, costs, {operation, bytes}))
            forms.push_back(std::move(choice.form));
    }
    return forms;
}

const char* const shapes[] = {"hypercrossbar:1",
                              "hypercrossbar:2",
                              "hypercrossbar:3",
                              "hypercrossbar:7",
                              "hypercrossbar:4,3",
                              "hypercrossbar:2,1,3",
                              "hypercrossbar:4,4,2",
                              "hypercrossbar:3,3,3",
                              "torus:1,1",
                              "torus:2",
                              "torus:5",
                              "torus:4,3",
                              "torus:3,1,4",
                              "torus:4,4,3",
                              "torus:2,2,2,2",
                              "hypercrossbar:2,3,2,2,2"};

std::int64_t element(int rank, std::int64_t index) {
    return (rank + 1) * 1000003 + index * 17 + rank * index;
}

std::vector<Rank> make_ranks(int num_ranks, const std::function<Schedule(int)>& make, bool is_in_place) {
    std::vector<Rank> ranks(static_cast<std::size_t>(num_ranks));
    for (int rank = 0; rank < num_ranks; ++rank) {
        ranks[static_cast<std::size_t>(rank)].schedule = make(rank);
        ranks[static_cast<std::size_t>(rank)].is_in_place = is_in_place;
    }
    return ranks;
}

class EveryShape : public testing::TestWithParam<const char*> {
  protected:
    [[nodiscard]] int num_ranks() const {
        return static_cast<int>(NetworkShape::parse(GetParam()).num_nodes());
    }
};

TEST_P(EveryShape, AllreduceSumsEveryRanksElementsOnEveryRank) {
    const int num = num_ranks();
    for (const std::int64_t count : {0, 1, 2, 5, 47, 1000}) {
        for (const Form& form : forms_of(GetParam(), Operation::allreduce, count * 8)) {
            for (const bool is_in_place : {false, true}) {
                auto ranks = make_ranks(
                    num, [&](int rank) { return make_allreduce(form, rank, count, 8); }, is_in_place);
                Words expected(static_cast<std::size_t>(count), 0);
                for (int rank = 0; rank < num; ++rank) {
                    Words values(static_cast<std::size_t>(count));
                    for (std::int64_t i = 0; i < count; ++i) {
                        values[static_cast<std::size_t>(i)] = element(rank, i);
                        expected[static_cast<std::size_t>(i)] += element(rank, i);
                    }
                    Rank& each = ranks[static_cast<std::size_t>(rank)];
                    each.input = values;
                    each.output = is_in_place ? values : Words(values.size(), -1);
                }
                ASSERT_TRUE(Simulation(ranks).to_its_end()) << "count " << count;
                for (const Rank& rank : ranks) ASSERT_EQ(rank.output, expected) << "count " << count;
            }
        }
    }
}

TEST_P(EveryShape, AlltoallBringsEveryBlockToItsRank) {
    const int num = num_ranks();
    for (const std::int64_t words : {0, 1, 3, 16}) {
        for (const Form& form : forms_of(GetParam(), Operation::alltoall, words * 8)) {
            auto ranks = make_ranks(
                num, [&](int rank) { return make_alltoall(form, rank, num, words * 8); }, false);
            const std::int64_t total = words * num;
            for (int rank = 0; rank < num; ++rank) {
                Rank& each = ranks[static_cast<std::size_t>(rank)];
                for (std::int64_t i = 0; i < total; ++i) each.input.push_back(element(rank, i));
                each.output.assign(static_cast<std::size_t>(total), -1);
            }
            ASSERT_TRUE(Simulation(ranks).to_its_end());
            for (int rank = 0; rank < num; ++rank) {
                for (std::int64_t i = 0; i < total; ++i) {
                    const auto from = static_cast<int>(i / words);
                    ASSERT_EQ(ranks[static_cast<std::size_t>(rank)].output[static_cast<std::size_t>(i)],
                              element(from, rank * words + i % words));
                }
            }
        }
    }
}

TEST_P(EveryShape, AllgatherBringsEveryBlockToEveryRank) {
    const int num = num_ranks();
    for (const std::int64_t words : {0, 1, 3, 16}) {
        for (const Form& form : forms_of(GetParam(), Operation::allgather, words * 8)) {
            auto ranks = make_ranks(
                num, [&](int rank) { return make_allgather(form, rank, num, words * 8); }, false);
            Words expected;
            for (int rank = 0; rank < num; ++rank) {
                Rank& each = ranks[static_cast<std::size_t>(rank)];
                for (std::int64_t i = 0; i < words; ++i) each.input.push_back(element(rank, i));
                expected.insert(expected.end(), each.input.begin(), each.input.end());
                each.output.assign(static_cast<std::size_t>(words * num), -1);
            }
            ASSERT_TRUE(Simulation(ranks).to_its_end());
            for (const Rank& rank : ranks) ASSERT_EQ(rank.output, expected);
        }
    }
}

TEST_P(EveryShape, BroadcastBringsTheRootsBytesFromAnyRoot) {
    const int num = num_ranks();
    for (const std::int64_t words : {0, 1, 3, 100}) {
        for (const Form& form : forms_of(GetParam(), Operation::broadcast, words * 8)) {
            for (const int root : {0, num / 2, num - 1}) {
                auto ranks = make_ranks(
                    num, [&](int rank) { return make_broadcast(form, rank, root, words * 8); }, false);
                Words expected;
                for (std::int64_t i = 0; i < words; ++i) expected.push_back(element(root, i));
                for (int rank = 0; rank < num; ++rank)
                    ranks[static_cast<std::size_t>(rank)].output =
                        rank == root ? expected : Words(expected.size(), -1);
                ASSERT_TRUE(Simulation(ranks).to_its_end());
                for (const Rank& rank : ranks) ASSERT_EQ(rank.output, expected);
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Shapes, EveryShape, testing::ValuesIn(shapes),
                         [](const auto& each) { return "Number" + std::to_string(each.index); });

TEST(Allreduce, LargeVectorsKeepEveryLinkAsBusyAsTheOthers) {
    const NetworkShape shape = NetworkShape::parse("hypercrossbar:4,4,4");
    const Form form = choices(shape, {10e-6, 1e-6, 250e6}, {Operation::allreduce, 8 << 20}).front().form;
    const Schedule schedule = make_allreduce(form, 21, 1 << 20, 8);
    std::map<int, std::int64_t> bytes_of_dimension;
    for (const Lane& lane : schedule.lanes) {
        for (const Round& round : lane.rounds) {
            for (const Message& send : round.sends) {
                const int distance = std::abs(send.peer - 21);
                bytes_of_dimension[distance % 4 != 0 ? 2 : distance % 16 != 0 ? 1 : 0] += send.bytes;
            }
        }
    }
    // The least that a node must send is 2 (p - 1) / p of the vector, a third of it over each link.
    const double least = 2.0 * 63 / 64 * (8 << 20) / 3;
    for (const auto& [dimension, bytes] : bytes_of_dimension)
        EXPECT_NEAR(static_cast<double>(bytes), least, 0.01 * least) << dimension;
    EXPECT_EQ(bytes_of_dimension.size(), 3u);
}

TEST(Alltoall, SendsEachByteOncePerDimension) {
    const NetworkShape shape = NetworkShape::parse("hypercrossbar:4,4,4");
    const Form form = choices(shape, {10e-6, 1e-6, 250e6}, {Operation::alltoall, 4096}).front().form;
    EXPECT_EQ(form.routes.size(), 3u);
    std::int64_t sent = 0;
    for (const Lane& lane : make_alltoall(form, 5, 64, 4096).lanes) {
        for (const Round& round : lane.rounds) {
            for (const Message& send : round.sends) sent += send.bytes;
        }
    }
    EXPECT_EQ(sent, 3 * 48 * 4096);
}

TEST(NetworkShape, ReadsWhatItPrints) {
    for (const char* text : {"hypercrossbar:16,16,10", "torus:4", "nodes"})
        EXPECT_EQ(NetworkShape::parse(text).to_string(), text);
    EXPECT_EQ(NetworkShape::parse("hypercrossbar:16,16,10").num_nodes(), 2560);
}

TEST(NetworkShape, RefusesWhatIsNone) {
    for (const char* text :
         {"", "ring:4", "torus", "torus:", "torus:0", "torus:4,", "torus:4,-1", "torus:4;4", "nodes:4",
          "torus:99999,99999,99999", "torus:1,1,1,1,1,1,1,1,1", "torus:4 ", "torus:9999999999999"})
        EXPECT_THROW((void)NetworkShape::parse(text), Error) << text;
}

}  // namespace
}  // namespace hakobi::collectives
