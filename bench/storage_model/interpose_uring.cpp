// Reads and writes by liburing under the model, still asynchronous:
// 1. io_uring_submit takes modelled reads and writes out of the submission queue (an entry that does nothing
//    and has no completion stays in its place) and hands them to threads, as the kernel hands them to its
//    workers.
// 2. A thread carries the transfer out, sleeps until the model completes it, and posts the completion to the
//    program's ring by a message from a ring of our own (IORING_OP_MSG_RING, Linux 5.18). The program sees
//    what the kernel would have told it, when the model allows.
// A ring that cannot be served so ends the program: its figures would be false.
#ifdef HAKOBI_HAVE_URING

#include <fcntl.h>
#include <liburing.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <string>

#include "model.hpp"
#include "workers.hpp"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using hakobi::storage_model::refuse;
using hakobi::storage_model::sleep_modelled;
using hakobi::storage_model::Transfer;
using hakobi::storage_model::Workers;

struct Job {
    Transfer transfer;
    io_uring_sqe entry;
    int ring_fd;
};

bool is_write(const io_uring_sqe& entry) {
    return entry.opcode == IORING_OP_WRITE || entry.opcode == IORING_OP_WRITE_FIXED ||
           entry.opcode == IORING_OP_WRITEV;
}

bool is_transfer(const io_uring_sqe& entry) {
    return is_write(entry) || entry.opcode == IORING_OP_READ || entry.opcode == IORING_OP_READ_FIXED ||
           entry.opcode == IORING_OP_READV;
}

/// The transfer's bytes or a negative errno, by the system call itself: libc's are modelled.
std::int64_t carry_out(const io_uring_sqe& entry) {
    const bool is_vector = entry.opcode == IORING_OP_READV || entry.opcode == IORING_OP_WRITEV;
    const long number = is_vector ? (is_write(entry) ? SYS_pwritev : SYS_preadv)
                                  : (is_write(entry) ? SYS_pwrite64 : SYS_pread64);
    const long moved = ::syscall(number, entry.fd, entry.addr, entry.len, entry.off, 0L);
    return moved < 0 ? -errno : moved;
}

/// The ring that completions are posted from.
class Messenger {
  public:
    Messenger() {
        if (const int error = HAKOBI_NEXT(io_uring_queue_init, 8U, &ring_, 0U); error < 0)
            refuse(std::string("no ring for completions: ") + std::strerror(-error));
    }

    void post(int ring_fd, std::uint64_t data, std::int32_t result) {
        std::scoped_lock lock(mutex_);
        io_uring_sqe* entry = io_uring_get_sqe(&ring_);
        io_uring_prep_rw(IORING_OP_MSG_RING, entry, ring_fd, nullptr, static_cast<unsigned>(result), data);
        while (HAKOBI_NEXT(io_uring_submit, &ring_) == -EINTR) {
        }
        io_uring_cqe* completion = nullptr;
        while (HAKOBI_NEXT(__io_uring_get_cqe, &ring_, &completion, 0U, 1U, nullptr) == -EINTR) {
        }
        const int posted = completion->res;
        io_uring_cqe_seen(&ring_, completion);
        if (posted < 0)
            refuse(std::string("io_uring cannot be modelled by this kernel (5.18 or later is needed): ") +
                   std::strerror(-posted));
    }

  private:
    std::mutex mutex_;
    io_uring ring_{};
};

/// Carries a transfer out and posts its completion.
void run(const Job& job) {
    static auto* const messenger =
        new Messenger;  // never destroyed: threads post as long as the process lives
    const std::int64_t moved = carry_out(job.entry);
    if (moved >= 0) sleep_modelled(job.transfer.pass(static_cast<std::int64_t>(job.entry.off), moved));
    messenger->post(job.ring_fd, job.entry.user_data, static_cast<std::int32_t>(moved));
}

/// Takes the modelled transfers among the entries that the next submission hands to the kernel.
void take_modelled(io_uring* ring) {
    constexpr unsigned unknown_flags =
        IOSQE_FIXED_FILE | IOSQE_IO_DRAIN | IOSQE_IO_LINK | IOSQE_IO_HARDLINK | IOSQE_BUFFER_SELECT;
    for (unsigned at = ring->sq.sqe_head; at != ring->sq.sqe_tail; ++at) {
        io_uring_sqe& entry = ring->sq.sqes[at & *ring->sq.kring_mask];
        if (!is_transfer(entry)) continue;
        const Transfer transfer(entry.fd, is_write(entry));
        if (!transfer.is_modelled()) continue;
        if ((entry.flags & unknown_flags) != 0 || entry.off == static_cast<std::uint64_t>(-1))
            refuse("io_uring: linked entries, registered files and the file's position are not modelled");
        Workers::instance().take([job = Job{transfer, entry, ring->ring_fd}] { run(job); });
        io_uring_prep_nop(&entry);
        entry.flags = IOSQE_CQE_SKIP_SUCCESS;
    }
}

}  // namespace

EXPORT int io_uring_submit(io_uring* ring) {
    take_modelled(ring);
    return HAKOBI_NEXT(io_uring_submit, ring);
}
EXPORT int io_uring_submit_and_wait(io_uring* ring, unsigned count) {
    take_modelled(ring);
    return HAKOBI_NEXT(io_uring_submit_and_wait, ring, count);
}

#endif
