#include "io/policy.hpp"

#include <gtest/gtest.h>

#include <set>

#include "io/options.hpp"

namespace hakobi::io {
namespace {

TEST(Policy, EachThresholdHasANameOfItsOwnAndItsOwnValue) {
    std::set<std::string_view> names;
    for (const Threshold& each : thresholds()) {
        EXPECT_TRUE(names.insert(each.name).second) << each.name;
        EXPECT_FALSE(each.rows.empty()) << each.name;
        Policy changed;
        ASSERT_TRUE(set_threshold("hakobi_policy_" + std::string(each.name), "77777", changed).ok());
        EXPECT_EQ(changed.*each.value, 77777) << each.name;
        changed.*each.value = Policy().*each.value;
        EXPECT_EQ(changed, Policy()) << each.name;
    }
}

TEST(Policy, EachCanBeSetToTheValueAtWhichItDoesNotExist) {
    for (const Threshold& each : thresholds()) {
        Policy changed;
        const Status status =
            set_threshold("hakobi_policy_" + std::string(each.name), std::to_string(each.without), changed);
        EXPECT_TRUE(status.ok()) << status.text();
        EXPECT_NE(fingerprint(changed), fingerprint(Policy())) << each.name;
    }
}

TEST(Policy, RefusesUnknownNamesAndValuesOutOfRange) {
    Policy policy;
    const Status unknown = set_threshold("hakobi_policy_large_pieces", "1M", policy);
    EXPECT_EQ(unknown.code(), ErrorCode::invalid_argument);
    EXPECT_NE(unknown.text().find("'hakobi_policy_large_piece'"), std::string::npos) << unknown.text();
    for (const char* value : {"0", "-1", "many", "2048G"})
        EXPECT_FALSE(set_threshold("hakobi_policy_sieve_window", value, policy).ok()) << value;
    EXPECT_EQ(policy, Policy());
}

TEST(Policy, AFilesHintsDoNotSetThresholds) {
    std::vector<std::string> warnings;
    EXPECT_TRUE(engine_options({{"hakobi_policy_large_piece", "2M"}}, warnings).ok());
    ASSERT_EQ(warnings.size(), 1U);
    EXPECT_NE(warnings.front().find("HAKOBI_HINTS"), std::string::npos) << warnings.front();
}

}  // namespace
}  // namespace hakobi::io
