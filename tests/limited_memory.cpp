#include "limited_memory.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::size_t> limit_bytes = hakobi::unlimited;

void* allocate(std::size_t bytes) noexcept {
    return bytes > limit_bytes.load(std::memory_order_relaxed) ? nullptr : std::malloc(bytes > 0 ? bytes : 1);
}

}  // namespace

void* operator new(std::size_t bytes) {
    void* memory = allocate(bytes);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
    return allocate(bytes);
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}

void hakobi::limit_allocations(std::size_t most_bytes) {
    limit_bytes.store(most_bytes, std::memory_order_relaxed);
}
