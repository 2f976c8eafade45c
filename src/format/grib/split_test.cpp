// Messages of several fields, and files with more than whole messages in them; made by hand, so that no
// ecCodes is needed.

#include "format/grib/split.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "format/grib/foreign.hpp"
#include "format/grib/message.hpp"
#include "format/grib/messages.hpp"
#include "format/grib/section.hpp"

namespace hakobi::format::grib {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t section_octets = 40;

/// A section whose octets are `fill` but for its length and number; octet 6 of a bitmap's is its indicator.
std::string section(int number, char fill, int octet6 = -1) {
    std::string text(section_octets, fill);
    text.replace(0, 4, std::string("\0\0\0", 3) + static_cast<char>(section_octets));
    text[4] = static_cast<char>(number);
    if (octet6 >= 0) text[5] = static_cast<char>(octet6);
    return text;
}

std::string message(const std::string& sections) {
    std::string text = "GRIB";
    text += std::string("\0\0\0\2\0\0\0\0\0\0", 10);
    const std::size_t length = 16 + sections.size() + 4;
    text += static_cast<char>(length >> 8);
    text += static_cast<char>(length & 0xff);
    return text + sections + "7777";
}

std::span<const std::byte> bytes_of(const std::string& text) {
    return std::as_bytes(std::span(text));
}

std::string text_of(const MessageBytes& bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string field(char fill, int bitmap = 255) {
    return section(4, fill) + section(5, fill) + section(6, fill, bitmap) + section(7, fill);
}

const std::string beginning = section(1, 'i') + section(3, 'g');

TEST(SplitMessage, AMessageOfOneFieldIsThatField) {
    const auto fields = split_message(bytes_of(message(beginning + field('a'))));
    ASSERT_TRUE(fields.ok()) << fields.status().text();
    EXPECT_TRUE(fields.value().empty());
}

TEST(SplitMessage, EachFieldHasTheSectionsThatHoldForIt) {
    const std::string local = section(2, 'l'), other_grid = section(3, 'h');
    const std::string all =
        beginning + field('a') + field('b') + other_grid + field('c') + local + section(3, 'k') + field('d');
    const auto fields = split_message(bytes_of(message(all)));
    ASSERT_TRUE(fields.ok()) << fields.status().text();
    ASSERT_EQ(fields.value().size(), 4U);
    EXPECT_EQ(text_of(fields.value()[0]), message(beginning + field('a')));
    EXPECT_EQ(text_of(fields.value()[1]), message(beginning + field('b')));
    EXPECT_EQ(text_of(fields.value()[2]), message(section(1, 'i') + other_grid + field('c')));
    EXPECT_EQ(text_of(fields.value()[3]), message(section(1, 'i') + local + section(3, 'k') + field('d')));
    for (const MessageBytes& one : fields.value()) EXPECT_TRUE(read_message(one).ok());
}

TEST(SplitMessage, ABitmapOfBeforeIsThatOfTheEarlierField) {
    const auto fields = split_message(bytes_of(message(beginning + field('a', 0) + field('b', 254))));
    ASSERT_TRUE(fields.ok()) << fields.status().text();
    const std::string shared = section(4, 'b') + section(5, 'b') + section(6, 'a', 0) + section(7, 'b');
    EXPECT_EQ(text_of(fields.value().at(1)), message(beginning + shared));
    const auto refused = split_message(bytes_of(message(beginning + field('a', 254) + field('b', 254))));
    EXPECT_EQ(refused.status().code(), ErrorCode::format);
}

class GribFile : public ::testing::Test {
  protected:
    ~GribFile() override { fs::remove(path_); }

    /// The results of next(): "begin-end", with '!' where it is no message.
    std::vector<std::string> places_of(const std::string& content) {
        std::ofstream(path_, std::ios::binary) << content;
        auto file = MessageFile::open(path_);
        file.status().throw_if_error();
        std::vector<std::string> places;
        for (;;) {
            auto next = file.value().next();
            next.status().throw_if_error();
            if (!next.value()) return places;
            const auto& found = *next.value();
            places.push_back(std::to_string(found.begin) + "-" + std::to_string(found.end) +
                             (found.status.ok() ? "" : "!"));
            EXPECT_EQ(found.bytes.empty(), !found.status.ok());
        }
    }

    std::string path_ = fs::temp_directory_path() / ("hakobi-messages-" + std::to_string(::getpid()));
};

using Places = std::vector<std::string>;

const std::string whole = message(beginning + field('a'));  // 260 bytes

TEST_F(GribFile, MessagesAreFoundWhateverStandsBetweenThem) {
    EXPECT_EQ(places_of(""), Places{});
    EXPECT_EQ(places_of("no message"), Places{});
    EXPECT_EQ(places_of(whole + whole), (Places{"0-260", "260-520"}));
    EXPECT_EQ(places_of("bulletin\r\n" + whole + std::string(100, '\0') + whole + "\n"),
              (Places{"10-270", "370-630"}));
    const std::string far(3 << 20, 'x');  // beyond a window
    EXPECT_EQ(places_of(far + whole), (Places{"3145728-3145988"}));
}

TEST_F(GribFile, ADamagedMessageEndsWhereTheNextOneBegins) {
    std::string no_end = whole, no_head = whole, no_section = whole, too_long = whole;
    no_end.replace(no_end.size() - 4, 4, "xxxx");
    no_head[0] = 'X';
    no_section[16 + 4] = 99;
    too_long[13] = 1;
    EXPECT_EQ(places_of(whole + no_end + whole), (Places{"0-260", "260-520!", "520-780"}));
    EXPECT_EQ(places_of(whole + no_head + whole), (Places{"0-260", "260-520!", "520-780"}));
    EXPECT_EQ(places_of(whole + no_section + whole), (Places{"0-260", "260-520!", "520-780"}));
    EXPECT_EQ(places_of(whole + too_long + whole), (Places{"0-260", "260-520!", "520-780"}));
    EXPECT_EQ(places_of(no_section + no_section + whole), (Places{"0-260!", "260-520!", "520-780"}));
    EXPECT_EQ(places_of(whole + whole.substr(0, 100)), (Places{"0-260", "260-360!"}));
    EXPECT_EQ(places_of(whole.substr(0, 100) + whole), (Places{"0-100!", "100-360"}));
    EXPECT_EQ(places_of(no_head), (Places{"0-260!"}));
    EXPECT_EQ(places_of("GRIB"), (Places{"0-4!"}));
}

/// A text about GRIB, or what would make a reader of all that is said read the file once for each word.
TEST_F(GribFile, WordsThatLookLikeHeadsTakeNoTimeOfTheirOwn) {
    const std::string far = std::string("GRIB\0\0\0\2\0\0\0\0\0\x08\0\0", 16);
    for (const std::string& word : {std::string("GRIB edition 2, "), far}) {
        std::string text;
        for (int i = 0; i < 1 << 17; ++i) text += word;
        EXPECT_EQ(places_of(text + whole + whole),
                  (Places{"0-2097152!", "2097152-2097412", "2097412-2097672"}));
    }
}

TEST_F(GribFile, OneThatIsNotThereIsSaid) {
    EXPECT_EQ(MessageFile::open("/none/such").status().code(), ErrorCode::not_found);
}

TEST(DecimalText, IsExact) {
    EXPECT_EQ(decimal_text(44, 2), "0.44");
    EXPECT_EQ(decimal_text(10, 1), "1");
    EXPECT_EQ(decimal_text(50000, 2), "500");
    EXPECT_EQ(decimal_text(-2, -3), "-2000");
    EXPECT_EQ(decimal_text(-105, 1), "-10.5");
    EXPECT_EQ(decimal_text(0, 5), "0");
    EXPECT_EQ(decimal_text(7, 0), "7");
}

}  // namespace
}  // namespace hakobi::format::grib
