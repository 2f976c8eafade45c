#include "io/device_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "device/program.hpp"
#include "region/cursor.hpp"

namespace hakobi::io {
namespace {

using device_test::Array;

/// So little that there is none for packing short runs; before the driver is loaded.
const int is_small = setenv("HAKOBI_FAKE_DEVICE_BYTES", "1000000", 1);

std::vector<std::byte> numbered(std::size_t size) {
    std::vector<std::byte> bytes(size);
    for (std::size_t b = 0; b < size; ++b) bytes[b] = static_cast<std::byte>(b * 37 >> 3);
    return bytes;
}

std::vector<std::byte> packed(const Region& memory, const std::byte* origin, DeviceMemory* device) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(memory.size_bytes()));
    Cursor cursor(memory);
    pack(cursor, origin, memory.size_bytes(), bytes.data(), device);
    if (device != nullptr) device->finish({}).throw_if_error();
    return bytes;
}

TEST(DeviceMemory, IsNoneOfTheHosts) {
    const std::vector<std::byte> values(100);
    DeviceMemory memory;
    EXPECT_FALSE(memory.add(values.data(), 100, Memory::automatic, nullptr).value());
    EXPECT_FALSE(memory.add(values.data(), 100, Memory::host, nullptr).value());
    EXPECT_EQ(memory.add(values.data(), 100, Memory::device, nullptr).status().code(),
              ErrorCode::invalid_argument);
    EXPECT_TRUE(memory.empty());
    EXPECT_EQ(memory.device(), nullptr);
    EXPECT_TRUE(memory.finish({}).ok());
}

/// Regions make one run of arrays that touch; a driver need not copy it as one.
TEST(DeviceMemory, ARunThroughTouchingArraysIsCopiedArrayByArray) {
    const std::vector<std::byte> values = numbered(1000);
    const Array<std::byte> array(values);
    DeviceMemory memory;
    for (const auto& [begin, bytes] : {std::pair(300, 200), std::pair(100, 200), std::pair(500, 100)})
        EXPECT_TRUE(memory.add(array.data() + begin, bytes, Memory::automatic, nullptr).value());
    for (const Region& region :
         {Region::contiguous(100, 500), Region::contiguous(150, 400),
          Region::strided(110, 3, 200, Region::contiguous(0, 80)),
          Region::strided(110, 20, 20, Region::contiguous(0, 13)), Region::contiguous(120, 100)}) {
        EXPECT_EQ(packed(region, array.data(), &memory), packed(region, values.data(), nullptr));
    }
}

TEST(DeviceMemory, ArraysThatOverlapAreOne) {
    const std::vector<std::byte> values = numbered(1000);
    const Array<std::byte> array(values);
    DeviceMemory memory;
    for (const int begin : {0, 500, 250, 100})
        EXPECT_TRUE(memory.add(array.data() + begin, 500, Memory::automatic, nullptr).value());
    const Region all = Region::contiguous(0, 1000);
    EXPECT_EQ(packed(all, array.data(), &memory), values);
}

TEST(DeviceMemory, ShortRunsAreCopiedWithoutMemoryToSpareOnTheDevice) {
    const std::vector<std::byte> values = numbered(9000);
    const Array<std::byte> array(values);
    DeviceMemory memory;
    EXPECT_TRUE(memory.add(array.data(), 9000, Memory::device, nullptr).value());
    const Region component = Region::strided(8, 300, 24, Region::contiguous(0, 8));
    EXPECT_EQ(packed(component, array.data(), &memory), packed(component, values.data(), nullptr));
    const std::vector<std::byte> changed(2400, std::byte{7});
    Cursor cursor(component);
    unpack(cursor, array.data(), 2400, changed.data(), &memory);
    EXPECT_TRUE(memory.finish({}).ok());
    std::vector<std::byte> expected = values;
    Cursor same(component);
    unpack(same, expected.data(), 2400, changed.data());
    EXPECT_EQ(array.values(), expected);
}

TEST(DeviceMemory, HasRoomOnTheHostUntilItIsForgotten) {
    const std::vector<std::byte> values = numbered(100);
    const Array<std::byte> array(values);
    DeviceMemory memory;
    for (int call = 0; call < 2; ++call) {
        EXPECT_TRUE(memory.add(array.data(), 100, Memory::device, nullptr).value());
        std::byte* const room = memory.host_room(5000).value();
        const Region all = Region::contiguous(0, 100);
        Cursor at(all);
        pack(at, array.data(), 100, room + 4900, &memory);
        EXPECT_TRUE(memory.finish({}).ok());
        EXPECT_TRUE(std::equal(values.begin(), values.end(), room + 4900));
        memory.forget();
    }
}

}  // namespace
}  // namespace hakobi::io
