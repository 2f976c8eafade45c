#include "storage/objects/xml.hpp"

#include <gtest/gtest.h>

namespace hakobi::storage {
namespace {

constexpr std::string_view listing =
    "<?xml version=\"1.0\"?><R xmlns=\"x\"><KeyCount>2</KeyCount><Key>a&amp;&lt;&#x41;&#233;</Key>"
    "<Contents><Key>1</Key></Contents><Contents><Key>2</Key></Contents><Empty/></R>";

TEST(Xml, FindsElementsByTheirWholeName) {
    EXPECT_EQ(xml_text(listing, "Key"), "a&<A\u00e9");
    EXPECT_EQ(xml_text(listing, "KeyCount"), "2");
    EXPECT_TRUE(xml_element(listing, "Empty").has_value());
    EXPECT_FALSE(xml_element(listing, "Missing").has_value());
    const auto contents = xml_elements(listing, "Contents");
    ASSERT_EQ(contents.size(), 2U);
    EXPECT_EQ(xml_text(contents[1], "Key"), "2");
}

TEST(Xml, WhatIsCutOffIsNoElement) {
    for (std::size_t length = 0; length < listing.size(); ++length) {
        const std::string_view cut = listing.substr(0, length);
        EXPECT_LE(xml_elements(cut, "Contents").size(), 2U);
        EXPECT_FALSE(xml_element(cut, "R").has_value());
        (void)xml_text(cut, "Key");
    }
}

TEST(Xml, NumbersThatNameNoCharacterStayAsTheyStand) {
    for (const std::string text : {"&#;", "&#x;", "&#0;", "&#x110000;", "&#99999999999;", "&#-1;", "&#x4"})
        EXPECT_EQ(xml_text("<a>" + text + "</a>", "a"), text);
    EXPECT_EQ(xml_text("<a>&#x10ffff;</a>", "a"), "\xf4\x8f\xbf\xbf");
}

TEST(Xml, EscapesWhatItReadsBack) {
    EXPECT_EQ(xml_text("<a>" + xml_escaped("<&>\"'x") + "</a>", "a"), "<&>\"'x");
}

}  // namespace
}  // namespace hakobi::storage
