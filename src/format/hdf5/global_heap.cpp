#include "format/hdf5/global_heap.hpp"

#include <algorithm>
#include <cstring>

namespace hakobi::format {
namespace {

constexpr std::size_t least_bytes = 4096;  // of a collection

std::uint64_t number_at(std::span<const std::byte> bytes, std::size_t at, std::size_t size) {
    std::uint64_t number = 0;
    for (std::size_t i = size; i-- > 0;) number = number << 8 | std::to_integer<std::uint64_t>(bytes[at + i]);
    return number;
}

}  // namespace

std::optional<HeapCollection> HeapCollection::read(const ReadBytes& read, std::int64_t offset_bytes,
                                                   std::int64_t file_bytes, int length_bytes) {
    if (length_bytes != 2 && length_bytes != 4 && length_bytes != 8) return std::nullopt;
    const auto length = static_cast<std::size_t>(length_bytes);
    // Number, references, four bytes of nothing, size; then the object, filled up to 8 bytes. The
    // collection's own as well.
    const std::size_t head = 8 + length;
    HeapCollection heap;
    if (offset_bytes < 0 || offset_bytes > file_bytes) return std::nullopt;
    heap.bytes_.resize(head);
    if (!read(offset_bytes, heap.bytes_)) return std::nullopt;
    if (std::memcmp(heap.bytes_.data(), heap_signature.data(), heap_signature.size()) != 0)
        return std::nullopt;
    const std::uint64_t size = number_at(heap.bytes_, 8, length);
    if (size < least_bytes || size > static_cast<std::uint64_t>(file_bytes - offset_bytes))
        return std::nullopt;
    heap.bytes_.resize(static_cast<std::size_t>(size));
    if (!read(offset_bytes, heap.bytes_)) return std::nullopt;
    // Too short a rest is nobody's; number 0 is what is free, whose size counts its head.
    for (std::size_t at = (head + 7) / 8 * 8; heap.bytes_.size() - at >= (head + 7) / 8 * 8;) {
        const auto number = static_cast<unsigned>(number_at(heap.bytes_, at, 2));
        const std::uint64_t object = number_at(heap.bytes_, at + 8, length);
        const std::size_t left = heap.bytes_.size() - at;
        if (number == 0) {
            if (object < head || object > left) return std::nullopt;
            at += static_cast<std::size_t>(object);
            continue;
        }
        const std::size_t begin = at + (head + 7) / 8 * 8;
        if (object > heap.bytes_.size() - begin) return std::nullopt;
        const std::uint64_t filled = (object + 7) / 8 * 8;
        if (filled > heap.bytes_.size() - begin) return std::nullopt;
        heap.objects_.push_back({number, begin, static_cast<std::size_t>(object)});
        at = begin + static_cast<std::size_t>(filled);
    }
    std::ranges::sort(heap.objects_, {}, &Object::number);
    const auto twice = std::ranges::adjacent_find(heap.objects_, {}, &Object::number);
    return twice == heap.objects_.end() ? std::optional(std::move(heap)) : std::nullopt;
}

std::span<const std::byte> HeapCollection::object(unsigned number) const {
    const auto at = std::ranges::lower_bound(objects_, number, {}, &Object::number);
    if (at == objects_.end() || at->number != number) return {};
    return std::span(bytes_).subspan(at->offset_bytes, at->size_bytes);
}

}  // namespace hakobi::format
