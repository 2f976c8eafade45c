#include "mpi/sparse_exchange.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <random>
#include <thread>

namespace hakobi::mpi {
namespace {

using Words = std::vector<std::int64_t>;

class SparseExchange : public testing::Test {
  protected:
    void SetUp() override {
        comm_ = Comm::duplicate(MPI_COMM_WORLD);
        context_ = MessageContext::of(comm_, MessageContext::Kind::descriptions);
    }
    void TearDown() override { comm_.free(); }

    /// The messages of `rank` to `to` in a round: every rank can compute them.
    static std::vector<Words> messages(int rank, int to, int round) {
        std::mt19937_64 random(static_cast<std::uint64_t>((round * 64 + rank) * 64 + to));
        std::vector<Words> result;
        for (auto num = random() % 3; num > 0; --num) {
            Words words(random() % 40);
            std::iota(words.begin(), words.end(), static_cast<std::int64_t>(random() >> 2));
            result.push_back(words);
        }
        return result;
    }
    void exchange(int round, std::int64_t part_words) {
        std::vector<std::vector<Words>> own;
        std::vector<WordsTo> sent;
        for (int to = 0; to < comm_.size(); ++to) own.push_back(messages(comm_.rank(), to, round));
        for (int to = 0; to < comm_.size(); ++to)
            for (const Words& words : own[static_cast<std::size_t>(to)]) sent.push_back({to, words});
        std::vector<std::pair<int, Words>> expected, found;
        for (int from = 0; from < comm_.size(); ++from)
            for (const Words& words : messages(from, comm_.rank(), round)) expected.emplace_back(from, words);
        for (WordsFrom& from : sparse_exchange(comm_, context_, sent, part_words))
            found.emplace_back(from.rank, std::move(from.words));
        ASSERT_EQ(found, expected) << "round " << round;
    }

    Comm comm_;
    MessageContext context_;
};

TEST_F(SparseExchange, NobodyNeedSendAnything) {
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(sparse_exchange(comm_, context_, {}).empty());
}

TEST_F(SparseExchange, EveryMessageComesOnceAndExchangesInARowDoNotMixUp) {
    for (int round = 0; round < 500; ++round) exchange(round, most_words_of_a_part);
}

// Messages of at most 40 words: of no part, of whole parts and of others.
TEST_F(SparseExchange, LongMessagesComeInParts) {
    for (int round = 0; round < 100; ++round) exchange(round, 1 + round % 9);
}

TEST_F(SparseExchange, LateRanksGetOnlyWhatBelongsToTheirExchange) {
    for (int round = 0; round < 20; ++round) {
        if (round % comm_.size() == comm_.rank()) std::this_thread::sleep_for(std::chrono::milliseconds(3));
        exchange(round, most_words_of_a_part);
    }
}

TEST_F(SparseExchange, AllMaySendToOneALongMessage) {
    const Words words(1 << 18, comm_.rank());
    const WordsTo sent{comm_.size() - 1, words};
    const std::vector<WordsFrom> received = sparse_exchange(comm_, context_, std::span(&sent, 1));
    if (comm_.rank() != comm_.size() - 1) {
        EXPECT_TRUE(received.empty());
        return;
    }
    ASSERT_EQ(std::ssize(received), comm_.size());
    for (int from = 0; from < comm_.size(); ++from) {
        EXPECT_EQ(received[static_cast<std::size_t>(from)].rank, from);
        EXPECT_EQ(received[static_cast<std::size_t>(from)].words, Words(1 << 18, from));
    }
}

}  // namespace
}  // namespace hakobi::mpi
