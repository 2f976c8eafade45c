#include "region/region.hpp"

#include <algorithm>
#include <cassert>
#include <limits>

namespace hakobi {
namespace {

// Arithmetic that remembers when it left 63 bits.
struct Checked {
    bool valid = true;
    std::int64_t add(std::int64_t a, std::int64_t b) {
        std::int64_t sum = 0;
        valid = !__builtin_add_overflow(a, b, &sum) && valid;
        return sum;
    }
    std::int64_t mul(std::int64_t a, std::int64_t b) {
        std::int64_t product = 0;
        valid = !__builtin_mul_overflow(a, b, &product) && valid;
        return product;
    }
};

}  // namespace

Region Region::broken() {
    auto node = std::make_shared<Node>();
    node->valid = false;
    node->num_pieces = 0;
    return {std::move(node), 0};
}

Region Region::contiguous(std::int64_t offset_bytes, std::int64_t length_bytes) {
    if (length_bytes == 0) return {};
    Checked checked;
    checked.add(offset_bytes, length_bytes);
    if (!checked.valid || length_bytes < 0) return broken();
    auto node = std::make_shared<Node>();
    node->size = node->end = length_bytes;
    return {std::move(node), offset_bytes};
}

Region Region::strided(std::int64_t offset_bytes, std::int64_t count, std::int64_t stride_bytes,
                       const Region& element) {
    if (!element.valid() || count < 0) return broken();
    if (count == 0 || element.empty()) return {};
    if (count == 1) return element.moved(offset_bytes);
    if (element.is_contiguous() && stride_bytes == element.size_bytes()) {
        Checked checked;
        const std::int64_t size = checked.mul(count, stride_bytes);
        const std::int64_t offset = checked.add(offset_bytes, element.begin_bytes());
        return checked.valid ? contiguous(offset, size) : broken();
    }
    Checked checked;
    auto node = std::make_shared<Node>();
    node->kind = Node::Kind::strided;
    node->count = count;
    node->stride = stride_bytes;
    node->element = element;
    node->size = checked.mul(count, element.size_bytes());
    const std::int64_t last = checked.mul(count - 1, stride_bytes);
    node->begin = checked.add(element.begin_bytes(), std::min<std::int64_t>(last, 0));
    node->end = checked.add(element.end_bytes(), std::max<std::int64_t>(last, 0));
    node->num_pieces = checked.mul(count, element.num_pieces());
    node->ordered = element.is_ordered() && stride_bytes >= element.end_bytes() - element.begin_bytes();
    checked.add(node->begin, offset_bytes);
    checked.add(node->end, offset_bytes);
    if (!checked.valid) return broken();
    return {std::move(node), offset_bytes};
}

Region Region::subarray(std::int64_t offset_bytes, std::span<const std::int64_t> global,
                        std::span<const std::int64_t> start, std::span<const std::int64_t> count,
                        std::int64_t element_bytes) {
    assert(global.size() == start.size() && global.size() == count.size());
    for (std::size_t d = 0; d < global.size(); ++d) {
        if (start[d] < 0 || count[d] < 0 || start[d] > global[d] - count[d]) return broken();
    }
    Checked checked;
    std::int64_t stride = element_bytes;
    Region region = contiguous(0, element_bytes);
    std::int64_t offset = offset_bytes;
    for (std::size_t d = global.size(); d-- > 0;) {
        region = strided(0, count[d], stride, region);
        offset = checked.add(offset, checked.mul(start[d], stride));
        stride = checked.mul(stride, global[d]);
    }
    if (!checked.valid || !region.valid()) return broken();
    return region.moved(offset);
}

Region Region::indexed(std::span<const std::int64_t> offsets_bytes,
                       std::span<const std::int64_t> lengths_bytes) {
    assert(offsets_bytes.size() == lengths_bytes.size());
    auto node = std::make_shared<Node>();
    node->kind = Node::Kind::pieces;
    Checked checked;
    for (std::size_t i = 0; i < offsets_bytes.size(); ++i) {
        const std::int64_t length = lengths_bytes[i];
        if (length == 0) continue;
        if (length < 0) return broken();
        checked.add(offsets_bytes[i], length);
        if (!checked.valid) return broken();
        if (!node->offsets.empty() && node->offsets.back() + node->lengths.back() == offsets_bytes[i]) {
            node->lengths.back() = checked.add(node->lengths.back(), length);
        } else {
            if (!node->offsets.empty() && offsets_bytes[i] < node->offsets.back() + node->lengths.back())
                node->ordered = false;
            node->offsets.push_back(offsets_bytes[i]);
            node->lengths.push_back(length);
        }
    }
    if (node->offsets.empty()) return {};
    if (node->offsets.size() == 1) return contiguous(node->offsets[0], node->lengths[0]);
    node->begin = std::numeric_limits<std::int64_t>::max();
    node->end = std::numeric_limits<std::int64_t>::min();
    node->stream.reserve(node->offsets.size() + 1);
    for (std::size_t i = 0; i < node->offsets.size(); ++i) {
        node->stream.push_back(node->size);
        node->size = checked.add(node->size, node->lengths[i]);
        node->begin = std::min(node->begin, node->offsets[i]);
        node->end = std::max(node->end, node->offsets[i] + node->lengths[i]);
    }
    node->stream.push_back(node->size);
    node->num_pieces = static_cast<std::int64_t>(node->offsets.size());
    if (!checked.valid) return broken();
    return {std::move(node), 0};
}

Region Region::concatenated(std::span<const Part> parts) {
    auto node = std::make_shared<Node>();
    node->kind = Node::Kind::parts;
    bool all_contiguous = true;
    for (const Part& part : parts) {
        if (!part.region.valid()) return broken();
        if (part.region.empty()) continue;
        Region moved = part.region.moved(part.offset_bytes);
        if (!moved.valid()) return broken();
        all_contiguous = all_contiguous && moved.is_contiguous();
        node->parts.push_back(std::move(moved));
    }
    if (node->parts.empty()) return {};
    if (node->parts.size() == 1) return node->parts[0];
    if (all_contiguous) {
        std::vector<std::int64_t> offsets, lengths;
        for (const Region& part : node->parts) {
            offsets.push_back(part.begin_bytes());
            lengths.push_back(part.size_bytes());
        }
        return indexed(offsets, lengths);
    }
    Checked checked;
    node->begin = std::numeric_limits<std::int64_t>::max();
    node->end = std::numeric_limits<std::int64_t>::min();
    node->num_pieces = 0;
    std::int64_t previous_end = std::numeric_limits<std::int64_t>::min();
    for (const Region& part : node->parts) {
        node->stream.push_back(node->size);
        node->size = checked.add(node->size, part.size_bytes());
        node->num_pieces = checked.add(node->num_pieces, part.num_pieces());
        node->begin = std::min(node->begin, part.begin_bytes());
        node->end = std::max(node->end, part.end_bytes());
        node->ordered = node->ordered && part.is_ordered() && part.begin_bytes() >= previous_end;
        previous_end = part.end_bytes();
    }
    node->stream.push_back(node->size);
    if (!checked.valid) return broken();
    return {std::move(node), 0};
}

Region Region::moved(std::int64_t by_bytes) const {
    if (!node_ || by_bytes == 0) return *this;
    Checked checked;
    const std::int64_t shift = checked.add(shift_, by_bytes);
    checked.add(node_->begin, shift);
    checked.add(node_->end, shift);
    return checked.valid ? Region(node_, shift) : broken();
}

Region Region::substream(std::int64_t from_bytes, std::int64_t length_bytes) const {
    if (!node_ || length_bytes <= 0) return {};
    assert(from_bytes >= 0 && length_bytes <= node_->size - from_bytes);
    if (from_bytes == 0 && length_bytes == node_->size) return *this;
    const std::int64_t to = from_bytes + length_bytes;
    switch (node_->kind) {
        case Node::Kind::contiguous:
            return contiguous(shift_ + from_bytes, length_bytes);
        case Node::Kind::strided: {
            const std::int64_t element_size = node_->element.size_bytes();
            const std::int64_t first = from_bytes / element_size;
            const std::int64_t last = (to - 1) / element_size;
            const auto copy = [&](std::int64_t i) { return shift_ + i * node_->stride; };
            if (first == last) {
                return node_->element.substream(from_bytes - first * element_size, length_bytes)
                    .moved(copy(first));
            }
            std::vector<Part> parts;
            std::int64_t whole_from = first;
            std::int64_t whole_to = last + 1;
            const std::int64_t head = from_bytes - first * element_size;
            const std::int64_t tail = to - last * element_size;
            if (head != 0)
                parts.push_back({copy(whole_from++), node_->element.substream(head, element_size - head)});
            if (tail != element_size) --whole_to;
            parts.push_back(
                {copy(whole_from), strided(0, whole_to - whole_from, node_->stride, node_->element)});
            if (tail != element_size) parts.push_back({copy(last), node_->element.substream(0, tail)});
            return concatenated(parts);
        }
        case Node::Kind::pieces:
        case Node::Kind::parts: {
            const auto& stream = node_->stream;
            auto index = static_cast<std::size_t>(std::upper_bound(stream.begin(), stream.end(), from_bytes) -
                                                  stream.begin() - 1);
            std::vector<Part> parts;
            std::vector<std::int64_t> offsets, lengths;
            for (; index + 1 < stream.size() && stream[index] < to; ++index) {
                const std::int64_t lo = std::max(from_bytes, stream[index]) - stream[index];
                const std::int64_t hi = std::min(to, stream[index + 1]) - stream[index];
                if (node_->kind == Node::Kind::parts) {
                    parts.push_back({shift_, node_->parts[index].substream(lo, hi - lo)});
                } else {
                    offsets.push_back(shift_ + node_->offsets[index] + lo);
                    lengths.push_back(hi - lo);
                }
            }
            return node_->kind == Node::Kind::parts ? concatenated(parts) : indexed(offsets, lengths);
        }
    }
    return broken();
}

std::int64_t Region::size_bytes() const noexcept {
    return node_ ? node_->size : 0;
}
std::int64_t Region::begin_bytes() const noexcept {
    return node_ ? node_->begin + shift_ : 0;
}
std::int64_t Region::end_bytes() const noexcept {
    return node_ ? node_->end + shift_ : 0;
}
std::int64_t Region::num_pieces() const noexcept {
    return node_ ? node_->num_pieces : 0;
}
bool Region::is_ordered() const noexcept {
    return !node_ || node_->ordered;
}
bool Region::valid() const noexcept {
    return !node_ || node_->valid;
}

std::int64_t Region::bytes_below(std::int64_t offset_bytes) const {
    if (!node_ || offset_bytes <= begin_bytes()) return 0;
    if (offset_bytes >= end_bytes()) return node_->size;
    assert(node_->ordered);
    const std::int64_t offset = offset_bytes - shift_;
    switch (node_->kind) {
        case Node::Kind::contiguous:
            return offset;
        case Node::Kind::strided: {
            const std::int64_t copy =
                std::min((offset - node_->element.begin_bytes()) / node_->stride, node_->count - 1);
            return copy * node_->element.size_bytes() +
                   node_->element.bytes_below(offset - copy * node_->stride);
        }
        case Node::Kind::pieces: {
            const auto above = std::upper_bound(node_->offsets.begin(), node_->offsets.end(), offset);
            if (above == node_->offsets.begin()) return 0;
            const auto index = static_cast<std::size_t>(above - node_->offsets.begin() - 1);
            return node_->stream[index] + std::min(offset - node_->offsets[index], node_->lengths[index]);
        }
        case Node::Kind::parts: {
            const auto above =
                std::upper_bound(node_->parts.begin(), node_->parts.end(), offset,
                                 [](std::int64_t o, const Region& part) { return o < part.begin_bytes(); });
            if (above == node_->parts.begin()) return 0;
            const auto index = static_cast<std::size_t>(above - node_->parts.begin() - 1);
            return node_->stream[index] + node_->parts[index].bytes_below(offset);
        }
    }
    return 0;
}

// Words of a region: kind, shift, then: contiguous size | strided count stride <element> | pieces n (offset
// length)*n | parts n <region>*n. An empty region is one word, -1; a broken one -2.
void Region::to_words(std::vector<std::int64_t>& words) const {
    if (!node_ || !node_->valid) {
        words.push_back(node_ ? -2 : -1);
        return;
    }
    words.push_back(static_cast<std::int64_t>(node_->kind));
    words.push_back(shift_);
    switch (node_->kind) {
        case Node::Kind::contiguous:
            words.push_back(node_->size);
            break;
        case Node::Kind::strided:
            words.push_back(node_->count);
            words.push_back(node_->stride);
            node_->element.to_words(words);
            break;
        case Node::Kind::pieces:
            words.push_back(static_cast<std::int64_t>(node_->offsets.size()));
            for (std::size_t i = 0; i < node_->offsets.size(); ++i) {
                words.push_back(node_->offsets[i]);
                words.push_back(node_->lengths[i]);
            }
            break;
        case Node::Kind::parts:
            words.push_back(static_cast<std::int64_t>(node_->parts.size()));
            for (const Region& part : node_->parts) part.to_words(words);
            break;
    }
}

std::int64_t Region::num_words() const {
    if (!node_ || !node_->valid) return 1;
    switch (node_->kind) {
        case Node::Kind::contiguous:
            return 3;
        case Node::Kind::strided:
            return 4 + node_->element.num_words();
        case Node::Kind::pieces:
            return 3 + 2 * std::ssize(node_->offsets);
        case Node::Kind::parts: {
            std::int64_t num = 3;
            for (const Region& part : node_->parts) num += part.num_words();
            return num;
        }
    }
    return 1;
}

Region Region::from_words(std::span<const std::int64_t> words) {
    Region region = from_first_words(words);
    return words.empty() ? region : broken();
}

Region Region::from_first_words(std::span<const std::int64_t>& rest) {
    const auto next = [&rest]() -> std::int64_t {
        const std::int64_t word = rest.front();
        rest = rest.subspan(1);
        return word;
    };
    if (rest.empty()) return broken();
    const std::int64_t kind = next();
    if (kind == -1) return {};
    if (kind < 0 || kind > static_cast<std::int64_t>(Node::Kind::parts) || rest.size() < 2) return broken();
    const std::int64_t shift = next();
    const std::int64_t count = next();
    switch (static_cast<Node::Kind>(kind)) {
        case Node::Kind::contiguous:
            return contiguous(shift, count);
        case Node::Kind::strided: {
            if (rest.empty()) return broken();
            const std::int64_t stride = next();
            return strided(shift, count, stride, from_first_words(rest));
        }
        case Node::Kind::pieces: {
            if (count < 0 || count > static_cast<std::int64_t>(rest.size() / 2)) return broken();
            std::vector<std::int64_t> offsets, lengths;
            for (std::int64_t i = 0; i < count; ++i) {
                offsets.push_back(next());
                lengths.push_back(next());
            }
            return indexed(offsets, lengths).moved(shift);
        }
        case Node::Kind::parts: {
            if (count < 0 || count > static_cast<std::int64_t>(rest.size())) return broken();
            std::vector<Part> parts;
            for (std::int64_t i = 0; i < count; ++i) parts.push_back({shift, from_first_words(rest)});
            return concatenated(parts);
        }
    }
    return broken();
}

}  // namespace hakobi
