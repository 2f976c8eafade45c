#include "region/cursor.hpp"

#include <algorithm>

namespace hakobi {

using Kind = Region::Node::Kind;

Cursor::Cursor(const Region& region) : region_(&region) {
    seek(0);
}

void Cursor::seek(std::int64_t stream_bytes) {
    assert(stream_bytes >= 0);
    frames_.clear();
    stream_ = stream_bytes;
    remaining_ = 0;
    if (stream_bytes < region_->size_bytes()) descend(*region_, 0, stream_bytes);
}

void Cursor::descend(const Region& region, std::int64_t shift, std::int64_t stream) {
    const Region* at = &region;
    for (;;) {
        const Region::Node* node = at->node();
        shift += at->shift_bytes();
        switch (node->kind) {
            case Kind::contiguous:
                offset_ = shift + stream;
                remaining_ = node->size - stream;
                return;
            case Kind::strided: {
                const std::int64_t copy = stream / node->element.size_bytes();
                frames_.push_back({node, shift, copy});
                stream -= copy * node->element.size_bytes();
                shift += copy * node->stride;
                at = &node->element;
                break;
            }
            case Kind::pieces:
            case Kind::parts: {
                const auto above = std::upper_bound(node->stream.begin(), node->stream.end(), stream);
                const auto index = static_cast<std::size_t>(above - node->stream.begin() - 1);
                frames_.push_back({node, shift, static_cast<std::int64_t>(index)});
                stream -= node->stream[index];
                if (node->kind == Kind::pieces) {
                    offset_ = shift + node->offsets[index] + stream;
                    remaining_ = node->lengths[index] - stream;
                    return;
                }
                at = &node->parts[index];
                break;
            }
        }
    }
}

Cursor::Series Cursor::series() const noexcept {
    if (!frames_.empty()) {
        const Frame& frame = frames_.back();
        if (frame.node->kind == Kind::strided && remaining_ == frame.node->element.size_bytes()) {
            return {offset_, remaining_, frame.node->stride, frame.node->count - frame.index};
        }
    }
    return {offset_, remaining_, 0, 1};
}

void Cursor::skip(std::int64_t num) {
    assert(num >= 1 && num <= series().num);
    stream_ += num * remaining_;
    remaining_ = 0;
    if (num > 1) frames_.back().index += num - 1;
    next_piece();
}

void Cursor::next_piece() {
    while (!frames_.empty()) {
        Frame& frame = frames_.back();
        const Region::Node* node = frame.node;
        ++frame.index;
        if (node->kind == Kind::strided) {
            if (frame.index < node->count) {
                const Region& element = node->element;
                const std::int64_t shift = frame.shift + frame.index * node->stride;
                if (element.node()->kind == Kind::contiguous) {
                    offset_ = shift + element.shift_bytes();
                    remaining_ = element.node()->size;
                } else {
                    descend(element, shift, 0);
                }
                return;
            }
        } else if (frame.index + 1 < static_cast<std::int64_t>(node->stream.size())) {
            const auto index = static_cast<std::size_t>(frame.index);
            if (node->kind == Kind::pieces) {
                offset_ = frame.shift + node->offsets[index];
                remaining_ = node->lengths[index];
            } else {
                descend(node->parts[index], frame.shift, 0);
            }
            return;
        }
        frames_.pop_back();
    }
}

}  // namespace hakobi
