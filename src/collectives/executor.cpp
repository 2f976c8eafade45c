#include "collectives/executor.hpp"

#include <stdlib.h>  // plain malloc: simulators of MPI replace it, to share what thousands of ranks on one machine hold

#include <algorithm>
#include <cassert>
#include <cstring>
#include <string>
#include <utility>

#include "collectives/reduce.hpp"

namespace hakobi::collectives {
namespace {

void copy_repeated(const std::byte* from, std::byte* to, std::int64_t bytes,
                   std::span<const Repeat> repeats) {
    if (repeats.empty()) {
        if (from != to) std::memcpy(to, from, static_cast<std::size_t>(bytes));
        return;
    }
    const Repeat loop = repeats.front();
    for (std::int64_t i = 0; i < loop.count; ++i)
        copy_repeated(from + i * loop.from_stride, to + i * loop.to_stride, bytes, repeats.subspan(1));
}

}  // namespace

void Memory::Free::operator()(std::byte* data) const noexcept {
    free(data);
}

Status Memory::allocate(std::int64_t bytes, Memory& memory) {
    if (bytes == 0) return {};
    memory.data_.reset(static_cast<std::byte*>(malloc(static_cast<std::size_t>(bytes))));
    if (memory.data_ != nullptr) return {};
    return {ErrorCode::out_of_memory, "no memory for a plan's " + std::to_string(bytes) + " bytes"};
}

Status Executor::create(Schedule schedule, ElementType type, Reduction reduction, std::int64_t input_bytes,
                        mpi::MessageContext context, int tag, Executor& executor) {
    executor.schedule_ = std::move(schedule);
    executor.type_ = type;
    executor.reduction_ = reduction;
    executor.tag_ = tag;
    executor.messages_ = mpi::MessagesUnderWay(context);
    executor.staging_bytes_ = needs_staging(executor.schedule_) ? input_bytes : 0;
    Status status = Memory::allocate(executor.schedule_.scratch_bytes, executor.scratch_);
    status.keep_first(Memory::allocate(executor.staging_bytes_, executor.staging_));
    return status;
}

std::int64_t Executor::scratch_bytes() const noexcept {
    return schedule_.scratch_bytes + staging_bytes_;
}

void Executor::start(const std::byte* input, std::byte* output) {
    assert(messages_.empty() && "one execution at a time");
    input_ = input;
    output_ = output;
    if (input == output && staging_bytes_ > 0) {
        std::memcpy(staging_.data(), input, static_cast<std::size_t>(staging_bytes_));
        input_ = staging_.data();
    }
    progress_.assign(schedule_.lanes.size(), {});
    for (std::size_t lane = 0; lane < progress_.size(); ++lane) advance(lane);
}

bool Executor::test() {
    if (!messages_.empty()) complete(messages_.test_some());
    return messages_.empty();
}

void Executor::wait() {
    while (!messages_.empty()) {
        if (schedule_.lanes.size() > 1) {
            complete(messages_.wait_some());
            continue;
        }
        messages_.wait_all();
        end_round(0);
        advance(0);
    }
}

void Executor::complete(std::span<const int> lanes) {
    // Completion numbers are taken first: advancing a lane makes new requests.
    std::vector<std::size_t> ready;
    for (const int lane : lanes) {
        int& num_pending = progress_[static_cast<std::size_t>(lane)].num_pending;
        assert(num_pending > 0);
        if (--num_pending == 0) ready.push_back(static_cast<std::size_t>(lane));
    }
    for (const std::size_t lane : ready) {
        end_round(lane);
        advance(lane);
    }
}

void Executor::advance(std::size_t lane) {
    while (progress_[lane].round < schedule_.lanes[lane].rounds.size()) {
        begin_round(lane);
        if (progress_[lane].num_pending > 0) return;
        end_round(lane);
    }
}

void Executor::begin_round(std::size_t lane) {
    Progress& progress = progress_[lane];
    const Round& round = schedule_.lanes[lane].rounds[progress.round];
    const int owner = static_cast<int>(lane), tag = tag_ + owner;
    progress.num_pending = 0;
    for (const Copy& each : round.before) copy(each);
    for (const Message& message : round.receives) {
        progress.num_pending += messages_.receive(
            {place(message.slot), static_cast<std::size_t>(message.bytes)}, message.peer, tag, owner);
    }
    for (const Message& message : round.sends) {
        progress.num_pending += messages_.send({place(message.slot), static_cast<std::size_t>(message.bytes)},
                                               message.peer, tag, owner);
    }
}

void Executor::end_round(std::size_t lane) {
    Progress& progress = progress_[lane];
    const Round& round = schedule_.lanes[lane].rounds[progress.round];
    for (const Sum& each : round.sums) sum(each);
    for (const Copy& each : round.after) copy(each);
    progress.num_pending = 0;
    ++progress.round;
}

std::byte* Executor::place(const Slot& slot) const noexcept {
    assert(slot.offset_bytes >= 0);
    assert(slot.buffer != Buffer::scratch || slot.offset_bytes <= schedule_.scratch_bytes);
    std::byte* base = slot.buffer == Buffer::scratch ? scratch_.data() : output_;
    if (slot.buffer == Buffer::input)
        base = const_cast<std::byte*>(input_);  // read only: schedules never write there
    return base + slot.offset_bytes;
}

void Executor::copy(const Copy& each) const {
    copy_repeated(place(each.from), place(each.to), each.bytes, each.repeats);
}

void Executor::sum(const Sum& each) {
    operands_.clear();
    for (const Slot& slot : each.operands) operands_.push_back(place(slot));
    reduce(type_, reduction_, place(each.to), operands_, each.bytes);
}

}  // namespace hakobi::collectives
