#include "options.hpp"

#include <gtest/gtest.h>

namespace hakobi::bench {
namespace {

Result<HypercrossbarOptions> parse(std::vector<const char*> words, int num_ranks = 4) {
    words.insert(words.begin(), "hakobi-bench-hypercrossbar");
    std::string help;
    return parse_hypercrossbar_options(static_cast<int>(words.size()), words.data(), num_ranks, help);
}

TEST(HypercrossbarOptions, TakeAsManyDimensionsAsThereArePartners) {
    const auto options = parse({});
    ASSERT_TRUE(options.ok());
    EXPECT_EQ(options.value().dimensions, (std::vector<int>{1, 2, 3}));
    EXPECT_EQ(options.value().contenders.size(), 4U);
    EXPECT_EQ(options.value().contenders[1].name, "mpi");
    EXPECT_EQ(options.value().contenders[1].num_under_way, 4);
}

TEST(HypercrossbarOptions, RefuseWhatCannotBeMeasured) {
    for (const auto& words : std::vector<std::vector<const char*>>{{"--contenders", "mpi,hallo"},
                                                                   {"--contenders", "mpi:0"},
                                                                   {"--contenders", "mpi:many"},
                                                                   {"--sizes", "1001"},
                                                                   {"--sizes", "4096", "--row-bytes", "1000"},
                                                                   {"--dimensions", "4"},
                                                                   {"--ways", "sideways"},
                                                                   {"--payload-mb-s", "-1"}}) {
        const auto options = parse(words);
        ASSERT_FALSE(options.ok()) << words[1];
        EXPECT_EQ(options.status().text().find('\n'), std::string::npos) << options.status().text();
    }
    EXPECT_FALSE(parse({}, 1).ok());
}

}  // namespace
}  // namespace hakobi::bench
