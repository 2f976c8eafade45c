#include "exchange/node_channel.hpp"

#include <cassert>
#include <new>

namespace hakobi::exchange {
namespace {

constexpr std::int64_t line_pair_bytes = 128;  // two cache lines, which processors fetch together

std::int64_t in_lines(std::int64_t bytes) {
    return (bytes + line_pair_bytes - 1) / line_pair_bytes * line_pair_bytes;
}

/// Whether `word` has come to `value`; numbers wrap.
bool has_come(const FutexWord& word, std::uint32_t value) {
    return static_cast<std::int32_t>(word.load(std::memory_order_acquire) - value) >= 0;
}

}  // namespace

Status NodeChannel::create(const Comm& comm, std::int64_t note_bytes, NodeChannel& channel) {
    channel.me_ = comm.node_rank();
    channel.size_ = comm.node_size();
    channel.note_bytes_ = in_lines(note_bytes);
    channel.row_bytes_ = in_lines(static_cast<std::int64_t>(sizeof(Head)) + 4 * channel.size_);
    const std::int64_t bytes = channel.size_ * (channel.row_bytes_ + channel.note_bytes_) + line_pair_bytes;
    if (Status status = node::NodeWindow::allocate(comm, bytes, channel.window_); !status.ok()) return status;
    new (&channel.head(channel.me_)) Head{};
    for (int other = 0; other < channel.size_; ++other) new (&channel.done(channel.me_, other)) FutexWord(0);
    return {};
}

NodeChannel::Head& NodeChannel::head(int node_rank) const {
    assert(node_rank >= 0 && node_rank < size_);
    return *reinterpret_cast<Head*>(window_.data() + node_rank * row_bytes_);
}

FutexWord& NodeChannel::done(int by_node_rank, int to_node_rank) const {
    assert(by_node_rank >= 0 && by_node_rank < size_ && to_node_rank >= 0 && to_node_rank < size_);
    return reinterpret_cast<FutexWord*>(window_.data() + by_node_rank * row_bytes_ +
                                        sizeof(Head))[to_node_rank];
}

std::byte* NodeChannel::note(int node_rank) const {
    return window_.data() + size_ * row_bytes_ + node_rank * note_bytes_;
}

void NodeChannel::set_ready(std::uint32_t exchange) {
    assert(!has_come(head(me_).ready, exchange) && "the words only grow");
    head(me_).ready.store(exchange, std::memory_order_release);
}

bool NodeChannel::is_ready(int node_rank, std::uint32_t exchange) const {
    return has_come(head(node_rank).ready, exchange);
}

void NodeChannel::set_done(int node_rank, std::uint32_t exchange) {
    done(me_, node_rank).store(exchange, std::memory_order_release);
}

bool NodeChannel::is_done(int node_rank, std::uint32_t exchange) const {
    return has_come(done(node_rank, me_), exchange);
}

void NodeChannel::ring(int node_rank) {
    Head& other = head(node_rank);
    other.bell.fetch_add(1);
    if (other.num_sleeping.load() != 0) futex_wake_all(other.bell);
}

std::uint32_t NodeChannel::bell() const {
    return head(me_).bell.load(std::memory_order_acquire);
}

void NodeChannel::pause(mpi::Wait& wait, std::uint32_t bell) {
    Head& mine = head(me_);
    if (wait.is_patient()) return wait.pause(mine.bell, bell);
    mine.num_sleeping.fetch_add(1);  // from here on others wake us
    wait.pause(mine.bell, bell);
    mine.num_sleeping.fetch_sub(1);
}

}  // namespace hakobi::exchange
