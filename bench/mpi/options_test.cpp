#include "options.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace hakobi::bench {
namespace {

Result<Options> parse(std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), "hakobi-bench-mpi");
    return parse_options(static_cast<int>(arguments.size()), arguments.data());
}

TEST(ParseBytes, TakesBinaryUnitsAndNothingElse) {
    EXPECT_EQ(parse_bytes("0").value(), 0);
    EXPECT_EQ(parse_bytes("4096").value(), 4096);
    EXPECT_EQ(parse_bytes("64k").value(), 65536);
    EXPECT_EQ(parse_bytes("64KiB").value(), 65536);
    EXPECT_EQ(parse_bytes("3MB").value(), 3 << 20);
    for (const char* text : {"", "k", "-1", "1.5M", "12X", "4KiBs", "99999999999G"}) {
        EXPECT_EQ(parse_bytes(text).status().code(), ErrorCode::invalid_argument) << text;
    }
}

TEST(BytesText, IsReadable) {
    EXPECT_EQ(bytes_text(0), "0 B");
    EXPECT_EQ(bytes_text(65536), "64 KiB");
    EXPECT_EQ(bytes_text(3 << 19), "1.5 MiB");
}

TEST(Options, DefaultIsHotAndColdFromZeroTo64MiB) {
    const auto options = parse({});
    ASSERT_TRUE(options.ok()) << options.status().text();
    EXPECT_EQ(options.value().sizes.front(), 0);
    EXPECT_EQ(options.value().sizes.back(), 64 << 20);
    EXPECT_EQ(options.value().bufferings, (std::vector<Buffering>{Buffering::hot, Buffering::cold}));
}

TEST(Options, RangesOfSizesArePowersOfTwo) {
    EXPECT_EQ(parse({"--sizes", "1K:8K,0"}).value().sizes,
              (std::vector<std::int64_t>{1024, 2048, 4096, 8192, 0}));
    EXPECT_EQ(parse({"--sizes", "0:4"}).value().sizes, (std::vector<std::int64_t>{0, 1, 2, 4}));
}

TEST(Options, WhatIsWrongIsNamed) {
    EXPECT_NE(parse({"--pattern", "sendrcv"}).status().text().find("did you mean 'sendrecv'"),
              std::string::npos);
    for (const auto& wrong : std::vector<std::vector<const char*>>{{"--sizes", "128M"},
                                                                   {"--sizes", "8K:1K"},
                                                                   {"--sizes", "x"},
                                                                   {"--hot", "--cold"},
                                                                   {"--window", "0"},
                                                                   {"--place", "elsewhere"},
                                                                   {"--budget", "-1"},
                                                                   {"--nonsense"}}) {
        const auto options = parse(wrong);
        ASSERT_FALSE(options.ok()) << wrong.front();
        EXPECT_EQ(options.status().code(), ErrorCode::invalid_argument);
        EXPECT_EQ(options.status().text().find('\n'), std::string::npos);
    }
}

}  // namespace
}  // namespace hakobi::bench
