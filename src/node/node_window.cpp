#include "node/node_window.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/copy_bytes.hpp"
#include "mpi/comm_state.hpp"
#include "mpi/messages.hpp"

namespace hakobi::node {
namespace {

// The bytes that the kernel maps around a read fault where the pages exist (fault_around_bytes), aligned to
// that.
constexpr std::uintptr_t unit_bytes = 64 << 10;

using mpi::check;
using mpi::CommState;

/// Behind the window's bytes, for each unit of them: whether a rank is about to take its pages, or they are
/// there.
using UnitState = std::atomic<std::uint8_t>;
constexpr std::uint8_t empty = 0, being_taken = 1, taken = 2;
static_assert(sizeof(UnitState) == 1 && UnitState::is_always_lock_free);

std::int64_t with_states(std::int64_t bytes) {
    return bytes + bytes / static_cast<std::int64_t>(unit_bytes) +
           2;  // a window begins and ends on any boundary
}

/// Windows that `keep` has put aside: the same list on all ranks of the node, since they come and go in
/// collective calls.
struct KeptWindows final : mpi::Attachment {
    std::vector<NodeWindow> windows;
    void free() override {
        for (NodeWindow& window : windows) window.free();
        windows.clear();
    }
};

}  // namespace

Status NodeWindow::allocate(const Comm& comm, std::int64_t bytes, NodeWindow& window) {
    const CommState& state = comm.state();
    SharedMemory memory;
    SharedMemory::Name name;
    Status status;
    if (state.node.rank == 0) {
        status = SharedMemory::create(with_states(bytes), memory);
        name = memory.name();
    }
    mpi::node_broadcast(comm, std::as_writable_bytes(std::span(&name, 1)));
    if (state.node.rank != 0) status = SharedMemory::attach(name, memory);
    const auto code = static_cast<ErrorCode>(mpi::node_max(comm, static_cast<int>(status.code())));
    if (code == ErrorCode::out_of_memory)
        return {code, "no " + std::to_string(bytes) + " bytes of memory that a node's ranks share"};
    if (code != ErrorCode::ok) return {code, "a rank of this node can no longer map the other ranks' memory"};
    memory.forget_name();
    window.memory_ = std::move(memory);
    window.size_bytes_ = bytes;
    return {};
}

Status NodeWindow::take(const Comm& comm, std::int64_t bytes, NodeWindow& window) {
    std::vector<NodeWindow>& kept = comm.state().attachment_of<KeptWindows>().windows;
    const auto fits = [bytes](const NodeWindow& w) {
        return w.size_bytes() >= bytes && w.size_bytes() / 4 <= bytes;
    };
    const auto at = std::find_if(kept.begin(), kept.end(), fits);
    if (at == kept.end()) return allocate(comm, bytes, window);
    window = std::move(*at);
    kept.erase(at);
    return {};
}

void NodeWindow::keep(const Comm& comm, NodeWindow& window) {
    constexpr std::size_t most =
        8;  // files that one user of the Comm has open at once (Output's hidden steps)
    std::vector<NodeWindow>& kept = comm.state().attachment_of<KeptWindows>().windows;
    if (window.data() == nullptr) return;
    if (kept.size() == most) {
        kept.front().free();
        kept.erase(kept.begin());
    }
    kept.push_back(std::exchange(window, {}));
}

// The memory is a file of the memory file system. A page of it that another process has written and this one
// has not mapped costs a fault when it is written to, but a reading fault maps the whole unit where its pages
// exist, and since nobody wants to know when such a file's pages get dirty, they are mapped writable at once.
// Where they do not exist one rank takes them all: reading faults would look around in vain for each.
void NodeWindow::map_pages(const std::byte* begin, std::int64_t bytes, int part, int num_parts) {
    if (bytes <= 0) return;
    assert(begin >= data() && begin + bytes <= data() + size_bytes_ && part >= 0 && part < num_parts);
    const auto unit_of = [](const std::byte* at) {
        return reinterpret_cast<std::uintptr_t>(at) / unit_bytes;
    };
    const std::uintptr_t first_unit = unit_of(data());
    if (is_mapped_.empty()) is_mapped_.resize(unit_of(data() + size_bytes_ - 1) - first_unit + 1);
    const std::uintptr_t from = unit_of(begin) - first_unit, to = unit_of(begin + bytes - 1) - first_unit + 1;
    const std::uintptr_t middle =
        from + (to - from) * static_cast<std::uintptr_t>(part) / static_cast<std::uintptr_t>(num_parts);
    map_units(middle, to);
    map_units(from, middle);
}

void NodeWindow::map_units(std::uintptr_t from, std::uintptr_t to) {
#ifdef MADV_POPULATE_READ
    const auto first_unit = reinterpret_cast<std::uintptr_t>(data()) / unit_bytes;
    const auto mapping_begin = reinterpret_cast<std::uintptr_t>(data()) / page_bytes * page_bytes;
    const auto mapping_end = reinterpret_cast<std::uintptr_t>(data() + size_bytes_);
    for (std::uintptr_t unit = from; unit < to; ++unit) {
        if (is_mapped_[unit]) continue;
        is_mapped_[unit] = true;
        const std::uintptr_t begin = std::max((first_unit + unit) * unit_bytes, mapping_begin);
        const std::uintptr_t end = std::min((first_unit + unit + 1) * unit_bytes, mapping_end);
        UnitState& state = reinterpret_cast<UnitState*>(data() + size_bytes_)[unit];
        std::uint8_t seen = empty;
        if (state.load(std::memory_order_acquire) == taken) {
            (void)*reinterpret_cast<const volatile std::byte*>(begin);
            continue;
        }
        if (state.compare_exchange_strong(seen, being_taken)) {
            const int error = ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_POPULATE_WRITE);
            state.store(error == 0 ? taken : empty, std::memory_order_release);
            continue;
        }
        // An error is no error of ours: pages then come one by one, and a lack of memory shows as it always
        // does.
        (void)::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_POPULATE_READ);
    }
#else
    (void)from;
    (void)to;
#endif
}

void NodeWindow::barrier(const Comm& comm) {
    check(MPI_Barrier(comm.state().node.comm), "MPI_Barrier");
}

void NodeWindow::free() {
    memory_ = {};
    size_bytes_ = 0;
    is_mapped_.clear();
}

}  // namespace hakobi::node
