#pragma once

#include <unistd.h>

#include <cerrno>
#include <utility>

namespace hakobi {

/// Owns a file descriptor, or none (-1).
class Descriptor {
  public:
    explicit Descriptor(int fd = -1) noexcept : fd_(fd) {}
    Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() {
        if (fd_ >= 0) ::close(fd_);
    }
    [[nodiscard]] int get() const noexcept { return fd_; }
    /// 0, or errno: some file systems tell only here that what was written is lost.
    [[nodiscard]] int close() noexcept {
        const int fd = std::exchange(fd_, -1);
        return fd < 0 || ::close(fd) == 0 || errno == EINTR ? 0 : errno;
    }

  private:
    int fd_;
};

}  // namespace hakobi
