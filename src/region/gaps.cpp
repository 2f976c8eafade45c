#include "region/gaps.hpp"

namespace hakobi {
namespace {

std::int64_t bytes_of(const Region::Node& node, std::int64_t most) {
    const auto gap = [&](std::int64_t bytes) { return bytes > 0 && bytes <= most ? bytes : 0; };
    std::int64_t sum = 0, end = node.begin;
    switch (node.kind) {
        case Region::Node::Kind::contiguous:
            return node.size;
        case Region::Node::Kind::strided: {
            const std::int64_t extent = node.element.end_bytes() - node.element.begin_bytes();
            return node.count * bytes_with_gaps(node.element, most) +
                   (node.count - 1) * gap(node.stride - extent);
        }
        case Region::Node::Kind::pieces:
            for (std::size_t i = 0; i < node.lengths.size(); ++i) {
                sum += gap(node.offsets[i] - end) + node.lengths[i];
                end = node.offsets[i] + node.lengths[i];
            }
            return sum;
        case Region::Node::Kind::parts:
            for (const Region& part : node.parts) {
                sum += gap(part.begin_bytes() - end) + bytes_with_gaps(part, most);
                end = part.end_bytes();
            }
            return sum;
    }
    return sum;
}

}  // namespace

std::int64_t bytes_with_gaps(const Region& region, std::int64_t most_gap_bytes) {
    return region.empty() ? 0 : bytes_of(*region.node(), most_gap_bytes);
}

}  // namespace hakobi
