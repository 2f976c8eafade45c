#include "mpi/device_queue.hpp"

#include "mpi/comm_state.hpp"
#include "mpi/wait.hpp"

namespace hakobi::mpi {
namespace {

void end_where_it_failed(const Status& status) {
    if (!status.ok()) end_program("the device failed in an exchange: " + status.text());
}

/// Returns errors that the caller can be told about its stream; others end the program.
Status about_stream(Status status) {
    if (status.code() != ErrorCode::invalid_argument) end_where_it_failed(status);
    return status;
}

}  // namespace

bool DeviceMark::is_over() {
    if (!mark_) return true;
    const Result<bool> is_over = mark_->is_over();
    if (!is_over.ok()) end_where_it_failed(is_over.status());
    if (is_over.value()) mark_.reset();
    return !mark_;
}

void DeviceMark::wait(const Comm& comm, Patience patience) {
    Wait turns(comm, patience);
    while (!is_over())
        if (!progress(comm)) turns.yield();
}

DeviceQueue DeviceQueue::of(device::Device& device) {
    auto queue = device.make_queue();
    if (!queue.ok()) queue.status().throw_if_error();
    return DeviceQueue(std::move(queue).value());
}

DeviceQueue::~DeviceQueue() {
    if (queue_) (void)queue_->finish();
}

Status DeviceQueue::begin_after(DeviceStream stream) {
    return about_stream(queue_->begin_after(stream));
}

Status DeviceQueue::hold_back(DeviceStream stream) {
    return about_stream(queue_->hold_back(stream));
}

void DeviceQueue::give(const device::Copy& copy) {
    if (copy.size_bytes() > 0) end_where_it_failed(queue_->start(copy));
}

void DeviceQueue::give(const device::CopyList& list) {
    end_where_it_failed(queue_->start(list));
}

DeviceMark DeviceQueue::mark() {
    auto mark = queue_->mark();
    if (!mark.ok()) end_where_it_failed(mark.status());
    return DeviceMark(std::move(mark).value());
}

void DeviceQueue::finish() {
    end_where_it_failed(queue_->finish());
}

}  // namespace hakobi::mpi
