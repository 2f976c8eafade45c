#include "base/forked.hpp"

#include <pthread.h>

#include <cerrno>
#include <cstddef>
#include <mutex>
#include <vector>

namespace hakobi {
namespace {

// Never destroyed: a descriptor may be closed by a static destructor.
struct KeptDescriptors {
    std::mutex mutex;
    std::vector<bool> is_kept;  // by number
};
KeptDescriptors& kept_descriptors() {
    static auto* const made = new KeptDescriptors;
    return *made;
}

void before_fork() {
    kept_descriptors().mutex.lock();
}
void after_fork_in_parent() {
    kept_descriptors().mutex.unlock();
}
void after_fork_in_child() {
    std::vector<bool>& is_kept = kept_descriptors().is_kept;
    for (std::size_t descriptor = 0; descriptor < is_kept.size(); ++descriptor) {
        if (is_kept[descriptor]) ::close(static_cast<int>(descriptor));
        is_kept[descriptor] = false;
    }
    kept_descriptors().mutex.unlock();
}

void watch_forks() {
    static std::once_flag once;
    std::call_once(once, [] { ::pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child); });
}

/// The mutex is held.
void note_kept(int descriptor) {
    const auto number = static_cast<std::size_t>(descriptor);
    std::vector<bool>& is_kept = kept_descriptors().is_kept;
    if (is_kept.size() <= number) is_kept.resize(number + 1, false);
    is_kept[number] = true;
}

}  // namespace

void keep_from_children(int descriptor) {
    if (descriptor < 0) return;
    watch_forks();
    const std::scoped_lock lock(kept_descriptors().mutex);
    note_kept(descriptor);
}

void forget_descriptor(int descriptor) noexcept {
    if (descriptor < 0) return;
    const std::scoped_lock lock(kept_descriptors().mutex);
    const auto number = static_cast<std::size_t>(descriptor);
    std::vector<bool>& is_kept = kept_descriptors().is_kept;
    if (number < is_kept.size()) is_kept[number] = false;
}

OwnDescriptor::OwnDescriptor(const std::function<int()>& open) {
    watch_forks();
    const std::scoped_lock lock(kept_descriptors().mutex);
    fd_ = open();
    const int error = errno;
    if (fd_ >= 0) note_kept(fd_);
    errno = error;
}

OwnDescriptor::~OwnDescriptor() {
    if (get() < 0) return;
    // At once: a child made in between would keep it.
    const std::scoped_lock lock(kept_descriptors().mutex);
    kept_descriptors().is_kept[static_cast<std::size_t>(fd_)] = false;
    ::close(fd_);
}

}  // namespace hakobi
