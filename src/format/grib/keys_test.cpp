// The keywords that keywords_of reads are ecCodes' own, over ecCodes' samples, other centres' files and
// variations of both.

#include "format/grib/keys.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <random>
#include <span>
#include <string>

#include "format/grib/eccodes.hpp"
#include "format/grib/message.hpp"

namespace hakobi::format::grib {
namespace {

using MessageBytes = std::vector<std::byte>;

MessageBytes content_of(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto* begin = reinterpret_cast<const std::byte*>(text.data());
    return {begin, begin + text.size()};
}

/// Every message of a file, whatever stands between them.
std::vector<MessageBytes> messages_of(const std::filesystem::path& path) {
    const MessageBytes bytes = content_of(path);
    std::vector<MessageBytes> messages;
    for (std::size_t at = 0; at + 8 <= bytes.size();) {
        const auto rest = std::span(bytes).subspan(at);
        const Result<std::int64_t> length = message_length(rest);
        if (!length.ok() || length.value() > static_cast<std::int64_t>(rest.size()) || length.value() < 20) {
            ++at;
            continue;
        }
        const auto size = static_cast<std::size_t>(length.value());
        messages.emplace_back(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(size));
        at += size;
    }
    return messages;
}

std::vector<MessageBytes> samples() {
    std::vector<MessageBytes> all;
    for (const char* folder : {"/usr/share/eccodes/samples", "/usr/share/eccodes/ifs_samples",
                               "/usr/share/doc/python-grib-doc/examples"}) {
        if (!std::filesystem::is_directory(folder)) continue;
        for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
            // Grids of a million points say nothing new, and take long.
            if (!entry.is_regular_file() || entry.file_size() > 4 << 20) continue;
            for (MessageBytes& message : messages_of(entry.path())) all.push_back(std::move(message));
        }
    }
    return all;
}

class GribKeys : public ::testing::Test {
  protected:
    void SetUp() override {
        if (!Eccodes::get().ok()) GTEST_SKIP() << Eccodes::get().status().text();
    }
};

std::string text_of(const Keywords& keywords) {
    std::string text;
    for (const auto& [keyword, value] : keywords) text += keyword + "=" + value + ",";
    return text;
}

void expect_as_eccodes(const MessageBytes& message) {
    const Result<Keywords> asked = ask_eccodes(message), read = keywords_of(message);
    ASSERT_TRUE(asked.ok()) << asked.status().text();
    ASSERT_TRUE(read.ok()) << read.status().text();
    EXPECT_EQ(text_of(read.value()), text_of(asked.value()));
}

TEST_F(GribKeys, AreThoseOfEccodesForEverySample) {
    int num_messages = 0, num_passed_over = 0;
    for (int round = 0; round < 2; ++round) {
        for (const MessageBytes& message : samples()) {
            const bool has_several_fields = read_message(message).status().code() == ErrorCode::unsupported;
            ++(has_several_fields ? num_passed_over : num_messages);
            if (!has_several_fields) expect_as_eccodes(message);
        }
    }
    if (num_messages == 0) GTEST_SKIP() << "no samples of ecCodes";
    EXPECT_LT(num_passed_over, num_messages / 5);
    std::printf("[ INFO     ] %d messages; %lld read, %lld asked of ecCodes\n", num_messages,
                static_cast<long long>(keyword_counters().num_read),
                static_cast<long long>(keyword_counters().num_asked));
}

/// A message of a product as the next step, level or member of the run has it.
MessageBytes vary(const MessageBytes& message, std::mt19937& random) {
    Eccodes& eccodes = *Eccodes::get().value();
    const std::lock_guard lock(eccodes.mutex);
    const Handle handle(eccodes, eccodes.new_from_message_copy(nullptr, message.data(), message.size()));
    const auto set = [&](const char* key, int first, int last) {
        (void)eccodes.set_long(handle.get(), key, std::uniform_int_distribution<int>(first, last)(random));
    };
    const auto one_in_two = [&] { return random() % 2 == 0; };
    if (one_in_two()) set("year", 1979, 2030), set("month", 1, 12), set("day", 1, 28);
    if (one_in_two()) set("hour", 0, 23);
    if (one_in_two()) set("minute", 0, 1);
    if (one_in_two()) set("endStep", 0, 240);
    if (one_in_two()) set("level", 0, 137);
    if (one_in_two()) set("number", 0, 50);
    if (random() % 8 == 0) set("paramId", 129, 140);
    if (random() % 8 == 0) set("stepUnits", 0, 2);
    if (random() % 8 == 0) set("scaleFactorOfFirstFixedSurface", 0, 1);
    if (random() % 8 == 0) set("indicatorOfUnitForForecastTime", 0, 2);
    if (random() % 8 == 0) set("timeRangeIndicator", 0, 5);
    const void* bytes = nullptr;
    std::size_t length = 0;
    EXPECT_EQ(eccodes.get_message(handle.get(), &bytes, &length), 0);
    const auto* begin = static_cast<const std::byte*>(bytes);
    return {begin, begin + length};
}

TEST_F(GribKeys, AreThoseOfEccodesForVariationsOfSamples) {
    std::mt19937 random(20);
    const std::vector<MessageBytes> all = samples();
    if (all.empty()) GTEST_SKIP() << "no samples of ecCodes";
    std::size_t num_varied = 0;
    for (const MessageBytes& message : all) {
        if (message.size() > 200000 || !read_message(message).ok()) continue;
        ++num_varied;
        for (int i = 0; i < 12; ++i) expect_as_eccodes(vary(message, random));
        if (HasFailure()) break;
    }
    EXPECT_GT(num_varied, all.size() / 2);
}

// Messages without a class: every template of ensembles and constituents has keywords of its own.
TEST_F(GribKeys, NameWhatTellsOtherCentresProductsApart) {
    using Settings = std::vector<std::pair<const char*, long>>;
    const auto keyword_of = [](const char* keyword, const Settings& settings) -> std::string {
        Eccodes& eccodes = *Eccodes::get().value();
        const void* bytes = nullptr;
        std::size_t length = 0;
        MessageBytes message;
        {
            const std::lock_guard lock(eccodes.mutex);
            const Handle handle(eccodes, eccodes.new_from_samples(nullptr, "GRIB2"));
            EXPECT_EQ(eccodes.set_long(handle.get(), "centre", 78), 0);
            for (const auto& [key, value] : settings)
                EXPECT_EQ(eccodes.set_long(handle.get(), key, value), 0) << key;
            EXPECT_EQ(eccodes.get_message(handle.get(), &bytes, &length), 0);
            const auto* begin = static_cast<const std::byte*>(bytes);
            message.assign(begin, begin + length);
        }
        const Result<Keywords> keywords = keywords_of(message);
        EXPECT_TRUE(keywords.ok()) << keywords.status().text();
        for (const auto& [name, value] : keywords.value()) {
            if (name == keyword) return value;
        }
        return "";
    };
    constexpr const char* product = "productDefinitionTemplateNumber";
    EXPECT_EQ(keyword_of("origin", {}), "edzw");
    EXPECT_EQ(keyword_of("class", {}), "");
    EXPECT_EQ(keyword_of("number", {{product, 1}, {"perturbationNumber", 7}}), "7");
    EXPECT_EQ(keyword_of("derived", {{product, 2}, {"derivedForecast", 4}}), "4");
    EXPECT_EQ(keyword_of("quantile", {{product, 6}, {"percentileValue", 90}}), "90");
    EXPECT_EQ(keyword_of("chem", {{product, 40}, {"constituentType", 5}}), "5");
    EXPECT_EQ(keyword_of("probability", {{product, 5},
                                         {"probabilityType", 1},
                                         {"scaleFactorOfUpperLimit", 3},
                                         {"scaledValueOfUpperLimit", 254}}),
              "above0.254");
    EXPECT_EQ(keyword_of("probability", {{product, 5},
                                         {"probabilityType", 2},
                                         {"scaleFactorOfLowerLimit", 0},
                                         {"scaledValueOfLowerLimit", -3},
                                         {"scaleFactorOfUpperLimit", 0},
                                         {"scaledValueOfUpperLimit", 20}}),
              "between-3to20");
    EXPECT_EQ(keyword_of("levelist", {{"typeOfFirstFixedSurface", 106},
                                      {"typeOfSecondFixedSurface", 106},
                                      {"scaleFactorOfFirstFixedSurface", 1},
                                      {"scaledValueOfFirstFixedSurface", 1},
                                      {"scaleFactorOfSecondFixedSurface", 1},
                                      {"scaledValueOfSecondFixedSurface", 4}}),
              "0.1-0.4");
    EXPECT_EQ(keyword_of("levtype", {{"typeOfFirstFixedSurface", 213}}), "type213");
}

// Level 0 is not read as a number there, and its octets are those that a kind has where they are left out.
TEST_F(GribKeys, AreThoseOfEccodesForALevelAfterLevelZero) {
    const std::vector<MessageBytes> some =
        messages_of("/usr/share/eccodes/samples/reduced_gg_pl_32_grib2.tmpl");
    if (some.empty()) GTEST_SKIP() << "no samples of ecCodes";
    const auto at_level = [&](int level) {
        Eccodes& eccodes = *Eccodes::get().value();
        const std::lock_guard lock(eccodes.mutex);
        const Handle handle(eccodes, eccodes.new_from_message_copy(nullptr, some[0].data(), some[0].size()));
        EXPECT_EQ(eccodes.set_long(handle.get(), "dataDate", 19010203), 0);  // a kind of this test's own
        EXPECT_EQ(eccodes.set_long(handle.get(), "generatingProcessIdentifier", 77), 0);
        EXPECT_EQ(eccodes.set_long(handle.get(), "level", level), 0);
        const void* bytes = nullptr;
        std::size_t length = 0;
        EXPECT_EQ(eccodes.get_message(handle.get(), &bytes, &length), 0);
        const auto* begin = static_cast<const std::byte*>(bytes);
        return MessageBytes(begin, begin + length);
    };
    for (const int level : {0, 1000, 500, 0, 850}) expect_as_eccodes(at_level(level));
}

// Two fields whose steps read alike replace each other in a store.
TEST_F(GribKeys, HaveStepsBelowAnHourWithTheirUnit) {
    constexpr int minutes = 0, seconds = 13, seconds_of_edition1 = 254;
    const auto step_of = [](const char* sample, int unit,
                            std::initializer_list<std::pair<const char*, long>> set) {
        Eccodes& eccodes = *Eccodes::get().value();
        MessageBytes message;
        {
            const std::lock_guard lock(eccodes.mutex);
            const Handle handle(eccodes, eccodes.new_from_samples(nullptr, sample));
            EXPECT_EQ(eccodes.set_long(handle.get(), "indicatorOfUnitOfTimeRange", unit), 0) << sample;
            for (const auto& [key, value] : set)
                EXPECT_EQ(eccodes.set_long(handle.get(), key, value), 0) << sample << " " << key;
            const void* bytes = nullptr;
            std::size_t length = 0;
            EXPECT_EQ(eccodes.get_message(handle.get(), &bytes, &length), 0);
            const auto* begin = static_cast<const std::byte*>(bytes);
            message.assign(begin, begin + length);
        }
        std::string step = "none";
        const Keywords keywords = keywords_of(message).value();
        for (const auto& [keyword, value] : keywords)
            if (keyword == "step") step = value;
        return step;
    };
    EXPECT_EQ(step_of("GRIB2", minutes, {{"forecastTime", 20}}), "20m");
    EXPECT_EQ(step_of("GRIB2", minutes, {{"forecastTime", 90}}), "90m");
    EXPECT_EQ(step_of("GRIB2", minutes, {{"forecastTime", 60}}), "1");
    EXPECT_EQ(step_of("GRIB2", minutes, {{"forecastTime", 1440}}), "24");
    EXPECT_EQ(step_of("GRIB2", seconds, {{"forecastTime", 45}}), "45s");
    EXPECT_EQ(step_of("GRIB2", seconds, {{"forecastTime", 120}}), "2m");
    EXPECT_EQ(step_of("GRIB2", seconds, {{"forecastTime", 7200}}), "2");
    EXPECT_EQ(step_of("GRIB1", minutes, {{"P1", 20}}), "20m");
    EXPECT_EQ(step_of("GRIB1", minutes, {{"P1", 180}}), "3");
    EXPECT_EQ(step_of("GRIB1", seconds_of_edition1, {{"P1", 90}}), "90s");
    EXPECT_EQ(step_of("GRIB1", minutes, {{"timeRangeIndicator", 4}, {"P1", 30}, {"P2", 90}}), "90m");
    EXPECT_EQ(step_of("GRIB1", minutes, {{"timeRangeIndicator", 4}, {"P1", 30}, {"P2", 60}}), "1");
}

TEST_F(GribKeys, TakeMicrosecondsOnceAKindIsKnown) {
    const std::vector<MessageBytes> some =
        messages_of("/usr/share/eccodes/samples/reduced_gg_pl_80_grib2.tmpl");
    if (some.empty()) GTEST_SKIP() << "no samples of ecCodes";
    ASSERT_TRUE(keywords_of(some[0]).ok());
    const std::int64_t asked = keyword_counters().num_asked;
    constexpr int repetitions = 20000;
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < repetitions; ++i) ASSERT_TRUE(keywords_of(some[0]).ok());
    const std::chrono::duration<double, std::micro> each =
        (std::chrono::steady_clock::now() - start) / repetitions;
    std::printf("[ INFO     ] %.2f us a message\n", each.count());
    EXPECT_EQ(keyword_counters().num_asked, asked);
}

TEST_F(GribKeys, SayWhatIsWrongWithBytesThatAreNoMessage) {
    const auto bytes_of = [](std::string_view text) {
        return std::as_bytes(std::span(text.data(), text.size()));
    };
    EXPECT_EQ(keywords_of(bytes_of("")).status().code(), ErrorCode::format);
    EXPECT_NE(keywords_of(bytes_of("CDF\1 a netCDF file")).status().text().find("not a GRIB message"),
              std::string::npos);
    EXPECT_NE(
        keywords_of(bytes_of(std::string_view("GRIB\0\0\0\3 and so on", 18))).status().text().find("edition"),
        std::string::npos);
}

TEST(GribMessage, HasALengthThatLeadsToTheNextOne) {
    for (const char edition : {1, 2}) {
        std::string message = "GRIB";
        message.append({0, 0, 0, edition}).append(64, '\0');
        EXPECT_FALSE(message_length(std::as_bytes(std::span(message))).ok()) << int{edition};
    }
}

TEST_F(GribKeys, RefuseEveryTruncationAndSurviveEveryFlippedBit) {
    for (const char* name : {"reduced_gg_pl_32_grib1", "reduced_gg_pl_32_grib2", "sh_ml_grib2"}) {
        std::vector<MessageBytes> some =
            messages_of("/usr/share/eccodes/samples/" + std::string(name) + ".tmpl");
        if (some.empty()) GTEST_SKIP() << "no samples of ecCodes";
        MessageBytes& message = some[0];
        MessageBytes two = message;
        two.insert(two.end(), message.begin(), message.end());
        EXPECT_EQ(read_message(two).status().code(), ErrorCode::format);
        for (std::size_t length = 0; length < std::min<std::size_t>(message.size(), 2000); ++length) {
            const MessageBytes cut(message.begin(), message.begin() + static_cast<std::ptrdiff_t>(length));
            EXPECT_EQ(read_message(cut).status().code(), ErrorCode::format) << name << " " << length;
        }
        for (std::size_t bit = 0; bit < std::min<std::size_t>(message.size(), 400) * 8; ++bit) {
            message[bit / 8] ^= std::byte{1} << (bit % 8);
            (void)read_message(message);  // ends, and touches nothing outside: the sanitizers watch
            message[bit / 8] ^= std::byte{1} << (bit % 8);
        }
    }
}

}  // namespace
}  // namespace hakobi::format::grib
