#include "output/hidden_steps.hpp"

#include <gtest/gtest.h>

#include "base/clock.hpp"

namespace hakobi::output {
namespace {

/// Has as many hidden steps as it is told.
class Holder final : public Method {
  public:
    int num = 0;
    std::vector<std::int64_t> abandoned;

    mpi::Agreed write(const Step&) override { return {}; }
    [[nodiscard]] int num_hidden() const override { return num; }
    void abandon(const Step& step) override { abandoned.push_back(step.number); }
};

series::Step step_of(std::int64_t number, std::int64_t in_file = -1) {
    series::Step step{.number = number, .path = "out/run_00000" + std::to_string(number) + ".nc"};
    if (in_file >= 0) step.path = "out/run_000000.nc";
    step.step_in_file = in_file;
    return step;
}

TEST(HiddenSteps, AreNamedTheOldestFirst) {
    HiddenSteps steps;
    EXPECT_EQ(steps.names(), "");
    steps.add(step_of(3));
    steps.add(step_of(4, 4));
    EXPECT_EQ(steps.names(), "run_000003.nc, step 4 of run_000000.nc");
    EXPECT_EQ(steps.oldest().number, 3);
    EXPECT_EQ(steps.youngest().number, 4);
    steps.pop_oldest();
    EXPECT_EQ(steps.names(), "step 4 of run_000000.nc");
}

TEST(HiddenSteps, AllAreFinishedWhereNoneMayStay) {
    HiddenSteps steps;
    Holder method;
    EXPECT_EQ(steps.num_to_finish({}, method, 0), 0);
    for (int number = 0; number < 3; ++number) steps.add(step_of(number));
    method.num = 3;
    EXPECT_EQ(steps.num_to_finish({}, method, 0), 3);  // nobody is asked, so no Comm is needed
}

TEST(HiddenSteps, StoringIsHiddenWhileTheProgramIsInNoCall) {
    HiddenSteps steps;
    steps.begin_call();
    steps.add(step_of(0));
    steps.add(step_of(1));
    steps.end_call();
    const double returned_s = now_s();
    while (now_s() < returned_s + 0.002) {
    }
    const double called_s = now_s();
    steps.begin_call();
    const double first_s = steps.hidden_s(returned_s + 0.001);
    EXPECT_GE(first_s, 0.001);
    EXPECT_LE(first_s, called_s - returned_s);
    steps.pop_oldest();
    // Storing after the call began is not hidden, and no moment counts twice.
    const double second_s = steps.hidden_s(called_s + 100);
    EXPECT_GE(second_s, called_s - returned_s - 0.0011);
    EXPECT_LT(second_s, 1);
    EXPECT_EQ(steps.hidden_s(called_s + 100), 0);
}

TEST(HiddenSteps, TheMethodGivesUpEach) {
    HiddenSteps steps;
    Holder method;
    for (int number = 5; number < 8; ++number) steps.add(step_of(number));
    steps.abandon(method);
    EXPECT_TRUE(steps.empty());
    EXPECT_EQ(method.abandoned, (std::vector<std::int64_t>{7, 6, 5}));
}

}  // namespace
}  // namespace hakobi::output
