#include "mpiio/engine_side.hpp"

#include <fcntl.h>

#include <utility>

#include "base/clock.hpp"
#include "io/hidden_writes.hpp"
#include "mpiio/hidden.hpp"
#include "mpiio/storage_share.hpp"

namespace hakobi::mpiio {
namespace {

void add(io::EngineCounters& sum, const io::EngineCounters& part) {
    sum.calls += part.calls;
    sum.cycles += part.cycles;
    sum.direct_calls += part.direct_calls;
    sum.user_bytes += part.user_bytes;
    sum.copied_bytes += part.copied_bytes;
    sum.pieces += part.pieces;
    sum.messages += part.messages;
    sum.message_bytes += part.message_bytes;
    sum.storage_bytes += part.storage_bytes;
    sum.call_s += part.call_s;
    sum.plan_s += part.plan_s;
    sum.copy_s += part.copy_s;
    sum.wait_buffer_s += part.wait_buffer_s;
    sum.wait_peer_s += part.wait_peer_s;
    sum.wait_hidden_s += part.wait_hidden_s;
    sum.write_wait_s += part.write_wait_s;
    sum.storage_s += part.storage_s;
}

}  // namespace

mpi::Agreed EngineSide::open(const FileFacts& facts, const io::EngineOptions& options, bool is_path_shown) {
    if (Status made = make_engine_comm(*facts.comms); !made.ok()) return {std::move(made)};
    Comm& comm = facts.comms->engine;
    std::unique_ptr<io::Engine> engine;
    mpi::Agreed agreed = io::Engine::open(
        comm, {facts.opened_path(), facts.can_write(), is_path_shown ? facts.real_path() : facts.name, true},
        options, engine);
    if (!agreed.status.ok()) return agreed;
    const std::unique_lock lock(use_);
    engine_ = std::move(engine);
    if (leaves_holes_) engine_->leave_holes();
    if (engine_->may_hide()) expect_hidden_writes();
    return agreed;
}

mpi::Agreed EngineSide::close() {
    closed_counters_ = counters();
    add_to_storage_share(engine_->counters(), engine_->may_hide());
    std::unique_ptr<io::Engine> engine;
    {
        const std::unique_lock lock(use_);
        engine = std::move(engine_);
    }
    const bool hides = engine->may_hide() && engine->hidden_writes().is_any();
    const double begin_s = now_s();
    mpi::Agreed agreed = engine->close();
    if (hides) closing_s_ = closing_s_.value_or(0) + now_s() - begin_s;
    return agreed;
}

io::EngineCounters EngineSide::counters() const {
    io::EngineCounters sum = closed_counters_;
    if (engine_ != nullptr) add(sum, engine_->counters());
    return sum;
}

void EngineSide::wait_for_left_calls() {
    const std::shared_lock lock(use_);
    if (engine_ != nullptr) engine_->wait_for_left_calls();
}

void EngineSide::leave_holes() {
    if (leaves_holes_.exchange(true)) return;
    const std::shared_lock lock(use_);
    if (engine_ != nullptr) engine_->leave_holes();
}

bool EngineSide::has_hidden(std::int64_t begin_bytes, std::int64_t end_bytes) {
    const std::shared_lock lock(use_);
    return engine_ != nullptr && engine_->may_hide() &&
           engine_->hidden_writes().has_open(begin_bytes, end_bytes);
}

std::int64_t EngineSide::hidden_end_bytes() {
    const std::shared_lock lock(use_);
    return engine_ != nullptr && engine_->may_hide() ? engine_->hidden_writes().open_end_bytes() : 0;
}

ErrorCode EngineSide::left_error() {
    const std::shared_lock lock(use_);
    return engine_ != nullptr ? engine_->left_error() : ErrorCode::ok;
}

bool EngineSide::defer(std::span<const std::byte> bytes, std::int64_t offset) {
    const std::shared_lock lock(use_);
    return engine_ != nullptr && engine_->may_hide() && engine_->hidden_writes().defer(bytes, offset);
}

void EngineSide::wait_for_hidden() {
    const std::shared_lock lock(use_);
    if (engine_ != nullptr && engine_->may_hide()) engine_->hidden_writes().wait();
}

void EngineSide::wait_for_hidden_apart() {
    const std::shared_lock lock(use_);
    if (engine_ != nullptr && engine_->may_hide()) engine_->hidden_writes().wait_apart();
}

int EngineSide::lock_descriptor(const FileFacts& facts) {
    std::call_once(lock_opened_, [&] {
        if (facts.descriptor.get() >= 0)
            lock_ = Descriptor(::open(facts.opened_path().c_str(), O_RDONLY | O_CLOEXEC));
    });
    return lock_.get();
}

}  // namespace hakobi::mpiio
