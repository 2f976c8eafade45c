#include "gauge_format.hpp"

#include <gtest/gtest.h>

#include <hakobi/error.hpp>

#include "site_codec.hpp"

namespace hakobi::lattice {
namespace {

ReadAt reader_of(const std::string& bytes) {
    return [bytes](std::int64_t offset, std::int64_t max_bytes) {
        return offset < static_cast<std::int64_t>(bytes.size()) ? bytes.substr(at(offset), at(max_bytes))
                                                                : std::string();
    };
}

GaugeLayout parse(const std::string& bytes) {
    return parse_gauge_file(reader_of(bytes), static_cast<std::int64_t>(bytes.size()), "file");
}

ErrorCode code_of(const std::string& bytes) {
    try {
        (void)parse(bytes);
    } catch (const Error& error) {
        return error.code();
    }
    return ErrorCode::ok;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    const auto place = text.find(from);
    EXPECT_NE(place, std::string::npos);
    return text.replace(place, from.size(), to);
}

// As archives have them: blanks before the sign, few digits, IEEE32 without an order.
const std::string archived =
    "BEGIN_HEADER\nHDR_VERSION = 1.0\nDATATYPE = 4D_SU3_GAUGE\nSTORAGE_FORMAT = 1.0\nDIMENSION_1 = 2\n"
    "DIMENSION_2 = 2\nDIMENSION_3 = 2\nDIMENSION_4 = 4\nLINK_TRACE = -1.5e-3\nPLAQUETTE  = 0.5938\n"
    "CHECKSUM = 89abcdef\nFLOATING_POINT = IEEE32\nEND_HEADER\n";
const std::string archived_links(32 * 4 * 2 * 6 * 4, 'x');

TEST(NerscHeader, OfAnArchiveIsRead) {
    const GaugeLayout layout = parse(archived + archived_links);
    EXPECT_EQ(layout.format, GaugeFormat::nersc);
    EXPECT_EQ(layout.extents, (Extents{2, 2, 2, 4}));
    EXPECT_EQ(layout.num_rows, 2);
    EXPECT_EQ(layout.bytes_per_real, 4);
    EXPECT_TRUE(layout.is_big_endian);
    EXPECT_EQ(layout.links_offset_bytes, static_cast<std::int64_t>(archived.size()));
    EXPECT_EQ(layout.words_checksum, 0x89abcdef);
    EXPECT_EQ(layout.plaquette->value, 0.5938);
    EXPECT_NEAR(layout.plaquette->resolution, 1e-4, 1e-12);
    EXPECT_EQ(layout.link_trace->value, -1.5e-3);
    EXPECT_NEAR(layout.link_trace->resolution, 1e-4, 1e-12);
}

TEST(NerscHeader, ThatCannotBeIsRefused) {
    const std::string whole = archived + archived_links;
    EXPECT_EQ(code_of(""), ErrorCode::format);
    EXPECT_EQ(code_of("P6 a picture"), ErrorCode::format);
    EXPECT_EQ(code_of(archived.substr(0, 200)), ErrorCode::format);
    EXPECT_EQ(code_of(whole.substr(0, whole.size() - 1)), ErrorCode::format);
    EXPECT_EQ(code_of(whole + "x"), ErrorCode::format);
    EXPECT_EQ(code_of(replaced(whole, "DIMENSION_4 = 4", "DIMENSION_4 = 5")), ErrorCode::format);
    EXPECT_EQ(code_of(replaced(whole, "DIMENSION_4 = 4", "DIMENSION_4 = -4")), ErrorCode::format);
    EXPECT_EQ(code_of(replaced(whole, "DIMENSION_4 = 4", "DIMENSION_4 = 99999999999999")), ErrorCode::format);
    EXPECT_EQ(code_of(replaced(whole, "DIMENSION_4 = 4", "DIMENSION_4 = four")), ErrorCode::format);
    EXPECT_EQ(code_of(replaced(whole, "DIMENSION_4 = 4\n", "")), ErrorCode::format);
    EXPECT_EQ(code_of(replaced(whole, "4D_SU3_GAUGE", "4D_SU2_GAUGE")), ErrorCode::unsupported);
    EXPECT_EQ(code_of(replaced(whole, "IEEE32", "VAX")), ErrorCode::format);
    EXPECT_EQ(code_of(replaced(whole, "89abcdef", "checksum")), ErrorCode::format);
}

GaugeLayout small_layout(GaugeFormat format) {
    GaugeLayout layout{.format = format, .extents = {2, 2, 4, 6}};
    layout.plaquette = HeaderNumber{.value = 0.25};
    layout.link_trace = HeaderNumber{.value = -0.125};
    return layout;
}

std::string composed(GaugeLayout layout) {
    const Checksums sums{.words = 0x1234, .crc_29 = 0xabc, .crc_31 = 0xdef};
    const GaugeFrame frame = frame_gauge_file(layout, sums, {.label = "test", .creator = "nobody"});
    return frame.before + std::string(at(layout.links_bytes()), 'x') + frame.after;
}

TEST(GaugeFile, IsReadAsItWasComposed) {
    for (const auto format : {GaugeFormat::nersc, GaugeFormat::ildg}) {
        for (const int bytes_per_real : {4, 8}) {
            GaugeLayout layout = small_layout(format);
            layout.bytes_per_real = bytes_per_real;
            const std::string whole = composed(layout);
            const GaugeLayout read = parse(whole);
            EXPECT_EQ(read.format, format);
            EXPECT_EQ(read.extents, layout.extents);
            EXPECT_EQ(read.bytes_per_real, bytes_per_real);
            EXPECT_EQ(read.num_rows, 3);
            EXPECT_EQ(whole.substr(at(read.links_offset_bytes), 3), "xxx");
            EXPECT_NE(whole[at(read.links_offset_bytes) - 1], 'x');
            if (format == GaugeFormat::nersc) {
                EXPECT_EQ(read.words_checksum, 0x1234);
                EXPECT_EQ(read.plaquette->value, 0.25);
            } else {
                EXPECT_EQ(read.crc_29, 0xabc);
                EXPECT_EQ(read.crc_31, 0xdef);
                EXPECT_EQ(whole.size() % 8, 0U);
            }
        }
    }
}

TEST(LimeFile, ThatCannotBeIsRefused) {
    const std::string whole = composed(small_layout(GaugeFormat::ildg));
    for (const std::size_t size : {std::size_t{4}, std::size_t{100}, whole.size() / 2, whole.size() - 200}) {
        EXPECT_EQ(code_of(whole.substr(0, size)), ErrorCode::format) << size;
    }
    EXPECT_EQ(code_of(replaced(whole, "su3gauge", "su2gauge")), ErrorCode::unsupported);
    EXPECT_EQ(code_of(replaced(whole, "<precision>64", "<precision>32")), ErrorCode::format);
    EXPECT_EQ(code_of(replaced(whole, "<precision>64", "<precision>16")), ErrorCode::format);
    EXPECT_EQ(code_of(replaced(whole, "<lt>6", "<lt>8")), ErrorCode::format);
    EXPECT_EQ(code_of(replaced(whole, "<lt>6", "<lt>-")), ErrorCode::format);
    EXPECT_EQ(code_of(replaced(whole, "<suma>abc", "<suma>xyz")), ErrorCode::format);
    EXPECT_EQ(code_of(replaced(whole, "ildg-binary-data", "ildg-binary-nada")), ErrorCode::format);
    std::string endless = whole;
    endless[8] = '\x7f';  // a record of 2^63 bytes
    EXPECT_EQ(code_of(endless), ErrorCode::format);
}

TEST(Crc32, HasItsCheckValue) {
    const std::string digits = "123456789";
    EXPECT_EQ(crc32(std::as_bytes(std::span(digits))), 0xcbf43926);
    const std::string twice = digits + digits;
    EXPECT_EQ(crc32(std::as_bytes(std::span(twice))), 0x4b837ae4) << "more than eight bytes at once";
}

}  // namespace
}  // namespace hakobi::lattice
