// A value of the attribute, little-endian as every number here:
//
//   plain      magic:4 pattern:4 id:16 stripe_bytes:4 num_stripes:2 generation:2 [pool:16, in version 3] object...
//   object     id:16 generation:4 server:4
//   composite  magic:4 size:4 generation:4 flags:2 num_parts:2 num_mirrors:2 reserved:14 part...
//   part       id:4 flags:4 begin:8 end:8 at:4 size:4 reserved:16, where at `at` a plain layout stands
//
// A plain layout that has no objects yet, and one that is asked for, has the first server in the place of the
// generation. One that is asked for on servers of one's choice has a magic number of its own, is like version
// 3, and names them as its objects.
#include "storage/lustre_layout.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace hakobi::storage::lustre {
namespace {

constexpr std::uint32_t magic_v1 = 0x0BD10BD0, magic_v3 = 0x0BD30BD0, magic_composite = 0x0BD60BD0,
                        magic_named = 0x0BD50BD0;
constexpr std::uint32_t pattern_plain = 0x1, pattern_metadata_server = 0x100, pattern_overstriped = 0x200;
constexpr std::uint32_t part_has_objects = 0x10;
constexpr std::uint16_t all_servers = 0xFFFF, any_server = 0xFFFF;

constexpr std::size_t pattern_at = 4, stripe_bytes_at = 24, num_stripes_at = 28, first_server_at = 30;
constexpr std::size_t head_v1_bytes = 32, head_v3_bytes = 48, object_bytes = 24, server_at = 20;
constexpr std::size_t num_parts_at = 14, composite_head_bytes = 32, part_bytes = 48;
constexpr std::size_t part_flags_at = 4, begin_at = 8, end_at = 16, inner_at = 24, inner_size_at = 28;

template <class T>
T value_at(std::span<const std::byte> bytes, std::size_t offset) {
    T value{};
    if (offset <= bytes.size() && sizeof(T) <= bytes.size() - offset)
        std::memcpy(&value, bytes.data() + offset, sizeof(T));
    return value;
}

template <class T>
void put_at(std::vector<std::byte>& bytes, std::size_t offset, T value) {
    assert(offset + sizeof value <= bytes.size());
    std::memcpy(bytes.data() + offset, &value, sizeof value);
}

bool is_plain(std::span<const std::byte> value) {
    const auto magic = value_at<std::uint32_t>(value, 0);
    return value.size() >= head_v1_bytes && (magic == magic_v1 || magic == magic_v3);
}

Striping striping_of(std::span<const std::byte> value, bool has_objects, int num_servers) {
    Striping striping;
    const auto pattern = value_at<std::uint32_t>(value, pattern_at);
    striping.stripe_bytes = value_at<std::uint32_t>(value, stripe_bytes_at);
    if (striping.stripe_bytes == 0) striping.stripe_bytes = default_stripe_bytes;
    if ((pattern & pattern_metadata_server) != 0) return striping;
    const auto count = value_at<std::uint16_t>(value, num_stripes_at);
    striping.num_stripes = count == all_servers ? std::max(num_servers, 1) : std::max<int>(count, 1);
    const bool is_overstriped = (pattern & pattern_overstriped) != 0;
    if (is_overstriped && num_servers > 0)
        striping.stripes_per_server = (striping.num_stripes + num_servers - 1) / num_servers;
    const std::size_t first = value_at<std::uint32_t>(value, 0) == magic_v3 ? head_v3_bytes : head_v1_bytes;
    const std::size_t size = first + static_cast<std::size_t>(striping.num_stripes) * object_bytes;
    if (!has_objects || count == all_servers || value.size() < size) return striping;
    for (int i = 0; i < striping.num_stripes; ++i) {
        const std::size_t object = first + static_cast<std::size_t>(i) * object_bytes;
        striping.servers.push_back(static_cast<int>(value_at<std::uint32_t>(value, object + server_at)));
    }
    return striping;
}

}  // namespace

Layout layout_of(std::span<const std::byte> value, int num_servers) {
    Layout layout;
    if (is_plain(value)) return Layout::plain(striping_of(value, true, num_servers));
    if (value_at<std::uint32_t>(value, 0) != magic_composite) return layout;
    const auto num_parts = value_at<std::uint16_t>(value, num_parts_at);
    for (std::size_t i = 0; i < num_parts; ++i) {
        const std::size_t at = composite_head_bytes + i * part_bytes;
        const std::size_t inner = value_at<std::uint32_t>(value, at + inner_at);
        const std::size_t size = value_at<std::uint32_t>(value, at + inner_size_at);
        if (inner == 0 || inner > value.size() || size > value.size() - inner) return {};
        const auto plain = value.subspan(inner, size);
        const auto begin = value_at<std::uint64_t>(value, at + begin_at);
        const auto end = std::min<std::uint64_t>(value_at<std::uint64_t>(value, at + end_at), Layout::no_end);
        const std::uint64_t reached =
            layout.parts.empty() ? 0 : static_cast<std::uint64_t>(layout.parts.back().end_bytes);
        if (begin == 0 && reached > 0) break;  // the second mirror
        if (!is_plain(plain) || begin != reached || end < begin) return {};
        if (end == begin) continue;  // not yet extended to any byte
        const bool has_objects = (value_at<std::uint32_t>(value, at + part_flags_at) & part_has_objects) != 0;
        layout.parts.push_back({static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end),
                                striping_of(plain, has_objects, num_servers)});
    }
    return layout;
}

std::vector<std::byte> request_of(const LayoutWish& wish, std::span<const int> servers) {
    const bool is_named = !servers.empty();
    std::vector<std::byte> request(is_named ? head_v3_bytes + servers.size() * object_bytes : head_v1_bytes);
    put_at(request, 0, is_named ? magic_named : magic_v1);
    put_at(request, pattern_at, pattern_plain | (wish.overstripes ? pattern_overstriped : 0U));
    put_at(request, stripe_bytes_at, static_cast<std::uint32_t>(wish.stripe_bytes));
    put_at(request, num_stripes_at,
           wish.num_stripes == LayoutWish::all ? all_servers : static_cast<std::uint16_t>(wish.num_stripes));
    const int first = is_named ? servers.front() : wish.first_server;
    put_at(request, first_server_at, first < 0 ? any_server : static_cast<std::uint16_t>(first));
    for (std::size_t i = 0; i < servers.size(); ++i)
        put_at(request, head_v3_bytes + i * object_bytes + server_at, static_cast<std::uint32_t>(servers[i]));
    return request;
}

}  // namespace hakobi::storage::lustre
