#include "input/unpacking.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "region/copy.hpp"
#include "region/cursor.hpp"

namespace hakobi::input {
namespace {

std::int64_t num_values_of(const Destination& to) {
    return to.memory.size_bytes() / to.element_bytes;
}

}  // namespace

Unpacking::Unpacking(Destination to, const format::FoundField& field)
    : to_(std::move(to)), stored_(*field.type) {
    const auto fill = field.shown.attributes.find("_FillValue");
    if (fill != field.shown.attributes.end()) fill_ = format::fill_value_of(stored_, fill->second);
    values_ = std::make_unique_for_overwrite<std::byte[]>(
        static_cast<std::size_t>(num_values_of(to_) * format::bytes_of(stored_)));
}

Destination Unpacking::packed() const {
    const std::int64_t bytes = format::bytes_of(stored_);
    const std::int64_t num = num_values_of(to_);
    return {.block = to_.block,
            .memory = num > 0 ? Region::contiguous(0, num * bytes) : Region(),
            .origin = values_.get(),
            .element_bytes = bytes};
}

void Unpacking::unpack() const noexcept {
    constexpr std::int64_t piece = 1024;
    std::array<double, piece> values;  // or as many float
    const std::int64_t num = num_values_of(to_);
    Cursor memory(to_.memory);
    for (std::int64_t begin = 0; begin < num; begin += piece) {
        const std::int64_t count = std::min(piece, num - begin);
        auto* const unpacked = reinterpret_cast<std::byte*>(values.data());
        format::unpack(*to_.packing, fill_, values_.get() + begin * format::bytes_of(stored_), count,
                       to_.wanted, unpacked);
        hakobi::unpack(memory, to_.origin, (begin + count) * to_.element_bytes, unpacked);
    }
}

Status no_unpacking_on_device(const format::FoundField& field) {
    return {ErrorCode::unsupported, "field " + field.shown.name + ": it is " + field.shown.type +
                                        " in the file: memory of a device takes values of that type only"};
}

}  // namespace hakobi::input
