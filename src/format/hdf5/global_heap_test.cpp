#include "format/hdf5/global_heap.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace hakobi::format {
namespace {

constexpr std::int64_t heap_at = 512, heap_bytes = 4096;

/// A file that is a collection behind 512 bytes: objects 1 "eta" and 2 "longitude", and free space.
std::vector<std::byte> file_with_heap() {
    std::vector<std::byte> file(heap_at + heap_bytes);
    std::size_t at = heap_at;
    const auto put = [&](std::uint64_t value, std::size_t size) {
        std::memcpy(file.data() + at, &value, size);
        at += size;
    };
    const auto put_object = [&](std::uint64_t number, std::string_view text) {
        put(number, 2);
        put(1, 6);
        put(text.size(), 8);
        std::memcpy(file.data() + at, text.data(), text.size());
        at += (text.size() + 7) / 8 * 8;
    };
    std::memcpy(file.data() + at, heap_signature.data(), heap_signature.size());
    at += heap_signature.size();
    put(heap_bytes, 8);
    put_object(1, "eta");
    put_object(2, "longitude");
    put(0, 8);
    put(static_cast<std::uint64_t>(std::ssize(file)) - at + 8, 8);
    return file;
}

std::optional<HeapCollection> heap_of(const std::vector<std::byte>& file) {
    const auto read = [&](std::int64_t offset, std::span<std::byte> bytes) {
        for (std::size_t i = 0; i < bytes.size(); ++i) {
            const std::size_t at = static_cast<std::size_t>(offset) + i;
            bytes[i] = at < file.size() ? file[at] : std::byte{};
        }
        return true;
    };
    return HeapCollection::read(read, heap_at, std::ssize(file), 8);
}

std::string text_in(const HeapCollection& heap, unsigned number) {
    const std::span<const std::byte> bytes = heap.object(number);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(HeapCollection, HasItsObjectsByNumber) {
    const std::optional<HeapCollection> heap = heap_of(file_with_heap());
    ASSERT_TRUE(heap);
    EXPECT_EQ(text_in(*heap, 1), "eta");
    EXPECT_EQ(text_in(*heap, 2), "longitude");
    EXPECT_TRUE(heap->object(0).empty());
    EXPECT_TRUE(heap->object(3).empty());
}

TEST(HeapCollection, ThatIsDamagedIsNone) {
    constexpr std::size_t collection_size = heap_at + 8, first_number = heap_at + 16,
                          first_size = heap_at + 24;
    struct Case {
        std::size_t at;
        std::uint64_t value;
        std::size_t bytes;
    };
    for (const Case& wrong :
         {Case{heap_at, 'X', 1}, Case{collection_size, 0, 8}, Case{collection_size, 8192, 8},
          Case{first_size, 5000, 8}, Case{first_size, ~std::uint64_t{0}, 8}, Case{first_number, 2, 2},
          Case{first_number, 0, 2}}) {
        std::vector<std::byte> file = file_with_heap();
        std::memcpy(file.data() + wrong.at, &wrong.value, wrong.bytes);
        EXPECT_FALSE(heap_of(file)) << wrong.at << ": " << wrong.value;
    }
    std::vector<std::byte> torn = file_with_heap();
    torn.resize(torn.size() - 8);
    EXPECT_FALSE(heap_of(torn));
}

}  // namespace
}  // namespace hakobi::format
