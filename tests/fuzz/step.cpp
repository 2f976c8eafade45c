// A step's description as ranks send it and pieces hold it, and the file that follows from it.
#include <algorithm>

#include "format/registry.hpp"
#include "input.hpp"

using namespace hakobi;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto bytes = fuzz::Input(data, size).bytes();
    const Result<format::StepDescription> decoded = format::decode_step(bytes);
    if (!decoded.ok()) return 0;
    const format::StepDescription& step = decoded.value();
    const std::vector<std::byte> encoded = format::encode_step(step);
    fuzz::require(encoded.size() == bytes.size() && std::equal(bytes.begin(), bytes.end(), encoded.begin()));
    fuzz::require(format::difference(step, step).empty());
    if (!format::check_description(step).ok()) return 0;
    for (const format::Format* format : format::formats()) {
        // Nothing has made the chunks that a compressed field's layout needs.
        const bool has_chunks = std::ranges::any_of(step.fields, [](const format::FieldDescription& field) {
            return field.filters != filter::Filters{};
        });
        if (has_chunks || !format->check(step).ok()) continue;
        const Result<format::Layout> layout = format->lay_out(step);
        if (!layout.ok()) continue;
        for (std::size_t f = 0; f < step.fields.size(); ++f) {
            const std::int64_t begin = layout.value().offsets_bytes[f];
            fuzz::require(begin >= 0 && begin + step.fields[f].size_bytes() <= layout.value().file_bytes);
        }
    }
    return 0;
}
