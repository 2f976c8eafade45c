#include <gtest/gtest.h>

#include <cstdlib>
#include <hakobi/buffer_array.hpp>
#include <hakobi/error.hpp>
#include <numeric>
#include <random>
#include <vector>

namespace hakobi {
namespace {

class BufferArrayBy : public testing::TestWithParam<const char*> {
  protected:
    void SetUp() override {
        if (std::string(GetParam()) == "nodes") setenv("HAKOBI_RANKS_PER_NODE", "1", 1);
        comm_ = Comm::duplicate(MPI_COMM_WORLD);
        unsetenv("HAKOBI_RANKS_PER_NODE");
        const std::string path = std::string(GetParam()) == "nodes" ? "auto" : GetParam();
        arrays_ = BufferArrays::get(comm_, {.path = path, .pack_bytes = 1000});
    }
    void TearDown() override { comm_.free(); }
    [[nodiscard]] int next() const { return (comm_.rank() + 1) % comm_.size(); }
    [[nodiscard]] int previous() const { return (comm_.rank() + comm_.size() - 1) % comm_.size(); }

    Comm comm_;
    BufferArrays arrays_;
};
INSTANTIATE_TEST_SUITE_P(Paths, BufferArrayBy, testing::Values("auto", "cma", "packed", "nodes"),
                         [](const auto& param) { return std::string(param.param); });

/// Cuts `bytes` into pieces, some of them empty, which lie in `memory` with gaps and in any order.
void append_cut(BufferArray& list, std::vector<unsigned char>& memory, std::int64_t bytes,
                std::mt19937& engine, std::vector<std::size_t>& order) {
    memory.assign(static_cast<std::size_t>(4 * bytes + 4096), 0xee);
    std::size_t at = 0;
    order.clear();
    while (bytes > 0) {
        const std::int64_t piece =
            std::min<std::int64_t>(bytes, std::uniform_int_distribution<int>(0, 900)(engine));
        list.append(memory.data() + at, piece);
        for (std::int64_t i = 0; i < piece; ++i) order.push_back(at + static_cast<std::size_t>(i));
        at += static_cast<std::size_t>(piece) + engine() % 3;
        bytes -= piece;
        if (at + 1000 > memory.size()) memory.resize(memory.size());
    }
}

TEST_P(BufferArrayBy, ManyPartsGoBothWaysAtOnce) {
    const BufferArrays arrays =
        BufferArrays::get(comm_, {.path = GetParam() == std::string("packed") ? "packed" : "auto"});
    constexpr std::size_t words = 500000;  // more than all the parts that are under way at a time
    std::vector<std::int64_t> sent(words), received(words, -1);
    std::iota(sent.begin(), sent.end(), 1000 * comm_.rank());
    BufferArray out = arrays.make(), in = arrays.make();
    out.append(sent.data(), 8 * words);
    in.append(received.data(), 8 * words);
    for (int round = 0; round < 3; ++round) {
        std::fill(received.begin(), received.end(), -1);
        // Whoever sends first has not told yet what it takes.
        if (comm_.rank() % 2 == 0) in.receive(previous());
        out.send(next());
        if (comm_.rank() % 2 != 0) in.receive(previous());
        out.wait();
        in.wait();
        for (std::size_t i = 0; i < words; ++i)
            ASSERT_EQ(received[i], 1000 * previous() + static_cast<std::int64_t>(i)) << "round " << round;
    }
}

TEST_P(BufferArrayBy, BytesArriveInOrderAcrossDifferentCuts) {
    std::mt19937 engine(static_cast<unsigned>(comm_.rank() + 17));
    for (const std::int64_t bytes : {0, 1, 4096, 4097, 100000}) {
        BufferArray out = arrays_.make(), in = arrays_.make();
        std::vector<unsigned char> sent, received;
        std::vector<std::size_t> sent_at, received_at;
        append_cut(out, sent, bytes, engine, sent_at);
        append_cut(in, received, bytes, engine, received_at);
        for (std::size_t i = 0; i < sent_at.size(); ++i)
            sent[sent_at[i]] = static_cast<unsigned char>(i * 7 + static_cast<std::size_t>(comm_.rank()));
        in.receive(previous(), 3);
        out.send(next(), 3);
        while (!out.done() || !in.done()) {
        }
        for (std::size_t i = 0; i < received_at.size(); ++i)
            ASSERT_EQ(received[received_at[i]],
                      static_cast<unsigned char>(i * 7 + static_cast<std::size_t>(previous())))
                << bytes << " bytes, at " << i;
    }
}

TEST_P(BufferArrayBy, ListsOfOneTagMeetInOrderWhoeverIsAskedFirst) {
    constexpr int num = 4;
    std::vector<std::vector<int>> out(num, std::vector<int>(2000)), in(num, std::vector<int>(2000));
    std::vector<BufferArray> sends, receives;
    for (std::size_t i = 0; i < num; ++i) {
        std::fill(out[i].begin(), out[i].end(), comm_.rank() * 100 + static_cast<int>(i));
        sends.push_back(arrays_.make());
        sends.back().append(out[i].data(), 8000);
        receives.push_back(arrays_.make());
        receives.back().append(in[i].data(), 3000);
        receives.back().append(in[i].data() + 750, 5000);
        receives.back().receive(previous());
    }
    for (BufferArray& list : sends) list.send(next());
    // The program's own messages with any tag are not disturbed.
    int theirs = -1, mine = comm_.rank();
    MPI_Sendrecv(&mine, 1, MPI_INT, next(), 0, &theirs, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG,
                 comm_.handle(), MPI_STATUS_IGNORE);
    EXPECT_EQ(theirs, previous());
    for (std::size_t i = num; i-- > 0;) receives[i].wait();
    for (BufferArray& list : sends) list.wait();
    for (std::size_t i = 0; i < num; ++i) {
        for (const int value : in[i]) ASSERT_EQ(value, previous() * 100 + static_cast<int>(i));
    }
}

TEST_P(BufferArrayBy, DifferentNumbersOfBytesAreAnErrorOnBothSides) {
    std::vector<char> out(6000), in(6000);
    BufferArray send = arrays_.make(), receive = arrays_.make();
    send.append(out.data(), 6000);
    receive.append(in.data(), 5999);
    receive.receive(previous());
    send.send(next());
    EXPECT_THROW(receive.wait(), Error);
    EXPECT_THROW(send.wait(), Error);
    // Both may be used again.
    receive.release();
    receive.append(in.data(), 6000);
    receive.receive(previous());
    send.send(next());
    receive.wait();
    send.wait();
}

TEST_P(BufferArrayBy, RefusesWhatCannotBe) {
    BufferArray list = arrays_.make();
    EXPECT_THROW(list.append(nullptr, 8), Error);
    EXPECT_THROW(list.send(comm_.size()), Error);
    EXPECT_THROW(list.receive(0, 10001), Error);
    EXPECT_TRUE(list.done());
    EXPECT_THROW((void)BufferArrays::get(comm_, {.path = "pigeon"}), Error);
}

}  // namespace
}  // namespace hakobi
