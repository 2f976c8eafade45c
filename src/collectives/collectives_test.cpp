#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstring>
#include <hakobi/collectives.hpp>
#include <hakobi/error.hpp>
#include <numeric>
#include <vector>

namespace hakobi {
namespace {

/// Runs on every number of ranks: the shapes have as many nodes as there are ranks.
std::vector<std::string> shapes_of(int num_ranks) {
    const std::string num = std::to_string(num_ranks);
    std::vector<std::string> shapes{"nodes", "torus:" + num, "hypercrossbar:1," + num};
    if (num_ranks == 4) shapes.insert(shapes.end(), {"hypercrossbar:2,2", "torus:2,2"});
    return shapes;
}

class CollectivesTest : public testing::Test {
  protected:
    Comm comm_ = Comm::duplicate(MPI_COMM_WORLD);
    void TearDown() override { comm_.free(); }

    /// Calls `use` with the collectives of every shape and method.
    template <class Use>
    void for_each_kind(Use use) {
        for (const std::string& shape : shapes_of(comm_.size())) {
            for (const char* method : {"model", "auto", "mpi"}) {
                // The other shapes' forms are timed like these, and timing takes its time.
                if (shape != "nodes" && method != std::string("model")) continue;
                Collectives collectives =
                    Collectives::create(comm_, {.shape = NetworkShape::parse(shape), .method = method});
                SCOPED_TRACE(shape + " " + method);
                use(collectives);
                collectives.free();
            }
        }
    }
};

TEST_F(CollectivesTest, AllreduceSumsAlsoInPlaceAndFewerElementsThanRanks) {
    for_each_kind([&](Collectives& collectives) {
        for (const std::int64_t count : {0, 1, 2, 3, 1000, 20011}) {
            CollectivePlan plan = collectives.allreduce(ElementType::int64, Reduction::sum, count);
            std::vector<std::int64_t> input(static_cast<std::size_t>(count)), output(input.size(), -1),
                expected;
            for (std::size_t i = 0; i < input.size(); ++i) {
                const auto index = static_cast<std::int64_t>(i);
                input[i] = (comm_.rank() + 1) * 1000 + index;
                expected.push_back(500 * comm_.size() * (comm_.size() + 1) + comm_.size() * index);
            }
            for (int repeat = 0; repeat < 2; ++repeat) {
                plan.execute(input.data(), output.data());
                ASSERT_EQ(output, expected) << count;
            }
            plan.execute(input.data(), input.data());
            ASSERT_EQ(input, expected) << count << " in place: " << plan.explain();
        }
    });
}

TEST_F(CollectivesTest, RanksMayWaitForPlansInAnyOrder) {
    for_each_kind([&](Collectives& collectives) {
        constexpr std::size_t count = 50000;
        std::vector<std::int64_t> sent(count), ones(count, 1), sums(count);
        CollectivePlan broadcast = collectives.broadcast(count * 8, comm_.size() - 1);
        CollectivePlan sum = collectives.allreduce(ElementType::int64, Reduction::sum, count);
        for (int round = 0; round < 6; ++round) {
            std::fill(sent.begin(), sent.end(), comm_.rank() == comm_.size() - 1 ? round : -1);
            std::fill(sums.begin(), sums.end(), -1);
            broadcast.start(nullptr, sent.data());
            sum.start(ones.data(), sums.data());
            const bool is_in_order = (comm_.rank() + round) % 2 == 0;
            (is_in_order ? broadcast : sum).wait();
            if (round % 3 == 0) {
                while (!(is_in_order ? sum : broadcast).test()) {
                }
            } else {
                (is_in_order ? sum : broadcast).wait();
            }
            ASSERT_EQ(sent, std::vector<std::int64_t>(count, round));
            ASSERT_EQ(sums, std::vector<std::int64_t>(count, comm_.size()));
        }
    });
}

TEST_F(CollectivesTest, AllreduceReducesEveryTypeAsMpiDoes) {
    for_each_kind([&](Collectives& collectives) {
        const auto value = static_cast<double>(comm_.rank() + 1);
        const auto largest = static_cast<double>(comm_.size());
        double real = value, found = 0;
        collectives.allreduce(ElementType::float64, Reduction::maximum, 1).execute(&real, &found);
        EXPECT_EQ(found, largest);
        collectives.allreduce(ElementType::float64, Reduction::minimum, 1).execute(&real, &found);
        EXPECT_EQ(found, 1.0);
        collectives.allreduce(ElementType::float64, Reduction::product, 1).execute(&real, &found);
        EXPECT_EQ(found, std::tgamma(largest + 1));
        const std::vector<std::complex<double>> two{{value, -value}, {0, 1}};
        std::vector<std::complex<double>> sums(2);
        collectives.allreduce(ElementType::complex128, Reduction::sum, 2).execute(two.data(), sums.data());
        const double sum = largest * (largest + 1) / 2;
        EXPECT_EQ(sums[0], (std::complex<double>{sum, -sum}));
        EXPECT_EQ(sums[1], (std::complex<double>{0, largest}));
        const std::complex<float> small{static_cast<float>(value), 0};
        std::complex<float> small_sum;
        collectives.allreduce(ElementType::complex64, Reduction::sum, 1).execute(&small, &small_sum);
        EXPECT_EQ(small_sum.real(), static_cast<float>(sum));
        const std::int32_t number = comm_.rank();
        std::int32_t lowest = -1;
        collectives.allreduce(ElementType::int32, Reduction::minimum, 1).execute(&number, &lowest);
        EXPECT_EQ(lowest, 0);
    });
}

TEST_F(CollectivesTest, AlltoallMovesBlocksAlsoInPlace) {
    for_each_kind([&](Collectives& collectives) {
        for (const std::size_t words : {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{3000}}) {
            const auto num = static_cast<std::size_t>(comm_.size());
            CollectivePlan plan = collectives.alltoall(static_cast<std::int64_t>(words * 8));
            std::vector<std::int64_t> input(words * num), output(input.size(), -1), expected(input.size());
            for (std::size_t i = 0; i < input.size(); ++i) {
                const auto block = static_cast<std::int64_t>(i / std::max<std::size_t>(words, 1));
                const auto place = static_cast<std::int64_t>(i % std::max<std::size_t>(words, 1));
                input[i] = (comm_.rank() * 10 + block) * 10000 + place;
                expected[i] = (block * 10 + comm_.rank()) * 10000 + place;
            }
            plan.execute(input.data(), output.data());
            ASSERT_EQ(output, expected) << words;
            plan.execute(input.data(), input.data());
            ASSERT_EQ(input, expected) << words << " in place";
        }
    });
}

TEST_F(CollectivesTest, AllgatherGathersAlsoInPlace) {
    for_each_kind([&](Collectives& collectives) {
        for (const std::size_t bytes : {0, 1, 13, 50000}) {
            CollectivePlan plan = collectives.allgather(static_cast<std::int64_t>(bytes));
            std::vector<char> input(bytes, static_cast<char>('a' + comm_.rank())), expected;
            for (int rank = 0; rank < comm_.size(); ++rank)
                expected.insert(expected.end(), bytes, static_cast<char>('a' + rank));
            std::vector<char> output(expected.size(), '-');
            plan.execute(input.data(), output.data());
            ASSERT_EQ(output, expected);
            char* own = output.data() + static_cast<std::size_t>(comm_.rank()) * bytes;
            std::fill(output.begin(), output.end(), '-');
            std::fill_n(own, bytes, static_cast<char>('a' + comm_.rank()));
            plan.execute(own, output.data());
            ASSERT_EQ(output, expected) << "in place";
        }
    });
}

TEST_F(CollectivesTest, BroadcastBringsTheRootsBytes) {
    for_each_kind([&](Collectives& collectives) {
        for (int root = 0; root < comm_.size(); ++root) {
            for (const std::size_t bytes : {0, 1, 3, 40001}) {
                CollectivePlan plan = collectives.broadcast(static_cast<std::int64_t>(bytes), root);
                std::vector<char> data(bytes, static_cast<char>('a' + comm_.rank()));
                plan.execute(nullptr, data.data());
                ASSERT_EQ(data, std::vector<char>(bytes, static_cast<char>('a' + root)));
            }
        }
    });
}

TEST_F(CollectivesTest, PlansAreUnderWayTogetherBesideTheProgramsMessages) {
    for_each_kind([&](Collectives& collectives) {
        CollectivePlan first = collectives.allreduce(ElementType::float64, Reduction::sum, 5000);
        CollectivePlan second = collectives.allreduce(ElementType::float64, Reduction::sum, 1);
        std::vector<double> many(5000, 1.0), sums(5000);
        double one = 2.0, sum = 0;
        const int next = (comm_.rank() + 1) % comm_.size(),
                  before = (comm_.rank() + comm_.size() - 1) % comm_.size();
        int sent = comm_.rank(), received = -1;
        MPI_Request requests[2];
        MPI_Irecv(&received, 1, MPI_INT, before, 0, comm_.handle(), &requests[0]);
        first.start(many.data(), sums.data());
        second.start(&one, &sum);
        MPI_Isend(&sent, 1, MPI_INT, next, 0, comm_.handle(), &requests[1]);
        second.wait();
        while (!first.test()) {
        }
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        EXPECT_EQ(received, before);
        EXPECT_EQ(sum, 2.0 * comm_.size());
        EXPECT_EQ(sums, std::vector<double>(5000, static_cast<double>(comm_.size())));
    });
}

TEST_F(CollectivesTest, ReproducibleSumsHaveTheSameBitsWhateverTheTiming) {
    for (const std::string& shape : shapes_of(comm_.size())) {
        Collectives collectives =
            Collectives::create(comm_, {.shape = NetworkShape::parse(shape), .is_reproducible = true});
        for (const std::int64_t count : {1, 3000}) {
            std::vector<double> input(static_cast<std::size_t>(count));
            for (std::size_t i = 0; i < input.size(); ++i)
                input[i] =
                    std::ldexp(1.0 + 0.1 * comm_.rank(), comm_.rank() * 13 % 29) / static_cast<double>(i + 3);
            std::vector<double> first(input.size()), again(input.size()), everywhere(input.size());
            CollectivePlan plan = collectives.allreduce(ElementType::float64, Reduction::sum, count);
            plan.execute(input.data(), first.data());
            for (int late = 0; late < comm_.size(); ++late) {
                if (late == comm_.rank()) {
                    for (const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(3);
                         std::chrono::steady_clock::now() < end;) {
                    }
                }
                plan.execute(input.data(), again.data());
                ASSERT_EQ(std::memcmp(first.data(), again.data(), first.size() * 8), 0);
            }
            everywhere = first;
            MPI_Bcast(everywhere.data(), static_cast<int>(count), MPI_DOUBLE, 0, comm_.handle());
            ASSERT_EQ(std::memcmp(first.data(), everywhere.data(), first.size() * 8), 0);
        }
        collectives.free();
    }
}

TEST_F(CollectivesTest, RefusesOnEveryRankWhatDiffersBetweenRanks) {
    if (comm_.size() < 2) GTEST_SKIP() << "there is no other rank";
    Collectives collectives = Collectives::create(comm_, {});
    try {
        (void)collectives.allreduce(ElementType::float64, Reduction::sum, comm_.rank() == 1 ? 16 : 8);
        FAIL() << "it was taken";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
        EXPECT_STREQ(error.what(), "Collectives::allreduce: size differs between ranks: 8 to 16");
    }
    EXPECT_THROW((void)collectives.broadcast(8, comm_.rank()), Error);
    if (comm_.rank() == 0) {
        EXPECT_THROW((void)collectives.allgather(8), Error);
    } else {
        EXPECT_THROW((void)collectives.alltoall(8), Error);
    }
    EXPECT_THROW((void)Collectives::create(comm_, {.method = comm_.rank() == 0 ? "auto" : "mpi"}), Error);
    // The object is as good as before.
    int sum = 0, one = 1;
    collectives.allreduce(ElementType::int32, Reduction::sum, 1).execute(&one, &sum);
    EXPECT_EQ(sum, comm_.size());
    collectives.free();
}

TEST_F(CollectivesTest, RefusesWhatIsWrongOnOneRankOnEveryRank) {
    Collectives collectives = Collectives::create(comm_, {});
    const bool is_last = comm_.rank() == comm_.size() - 1;
    EXPECT_THROW((void)collectives.alltoall(is_last ? -1 : 8), Error);
    EXPECT_THROW((void)collectives.broadcast(8, is_last ? comm_.size() : 0), Error);
    EXPECT_THROW((void)collectives.allreduce(ElementType::complex128, Reduction::maximum, 1), Error);
    EXPECT_THROW((void)Collectives::create(comm_, {.shape = NetworkShape::parse("torus:7,7")}), Error);
    EXPECT_THROW((void)Collectives::create(comm_, {.method = "fastest"}), Error);
    EXPECT_THROW((void)Collectives::create(comm_, {.method = "mpi", .is_reproducible = true}), Error);
    CollectivePlan plan = collectives.allgather(8);
    EXPECT_THROW(plan.execute(nullptr, nullptr), Error);
    collectives.free();
}

TEST_F(CollectivesTest, SaysWhatWasChosen) {
    Collectives collectives = Collectives::create(comm_, {});
    const std::string text = collectives.allreduce(ElementType::complex128, Reduction::sum, 1).explain();
    EXPECT_EQ(text.rfind("allreduce of 16 B: ", 0), 0u) << text;
    if (comm_.rank() == 0) std::printf("%s\n", text.c_str());
    collectives.free();
}

}  // namespace
}  // namespace hakobi
