#include "storage/layout.hpp"

#include <algorithm>
#include <cassert>
#include <set>
#include <utility>

namespace hakobi::storage {
namespace {

std::string size_text(std::int64_t bytes) {
    constexpr const char* units[] = {" bytes", " KiB", " MiB", " GiB", " TiB"};
    std::size_t unit = 0;
    while (unit + 1 < std::size(units) && bytes > 0 && bytes % 1024 == 0) {
        bytes /= 1024;
        ++unit;
    }
    return std::to_string(bytes) + units[unit];
}

/// "3 to 10", "3, 7, 5", "3, 7, 5, … (64)".
std::string servers_text(const std::vector<int>& servers) {
    constexpr std::size_t most_named = 8;
    bool is_run = servers.size() > 2;
    for (std::size_t i = 1; i < servers.size() && is_run; ++i)
        is_run = servers[i] - std::int64_t{1} == servers[i - 1];
    if (is_run) return std::to_string(servers.front()) + " to " + std::to_string(servers.back());
    std::string text;
    for (std::size_t i = 0; i < std::min(servers.size(), most_named); ++i)
        text.append(i == 0 ? "" : ", ").append(std::to_string(servers[i]));
    if (servers.size() > most_named) text.append(", …");
    return text;
}

std::string text_of(const Striping& striping) {
    if (striping.num_stripes == 0) return "on the metadata server";
    std::string text = std::to_string(striping.num_stripes) +
                       (striping.num_stripes == 1 ? " stripe of " : " stripes of ") +
                       size_text(striping.stripe_bytes);
    const int num_servers = striping.num_servers();
    if (striping.object_bytes > 0) text += ", in objects of " + size_text(striping.object_bytes);
    const bool is_overstriped = num_servers > 0 && num_servers < striping.num_stripes;
    if (is_overstriped) text += ", overstriped";
    if (!striping.servers.empty()) {
        text +=
            (striping.servers.size() == 1 ? " on server " : " on servers ") + servers_text(striping.servers);
    } else if (is_overstriped) {
        text += " on " + std::to_string(num_servers) + (num_servers == 1 ? " server" : " servers");
    }
    return text;
}

}  // namespace

int Striping::num_servers() const {
    if (!servers.empty()) return static_cast<int>(std::set<int>(servers.begin(), servers.end()).size());
    if (object_bytes > 0) return 0;
    const int each = std::max(stripes_per_server, 1);
    return (num_stripes + each - 1) / each;
}

Layout Layout::plain(Striping striping) {
    assert(striping.stripe_bytes >= 0 && striping.num_stripes >= 0);
    Layout layout;
    layout.parts.push_back({0, no_end, std::move(striping)});
    return layout;
}

const Layout::Part* Layout::part_at(std::int64_t offset) const {
    assert(parts.empty() || parts.front().begin_bytes == 0);
    assert(std::ranges::is_sorted(parts, {}, &Part::end_bytes));
    const auto part = std::ranges::upper_bound(parts, offset, {}, &Part::end_bytes);
    return offset < 0 || part == parts.end() ? nullptr : &*part;
}

std::int64_t Layout::stripe_bytes() const {
    return parts.empty() ? 0 : parts.back().striping.stripe_bytes;
}
int Layout::num_stripes() const {
    return parts.empty() ? 0 : parts.back().striping.num_stripes;
}
int Layout::num_servers() const {
    return parts.empty() ? 0 : parts.back().striping.num_servers();
}

Stripe Layout::stripe_at(std::int64_t offset) const {
    const Part* part = part_at(offset);
    if (part == nullptr) return {0, no_end, 0, -1};
    const Striping& striping = part->striping;
    if (striping.stripe_bytes <= 0 || striping.num_stripes <= 0)
        return {part->begin_bytes, part->end_bytes, 0, -1};
    const std::int64_t stripe = offset / striping.stripe_bytes;
    const std::int64_t begin = stripe * striping.stripe_bytes;
    const std::int64_t slot = stripe % striping.num_stripes;
    std::int64_t set = 0;  // of objects, all full before the next set begins
    if (striping.object_bytes > 0)
        set = stripe / striping.num_stripes /
              std::max<std::int64_t>(striping.object_bytes / striping.stripe_bytes, 1);
    int server = -1;
    if (!striping.servers.empty()) {
        server = striping.servers[static_cast<std::size_t>(slot) % striping.servers.size()];
    } else if (striping.object_bytes == 0) {
        server = static_cast<int>(slot % striping.num_servers());
    }
    const std::int64_t end = begin > no_end - striping.stripe_bytes ? no_end : begin + striping.stripe_bytes;
    assert(begin <= offset && offset < end);
    return {std::max(begin, part->begin_bytes), std::min(end, part->end_bytes),
            set * striping.num_stripes + slot, server};
}

int Layout::server_of(std::int64_t offset) const {
    return stripe_at(offset).server;
}

std::string Layout::text() const {
    if (parts.empty()) return "no stripes";
    if (!is_composite()) return text_of(parts.front().striping);
    std::string text = "composite: ";
    for (const Part& part : parts) {
        if (part.begin_bytes > 0) text += "; ";
        text += part.end_bytes == no_end
                    ? "from " + size_text(part.begin_bytes)
                    : (part.begin_bytes > 0 ? "then " : "") + std::string("to ") + size_text(part.end_bytes);
        text += ": " + text_of(part.striping);
    }
    return text;
}

}  // namespace hakobi::storage
