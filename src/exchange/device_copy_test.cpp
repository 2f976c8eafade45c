#include "exchange/device_copy.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace hakobi::exchange {
namespace {

/// As a device would carry them out.
void run_all(const std::vector<device::Copy>& copies) {
    for (const device::Copy& copy : copies) {
        for (std::int64_t i = 0; i < copy.num[0]; ++i) {
            for (std::int64_t j = 0; j < copy.num[1]; ++j) {
                std::memcpy(copy.to + i * copy.to_strides_bytes[0] + j * copy.to_strides_bytes[1],
                            copy.from + i * copy.from_strides_bytes[0] + j * copy.from_strides_bytes[1],
                            static_cast<std::size_t>(copy.length_bytes));
            }
        }
    }
}

TEST(DeviceCopies, MoveWhatTheHostsCopyMoves) {
    std::mt19937 engine(3);
    const auto pick = [&](int low, int high) {
        return std::uniform_int_distribution<int>(low, high)(engine);
    };
    for (int round = 0; round < 300; ++round) {
        // Two arrays of up to six dimensions whose strides are in orders of their own, some of them
        // backwards.
        StridedCopy copy{.piece_bytes = pick(1, 9)};
        const auto num_dims = static_cast<std::size_t>(pick(0, 6));
        std::vector<std::size_t> order(num_dims);
        for (std::size_t d = 0; d < num_dims; ++d) copy.dims.push_back({pick(1, 4), 0, 0}), order[d] = d;
        std::int64_t sizes[2] = {};
        for (int side = 0; side < 2; ++side) {
            std::shuffle(order.begin(), order.end(), engine);
            std::int64_t stride = copy.piece_bytes + pick(0, 3), first = 0;
            for (const std::size_t d : order) {
                auto& dim = copy.dims[d];
                if (side == 0 && pick(0, 5) == 0) {  // the same elements again, or a part of them
                    dim.from_stride = pick(0, static_cast<int>(copy.piece_bytes));
                    stride += (dim.count - 1) * dim.from_stride;
                    continue;
                }
                const bool is_backwards = pick(0, 3) == 0;
                (side == 0 ? dim.from_stride : dim.to_stride) = is_backwards ? -stride : stride;
                if (is_backwards) first += (dim.count - 1) * stride;
                stride *= dim.count;
                stride += pick(0, 1);
            }
            (side == 0 ? copy.from_offset : copy.to_offset) = first;
            sizes[side] = stride + copy.piece_bytes;
        }
        std::vector<std::byte> from(static_cast<std::size_t>(sizes[0])),
            by_host(static_cast<std::size_t>(sizes[1])), by_device = by_host;
        for (std::byte& byte : from) byte = static_cast<std::byte>(pick(0, 255));
        run(copy, from.data(), by_host.data());
        const auto copies = device_copies(copy, from.data(), by_device.data());
        for (const device::Copy& one : copies) {
            for (const auto& strides : {one.from_strides_bytes, one.to_strides_bytes}) {
                for (const std::size_t dim : {0, 1})
                    ASSERT_TRUE(one.num[dim] == 1 || strides[dim] >= one.length_bytes) << "round " << round;
            }
        }
        run_all(copies);
        ASSERT_EQ(by_device, by_host) << "round " << round;
    }
}

TEST(DeviceCopies, AreOneForAFaceOfThreeDimensions) {
    const StridedCopy face{.dims = {{50, 40000, 1600}, {40, 800, 32}}, .piece_bytes = 32};
    EXPECT_EQ(device_copies(face, nullptr, nullptr).size(), 1u);
    const StridedCopy nothing{.dims = {{0, 8, 8}}, .piece_bytes = 8};
    EXPECT_TRUE(device_copies(nothing, nullptr, nullptr).empty());
}

}  // namespace
}  // namespace hakobi::exchange
