#pragma once

#include <unistd.h>

#include <functional>
#include <utility>

namespace hakobi {

// A child made by fork has a copy of all memory and of all descriptors, and none of the threads. The parent's
// work is not its own: the child holds no lock on it, and ends, closes, joins and removes nothing of it.

/// The process that has made an object.
class Maker {
  public:
    [[nodiscard]] bool is_this_process() const noexcept { return process_ == ::getpid(); }

  private:
    pid_t process_ = ::getpid();
};

/// For objects whose destructor works for their maker alone: in a child their memory stays. T has `maker()`.
struct DeletedByMaker {
    template <class T>
    void operator()(T* object) const {
        if (object->maker().is_this_process()) delete object;
    }
};

/// From now on children are made without this descriptor, which this process has open. Any thread.
void keep_from_children(int descriptor);
/// It is about to be closed. Any thread.
void forget_descriptor(int descriptor) noexcept;

/// A descriptor by which something is locked (flock, an open file description's lock). A child's copy of it
/// would hold the lock for as long as the child lives, whatever becomes of the parent: children have none.
/// Empty in them.
class OwnDescriptor {
  public:
    OwnDescriptor() = default;
    /// Owns the descriptor that `open` returns. No fork comes between that and the note that it is kept from
    /// children.
    explicit OwnDescriptor(const std::function<int()>& open);
    OwnDescriptor(OwnDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)), maker_(other.maker_) {}
    OwnDescriptor& operator=(OwnDescriptor&& other) noexcept {
        std::swap(fd_, other.fd_);
        std::swap(maker_, other.maker_);
        return *this;
    }
    OwnDescriptor(const OwnDescriptor&) = delete;
    OwnDescriptor& operator=(const OwnDescriptor&) = delete;
    ~OwnDescriptor();
    [[nodiscard]] int get() const noexcept { return fd_ >= 0 && maker_.is_this_process() ? fd_ : -1; }

  private:
    int fd_ = -1;
    Maker maker_;
};

}  // namespace hakobi
