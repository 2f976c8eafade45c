#include "storage/lustre_layout.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "units.hpp"

namespace hakobi::storage {
namespace {

constexpr std::uint32_t v1 = 0x0BD10BD0, v3 = 0x0BD30BD0, composite = 0x0BD60BD0;

using Bytes = std::vector<std::byte>;

template <class T>
void put(Bytes& bytes, std::size_t offset, T value) {
    bytes.resize(std::max(bytes.size(), offset + sizeof value));
    std::memcpy(bytes.data() + offset, &value, sizeof value);
}

Bytes plain(std::uint32_t magic, std::uint32_t pattern, std::int64_t stripe, std::uint16_t count,
            const std::vector<std::uint32_t>& servers) {
    Bytes bytes(magic == v3 ? 48 : 32);
    put(bytes, 0, magic);
    put(bytes, 4, pattern);
    put(bytes, 24, static_cast<std::uint32_t>(stripe));
    put(bytes, 28, count);
    for (const std::uint32_t server : servers) {
        const std::size_t at = bytes.size();
        bytes.resize(at + 24);
        put(bytes, at + 20, server);
    }
    return bytes;
}

struct Part {
    std::uint64_t begin, end;
    bool has_objects;
    Bytes layout;
};
Bytes composed(const std::vector<Part>& parts) {
    Bytes bytes(32 + 48 * parts.size());
    put(bytes, 0, composite);
    put(bytes, 14, static_cast<std::uint16_t>(parts.size()));
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const std::size_t at = 32 + 48 * i, inner = bytes.size();
        put(bytes, at + 4, std::uint32_t{parts[i].has_objects ? 0x10U : 0U});
        put(bytes, at + 8, parts[i].begin);
        put(bytes, at + 16, parts[i].end);
        put(bytes, at + 24, static_cast<std::uint32_t>(inner));
        put(bytes, at + 28, static_cast<std::uint32_t>(parts[i].layout.size()));
        bytes.insert(bytes.end(), parts[i].layout.begin(), parts[i].layout.end());
    }
    return bytes;
}

constexpr std::uint64_t to_the_end = ~std::uint64_t{0};

TEST(LustreLayout, PlainOnesNameTheirServers) {
    const Layout expected = Layout::plain({4 * mib, 3, {7, 1, 12}});
    EXPECT_EQ(lustre::layout_of(plain(v1, 1, 4 * mib, 3, {7, 1, 12})), expected);
    EXPECT_EQ(lustre::layout_of(plain(v3, 1, 4 * mib, 3, {7, 1, 12})), expected);
}

TEST(LustreLayout, OverstripedOnesHaveServersTwice) {
    const Layout layout = lustre::layout_of(plain(v1, 0x201, mib, 4, {0, 1, 0, 1}));
    EXPECT_EQ(layout.num_stripes(), 4);
    EXPECT_EQ(layout.num_servers(), 2);
}

TEST(LustreLayout, CompositeOnesHaveServersWhereTheyHaveObjects) {
    const Bytes value = composed({{0, 4 << 20, true, plain(v1, 1, mib, 1, {5})},
                                  {4 << 20, 256 << 20, true, plain(v3, 1, mib, 2, {6, 7})},
                                  {256 << 20, to_the_end, false, plain(v1, 1, 4 * mib, 0xFFFF, {})}});
    const Layout layout = lustre::layout_of(value, 9);
    ASSERT_EQ(layout.parts.size(), 3U);
    EXPECT_EQ(layout.parts[0], (Layout::Part{0, 4 * mib, {mib, 1, {5}}}));
    EXPECT_EQ(layout.parts[1].striping.servers, (std::vector<int>{6, 7}));
    EXPECT_EQ(layout.parts[2].end_bytes, Layout::no_end);
    EXPECT_EQ(layout.num_stripes(), 9);  // all
    EXPECT_EQ(layout.stripe_bytes(), 4 * mib);
}

TEST(LustreLayout, BytesOnTheMetadataServerAreOnNoDataServer) {
    const Bytes value = composed({{0, 1 << 20, true, plain(v1, 0x100, mib, 0, {})},
                                  {1 << 20, to_the_end, true, plain(v1, 1, mib, 2, {3, 4})}});
    const Layout layout = lustre::layout_of(value);
    EXPECT_EQ(layout.server_of(0), -1);
    EXPECT_EQ(layout.stripe_at(0).end_bytes, mib);
    EXPECT_EQ(layout.server_of(mib), 4);
    EXPECT_EQ(layout.text(),
              "composite: to 1 MiB: on the metadata server; from 1 MiB: 2 stripes of 1 MiB on servers 3, 4");
}

TEST(LustreLayout, OfMirrorsTheFirstIsTaken) {
    const Bytes value = composed(
        {{0, to_the_end, true, plain(v1, 1, mib, 1, {5})}, {0, to_the_end, true, plain(v1, 1, mib, 1, {8})}});
    EXPECT_EQ(lustre::layout_of(value), Layout::plain({mib, 1, {5}}));
}

TEST(LustreLayout, AFoldersSaysWhatNewFilesGet) {
    Bytes value = plain(v1, 0, 0, 0, {});
    put<std::uint16_t>(value, 30, 0xFFFF);
    EXPECT_EQ(lustre::layout_of(value), Layout::plain({mib, 1}));
    EXPECT_EQ(lustre::layout_of(plain(v1, 1, 2 * mib, 0xFFFF, {}), 6), Layout::plain({2 * mib, 6}));
}

TEST(LustreLayout, IsNoneWhereTheValueIsNot) {
    EXPECT_FALSE(lustre::layout_of({}).is_striped());
    EXPECT_FALSE(lustre::layout_of(Bytes(64, std::byte{0xFF})).is_striped());
    Bytes value(32);
    put<std::uint32_t>(value, 0, composite);
    put<std::uint16_t>(value, 14, 65535);  // components that it does not hold
    EXPECT_FALSE(lustre::layout_of(value).is_striped());
    value = composed(
        {{0, 4 << 20, true, plain(v1, 1, mib, 1, {5})}, {8 << 20, 9 << 20, true, plain(v1, 1, mib, 1, {5})}});
    EXPECT_FALSE(lustre::layout_of(value).is_striped());  // a gap
}

TEST(LustreLayout, OfEveryShortenedValueNothingIsReadBehindItsEnd) {
    const Bytes whole = composed({{0, 4 << 20, true, plain(v1, 1, mib, 1, {5})},
                                  {4 << 20, to_the_end, true, plain(v3, 1, mib, 2, {6, 7})}});
    for (std::size_t length = 0; length < whole.size(); ++length) {
        const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
        EXPECT_NE(lustre::layout_of(cut), lustre::layout_of(whole)) << length;
    }
}

TEST(LustreLayout, AWishBecomesARequest) {
    Bytes expected = plain(v1, 0x201, 4 * mib, 12, {});
    put<std::uint16_t>(expected, 30, 3);
    EXPECT_EQ(lustre::request_of(
                  {.num_stripes = 12, .overstripes = true, .stripe_bytes = 4 * mib, .first_server = 3}),
              expected);
    expected = plain(v1, 1, 0, 0xFFFF, {});
    put<std::uint16_t>(expected, 30, 0xFFFF);
    EXPECT_EQ(lustre::request_of({.num_stripes = LayoutWish::all}), expected);
}

TEST(LustreLayout, ARequestMayNameTheServers) {
    const std::vector<int> servers = {7, 8, 7, 8};
    Bytes expected = plain(v3, 0x201, mib, 4, {7, 8, 7, 8});
    put<std::uint32_t>(expected, 0, 0x0BD50BD0);
    put<std::uint16_t>(expected, 30, 7);
    EXPECT_EQ(lustre::request_of({.num_stripes = 4, .overstripes = true, .stripe_bytes = mib}, servers),
              expected);
}

}  // namespace
}  // namespace hakobi::storage
