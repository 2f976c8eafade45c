// The image that HDF5 lays a file out in, against a plain array of bytes.
#include "format/hdf5/sparse_image.hpp"

#include <algorithm>

#include "input.hpp"

using namespace hakobi;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::size_t most = 1 << 16;
    fuzz::Input input(data, size);
    format::SparseImage image;
    std::vector<std::byte> plain(2 * most);
    std::size_t end = 0;
    while (!input.empty()) {
        const auto what = input.take<std::uint8_t>();
        const std::size_t at = input.take<std::uint16_t>(), length = input.take<std::uint16_t>();
        if (what % 4 == 0) {
            const auto bytes = input.take_bytes(length);
            image.write(static_cast<std::int64_t>(at), bytes);
            std::ranges::copy(bytes, plain.begin() + static_cast<std::ptrdiff_t>(at));
            if (!bytes.empty()) end = std::max(end, at + bytes.size());
        } else if (what % 4 == 1) {
            image.set_size(static_cast<std::int64_t>(at));
            end = at;
        } else {
            std::vector<std::byte> read(length);
            image.read(static_cast<std::int64_t>(at), read);
            fuzz::require(
                std::equal(read.begin(), read.end(), plain.begin() + static_cast<std::ptrdiff_t>(at)));
        }
    }
    fuzz::require(image.size_bytes() == static_cast<std::int64_t>(end));
    std::int64_t last = -1;
    for (const auto& extent : image.extents()) {
        fuzz::require(extent.offset_bytes > last && !extent.bytes.empty());
        last = extent.offset_bytes + std::ssize(extent.bytes);
        fuzz::require(last <= image.size_bytes());
        fuzz::require(
            std::equal(extent.bytes.begin(), extent.bytes.end(), plain.begin() + extent.offset_bytes));
    }
    return 0;
}
