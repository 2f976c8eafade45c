// Preloaded: a system that gives no io_uring, as containers' policies often have it.
#include <errno.h>

int io_uring_queue_init(unsigned num_entries, void* ring, unsigned flags) {
    (void)num_entries, (void)ring, (void)flags;
    return -EPERM;
}
