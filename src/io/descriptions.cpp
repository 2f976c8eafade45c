#include "io/descriptions.hpp"

#include <algorithm>

namespace hakobi::io {
namespace {

enum Holds : std::int64_t { for_this_phase, for_the_call };

/// A description of so few words is sent whole without a look at its part: blocks of five dimensions have 19.
/// It need not be sent again in the next phase.
constexpr std::int64_t few_words = 32;

std::vector<std::int64_t> words_of(Holds holds, const Region& region) {
    std::vector<std::int64_t> words;
    words.reserve(static_cast<std::size_t>(region.num_words()) + 1);
    words.push_back(holds);
    region.to_words(words);
    return words;
}

}  // namespace

std::span<const Description> Describer::due(const Domains& domains, std::span<const int> local_index) {
    due_.clear();
    clipped_.clear();
    shares_.clear();
    if (region_.empty()) return due_;
    const std::int64_t lowest = std::max(region_.begin_bytes(), domains.begin_bytes);
    const std::int64_t highest = std::min(region_.end_bytes(), domains.end_bytes);
    if (lowest >= highest) return due_;
    has_whole_.resize(std::max(has_whole_.size(), static_cast<std::size_t>(domains.num_domains)));
    if (domains.is_by_server()) {
        CycleStreams streams(region_, domains);
        while (const std::optional<CyclePart> part = streams.next())
            shares_[domains.domain_of(part->cycle)].push_back({part->stream_begin, part->stream_end});
    } else {
        const auto [first, end] = domains.cycles_between(lowest, highest);
        find_contiguous(domains, first, end - 1);
    }
    for (const auto& [domain, streams] : shares_)
        if (local_index[static_cast<std::size_t>(domain)] < 0 &&
            !has_whole_[static_cast<std::size_t>(domain)])
            add(domain, streams);
    return due_;
}

void Describer::find_contiguous(const Domains& domains, std::int64_t first, std::int64_t last) {
    std::int64_t cycle = domains.domain_of(first) * domains.cycles_per_domain;
    std::int64_t stream_begin = region_.bytes_below(domains.cycle_begin(cycle));
    for (; cycle <= last; cycle += domains.cycles_per_domain) {
        const std::int64_t end_cycle = std::min(cycle + domains.cycles_per_domain, domains.num_cycles);
        const std::int64_t stream_end = region_.bytes_below(domains.cycle_end(end_cycle - 1));
        if (stream_end > stream_begin)
            shares_[domains.domain_of(cycle)].push_back({stream_begin, stream_end});
        stream_begin = stream_end;
    }
}

void Describer::add(int domain, std::span<const Share> shares) {
    if (num_words_ > few_words) {
        std::vector<Region::Part> parts;
        parts.reserve(shares.size());
        for (const Share& share : shares)
            parts.push_back(
                {0, region_.substream(share.stream_begin, share.stream_end - share.stream_begin)});
        const Region part = parts.size() == 1 ? parts.front().region : Region::concatenated(parts);
        if (part.num_words() < num_words_) {
            clipped_.push_back(words_of(for_this_phase, part));
            due_.push_back({domain, clipped_.back()});
            return;
        }
    }
    if (whole_.empty()) whole_ = words_of(for_the_call, region_);
    has_whole_[static_cast<std::size_t>(domain)] = true;
    due_.push_back({domain, whole_});
}

void HeldRegions::begin_phase(const Domains& domains) {
    std::erase_if(regions_, [&](const OfRank& held) {
        return !held.is_whole || held.region.end_bytes() <= domains.begin_bytes;
    });
    extents_.clear();
}

bool HeldRegions::hold(int node, int rank, std::span<const std::int64_t> words) {
    if (words.empty()) return false;
    OfRank held{node, rank, words.front() == for_the_call, Region::from_words(words.subspan(1)),
                std::ssize(words)};
    if (!held.region.valid() || !held.region.is_ordered()) return false;
    regions_.push_back(std::move(held));
    return true;
}

void HeldRegions::arrange() {
    std::ranges::sort(regions_, [](const OfRank& a, const OfRank& b) {
        return a.node != b.node ? a.node < b.node : a.rank < b.rank;
    });
    extents_.clear();
    longest_bytes_ = 0;
    for (const OfRank& held : regions_) {
        extents_.push_back({held.region.begin_bytes(), held.region.end_bytes(), held.node});
        longest_bytes_ = std::max(longest_bytes_, extents_.back().end_bytes - extents_.back().begin_bytes);
    }
    std::ranges::sort(extents_, {}, &Extent::begin_bytes);
}

std::vector<int> HeldRegions::nodes_around(std::int64_t begin_bytes, std::int64_t end_bytes) const {
    std::vector<int> nodes;
    auto at = std::ranges::upper_bound(extents_, begin_bytes - longest_bytes_, {}, &Extent::begin_bytes);
    for (; at != extents_.end() && at->begin_bytes < end_bytes; ++at)
        if (at->end_bytes > begin_bytes && (nodes.empty() || nodes.back() != at->node))
            nodes.push_back(at->node);
    std::ranges::sort(nodes);
    nodes.erase(std::ranges::unique(nodes).begin(), nodes.end());
    return nodes;
}

std::span<const HeldRegions::OfRank> HeldRegions::of_node(int node) const {
    const auto first = std::ranges::lower_bound(regions_, node, {}, &OfRank::node);
    return {first, std::ranges::upper_bound(regions_, node, {}, &OfRank::node)};
}

std::int64_t HeldRegions::num_words() const {
    std::int64_t num = 0;
    for (const OfRank& held : regions_) num += held.num_words;
    return num;
}

}  // namespace hakobi::io
