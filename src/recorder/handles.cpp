#include "handles.hpp"

#include <utility>

namespace hakobi::recorder {

void Handles::name(MPI_Request request, std::int64_t event) {
    const std::lock_guard lock(mutex_);
    events_[key_of(request)].push_back(event);
}

std::int64_t Handles::event_of(MPI_Request request) const {
    const std::lock_guard lock(mutex_);
    const auto found = events_.find(key_of(request));
    return found == events_.end() ? -1 : found->second.front();
}

std::int64_t Handles::take(MPI_Request request) {
    const std::lock_guard lock(mutex_);
    const auto found = events_.find(key_of(request));
    if (found == events_.end()) return -1;
    const std::int64_t event = found->second.front();
    found->second.erase(found->second.begin());
    if (found->second.empty()) events_.erase(found);
    return event;
}

void Handles::keep_template(MPI_Request request, Event event) {
    const std::lock_guard lock(mutex_);
    templates_[key_of(request)] = std::move(event);
}

const Event* Handles::template_of(MPI_Request request) const {
    const std::lock_guard lock(mutex_);
    const auto found = templates_.find(key_of(request));
    return found == templates_.end() ? nullptr : &found->second;
}

void Handles::drop(MPI_Request request) {
    {
        const std::lock_guard lock(mutex_);
        templates_.erase(key_of(request));
    }
    take(request);
}

void Handles::keep_message(MPI_Message message, Event event) {
    const std::lock_guard lock(mutex_);
    messages_[key_of(message)] = std::move(event);
}

Event Handles::take_message(MPI_Message message) {
    const std::lock_guard lock(mutex_);
    const auto found = messages_.find(key_of(message));
    if (found == messages_.end()) return not_replayed();
    Event event = std::move(found->second);
    messages_.erase(found);
    return event;
}

}  // namespace hakobi::recorder
