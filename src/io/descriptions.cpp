#include "io/descriptions.hpp"

#include <algorithm>

namespace hakobi::io {
namespace {

enum Holds : std::int64_t { for_this_phase, for_the_call };

/// A description of so few words is sent whole without a look at its part: blocks of five dimensions have 19. It need not be
/// sent again in the next phase.
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
    if (region_.empty()) return due_;
    const std::int64_t lowest = std::max(region_.begin_bytes(), domains.begin_bytes);
    const std::int64_t highest = std::min(region_.end_bytes(), domains.end_bytes);
    if (lowest >= highest) return due_;
    const int first = domains.domain_of(domains.cycle_of(lowest));
    const int last = domains.domain_of(domains.cycle_of(highest - 1));
    has_whole_.resize(std::max(has_whole_.size(), static_cast<std::size_t>(domains.num_domains)));
    std::int64_t stream_begin = region_.bytes_below(domains.cycle_begin(domains.first_cycle(first)));
    for (int domain = first; domain <= last; ++domain) {
        const std::int64_t stream_end = region_.bytes_below(domains.cycle_end(domains.end_cycle(domain) - 1));
        const auto d = static_cast<std::size_t>(domain);
        if (stream_end > stream_begin && local_index[d] < 0 && !has_whole_[d])
            add(domain, stream_begin, stream_end);
        stream_begin = stream_end;
    }
    return due_;
}

void Describer::add(int domain, std::int64_t stream_begin, std::int64_t stream_end) {
    if (num_words_ > few_words) {
        const Region part = region_.substream(stream_begin, stream_end - stream_begin);
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
    nodes_.clear();
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
    nodes_.clear();
    for (const OfRank& held : regions_)
        if (nodes_.empty() || nodes_.back() != held.node) nodes_.push_back(held.node);
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
