#include "exchange/shared_array.hpp"

#include <algorithm>
#include <cassert>
#include <cstdio>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "base/checked.hpp"
#include "base/copy_bytes.hpp"
#include "base/random.hpp"
#include "mpi/agree.hpp"
#include "mpi/comm_state.hpp"
#include "mpi/nonblocking.hpp"
#include "node/node_window.hpp"

namespace hakobi {
namespace exchange {
namespace {

struct Allocation {
    std::byte* data = nullptr;  // of the whole node
    std::int64_t size_bytes = 0;
    int num_uses = 0;
};

std::mutex mutex;
std::map<std::int64_t, Allocation>& allocations() {
    static auto* all = new std::map<std::int64_t, Allocation>;  // outlives arrays that end with the program
    return *all;
}

}  // namespace

SharedPlace place_of(const std::byte* begin, std::int64_t bytes) {
    const std::scoped_lock lock(mutex);
    for (const auto& [id, allocation] : allocations()) {
        if (begin >= allocation.data && begin + bytes <= allocation.data + allocation.size_bytes)
            return {id, begin - allocation.data};
    }
    return {};
}

std::byte* address_of(const SharedPlace& place) {
    const std::scoped_lock lock(mutex);
    const auto at = allocations().find(place.id);
    return at == allocations().end() ? nullptr : at->second.data + place.offset;
}

void add_use(std::int64_t id) {
    const std::scoped_lock lock(mutex);
    if (const auto at = allocations().find(id); at != allocations().end()) ++at->second.num_uses;
}

void remove_use(std::int64_t id) {
    const std::scoped_lock lock(mutex);
    const auto at = allocations().find(id);
    if (at == allocations().end()) return;
    assert(at->second.num_uses > 0);
    --at->second.num_uses;
}

}  // namespace exchange

struct HAKOBI_HIDDEN SharedArray::Impl {
    node::NodeWindow window;
    std::int64_t id = 0;
    std::byte* data = nullptr;
    std::int64_t size_bytes = 0;

    ~Impl() {
        if (id == 0) return;
        const std::scoped_lock lock(exchange::mutex);
        const auto at = exchange::allocations().find(id);
        if (at->second.num_uses > 0) {
            std::fprintf(stderr,
                         "hakobi: memory of allocate_shared is freed while an exchange on it is under way\n");
            new node::NodeWindow(std::move(window));  // others still copy from it: it stays
        }
        exchange::allocations().erase(at);
    }
};

SharedArray::SharedArray(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SharedArray::SharedArray() = default;
SharedArray::SharedArray(SharedArray&&) noexcept = default;
SharedArray& SharedArray::operator=(SharedArray&&) noexcept = default;
SharedArray::~SharedArray() = default;

std::byte* SharedArray::data() const noexcept {
    return impl_ ? impl_->data : nullptr;
}
std::int64_t SharedArray::size_bytes() const noexcept {
    return impl_ ? impl_->size_bytes : 0;
}

SharedArray v0::allocate_shared(const Comm& comm, std::int64_t bytes) {
    const Status local =
        bytes < 0 ? Status(ErrorCode::invalid_argument, "allocate_shared: a negative size") : Status();
    mpi::agree_or_throw(comm, local);
    // The process that is first on its node names the allocation.
    const std::int64_t mine[] = {bytes, static_cast<std::int64_t>(random_bits() >> 1) | 1};
    const std::vector<std::int64_t> all = mpi::all_gather(comm, mine);
    std::optional<std::int64_t> total_bytes = 0;
    std::int64_t my_offset = 0, id = 0;
    for (int rank = 0; rank < comm.size(); ++rank) {
        const auto entry = static_cast<std::size_t>(2 * rank);
        if (!comm.state().nodes.is_own(rank)) continue;
        if (id == 0) id = all[entry + 1];
        if (rank == comm.rank()) my_offset = total_bytes.value_or(0);
        // A page more than is asked for: ranks' parts then begin at different places of the caches' sets.
        const auto whole_pages = checked_add(all[entry], page_bytes - 1 + page_bytes);
        if (total_bytes && whole_pages)
            total_bytes = checked_add(*total_bytes, *whole_pages / page_bytes * page_bytes);
        else
            total_bytes = std::nullopt;
    }
    auto impl = std::make_unique<SharedArray::Impl>();
    const Status status = total_bytes
                              ? node::NodeWindow::allocate(comm, *total_bytes, impl->window)
                              : Status(ErrorCode::out_of_memory,
                                       "allocate_shared: a node's ranks ask for more than 2^63 bytes");
    mpi::agree_or_throw(comm, status);
    impl->data = impl->window.data() + my_offset;
    impl->size_bytes = bytes;
    impl->id = id;
    const std::scoped_lock lock(exchange::mutex);
    exchange::allocations()[id] = {impl->window.data(), *total_bytes};
    return SharedArray(std::move(impl));
}

}  // namespace hakobi
