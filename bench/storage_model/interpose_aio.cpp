// POSIX AIO under the model, still asynchronous:
// 1. aio_read and aio_write submit to libc and note when the model completes the request.
// 2. aio_error says EINPROGRESS until both libc and the model have completed it; aio_suspend waits for that.
// 3. aio_return ends the note.
// A request that asks to be notified is delayed before it is submitted instead: libc would notify too early,
// and the handler would find the request in progress.
#include <aio.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <ctime>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "model.hpp"
#include "storage_model/service_model.hpp"
#include "workers.hpp"

#define EXPORT extern "C" __attribute__((visibility("default")))

static_assert(sizeof(aiocb) == sizeof(aiocb64), "one layout for both names");

namespace {

using hakobi::storage::monotonic_ns;
using hakobi::storage_model::KeepErrno;
using hakobi::storage_model::sleep_modelled;
using hakobi::storage_model::Transfer;
using hakobi::storage_model::Workers;

/// The requests in flight, by their control block, and when the model completes them.
struct Notes {
    std::mutex mutex;
    std::unordered_map<const void*, std::int64_t> completion_ns;

    Notes() {
        ::pthread_atfork([] { instance().mutex.lock(); }, [] { instance().mutex.unlock(); },
                         [] {
                             instance().completion_ns.clear();  // a child inherits no AIO
                             instance().mutex.unlock();
                         });
    }
    static Notes& instance() {
        static auto* notes = new Notes;
        return *notes;
    }
};

void note(const void* block, std::int64_t time_ns) {
    Notes& notes = Notes::instance();
    std::scoped_lock lock(notes.mutex);
    notes.completion_ns[block] = time_ns;
}

/// The same, unless the program has given the request up meanwhile.
void note_if_there(const void* block, std::int64_t time_ns) {
    Notes& notes = Notes::instance();
    std::scoped_lock lock(notes.mutex);
    if (const auto entry = notes.completion_ns.find(block); entry != notes.completion_ns.end())
        entry->second = time_ns;
}

/// When the model completes the request; 0 where it is none of ours.
std::int64_t completion_of(const void* block) {
    Notes& notes = Notes::instance();
    std::scoped_lock lock(notes.mutex);
    const auto entry = notes.completion_ns.find(block);
    return entry == notes.completion_ns.end() ? 0 : entry->second;
}

void end_note(const void* block) {
    Notes& notes = Notes::instance();
    std::scoped_lock lock(notes.mutex);
    notes.completion_ns.erase(block);
}

/// `submit` is libc's call for this one block.
template <class Block, class Submit>
int submit_modelled(Block* block, bool is_write, Submit submit) {
    const Transfer transfer(block->aio_fildes, is_write);
    if (!transfer.is_modelled()) {
        end_note(block);  // a block that was used before and never returned
        return submit();
    }
    const std::int64_t offset = block->aio_offset;
    const auto length = static_cast<std::int64_t>(block->aio_nbytes);
    if (block->aio_sigevent.sigev_notify != SIGEV_NONE) {
        transfer.wait(offset, length);
        end_note(block);
        return submit();
    }
    // Noted as endless first: the block may be looked at as soon as it is submitted.
    note(block, INT64_MAX);
    const int result = submit();
    const KeepErrno keep;
    if (result == 0 && Transfer::has_stops()) {
        Workers::instance().take([transfer, block, offset, length] {
            const std::int64_t completion_ns = transfer.pass(offset, length);
            note_if_there(block, completion_ns);
        });
    } else if (result == 0) {
        note(block, transfer.pass(offset, length));
    } else {
        end_note(block);
    }
    return result;
}

/// aio_error as the program is to see it.
template <class Block, class Error>
int error_of(const Block* block, Error error) {
    const int real = error(block);
    if (real != 0) return real;
    return completion_of(block) > monotonic_ns() ? EINPROGRESS : 0;
}

template <class Block, class Error, class Suspend>
int suspend_modelled(const Block* const blocks[], int count, const timespec* timeout, Error error,
                     Suspend suspend) {
    const std::int64_t deadline_ns =
        timeout == nullptr
            ? INT64_MAX
            : monotonic_ns() + std::int64_t{1'000'000'000} * timeout->tv_sec + timeout->tv_nsec;
    for (;;) {
        std::vector<const Block*> in_libc;   // the model has completed them, or never knew them
        std::int64_t next_ns = deadline_ns;  // the first completion of those that libc has completed
        bool is_any = false;
        for (int i = 0; i < count; ++i) {
            if (blocks[i] == nullptr) continue;
            is_any = true;
            if (error_of(blocks[i], error) != EINPROGRESS) return 0;
            const std::int64_t completion_ns = completion_of(blocks[i]);
            if (error(blocks[i]) == EINPROGRESS) in_libc.push_back(blocks[i]);
            if (completion_ns > monotonic_ns()) next_ns = std::min(next_ns, completion_ns);
        }
        if (!is_any) return suspend(blocks, count, timeout);
        const std::int64_t now_ns = monotonic_ns();
        if (now_ns >= deadline_ns) {
            errno = EAGAIN;
            return -1;
        }
        if (in_libc.empty()) {
            if (next_ns == INT64_MAX) next_ns = now_ns + 100'000;  // being submitted by another thread
            const timespec until{.tv_sec = next_ns / 1'000'000'000, .tv_nsec = next_ns % 1'000'000'000};
            const int result = ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
            if (result == EINTR) {
                errno = EINTR;
                return -1;
            }
            continue;
        }
        // libc completes a transfer into memory long before the model does; what it has not, it is asked for
        // in turn.
        const std::int64_t longest_ns = std::min<std::int64_t>(next_ns - now_ns, 1'000'000'000);
        const timespec wait{.tv_sec = longest_ns / 1'000'000'000,
                            .tv_nsec = std::max<std::int64_t>(0, longest_ns % 1'000'000'000)};
        if (suspend(in_libc.data(), static_cast<int>(in_libc.size()), &wait) != 0 && errno != EAGAIN)
            return -1;
    }
}

/// Each entry by itself, as libc's call for one block; then waits, or notifies by an empty list.
template <class Block, class Read, class Write, class Suspend, class Error, class List>
int list_modelled(int mode, Block* const blocks[], int count, sigevent* event, Read read, Write write,
                  Suspend suspend, Error error, List list) {
    bool is_any_modelled = false;
    for (int i = 0; i < count; ++i) {
        if (blocks[i] == nullptr || blocks[i]->aio_lio_opcode == LIO_NOP) continue;
        is_any_modelled = is_any_modelled || Transfer(blocks[i]->aio_fildes, false).is_modelled();
    }
    const bool is_notified = mode == LIO_NOWAIT && event != nullptr && event->sigev_notify != SIGEV_NONE;
    if (!is_any_modelled) return list();
    if (is_notified) {
        // As for single requests: the delay first.
        for (int i = 0; i < count; ++i) {
            if (blocks[i] == nullptr || blocks[i]->aio_lio_opcode == LIO_NOP) continue;
            Transfer(blocks[i]->aio_fildes, blocks[i]->aio_lio_opcode == LIO_WRITE)
                .wait(blocks[i]->aio_offset, static_cast<std::int64_t>(blocks[i]->aio_nbytes));
            end_note(blocks[i]);
        }
        return list();
    }
    int failure = 0;
    for (int i = 0; i < count; ++i) {
        if (blocks[i] == nullptr || blocks[i]->aio_lio_opcode == LIO_NOP) continue;
        if ((blocks[i]->aio_lio_opcode == LIO_WRITE ? write(blocks[i]) : read(blocks[i])) != 0)
            failure = errno;
    }
    if (mode == LIO_WAIT) {
        for (int i = 0; i < count; ++i) {
            if (blocks[i] == nullptr || blocks[i]->aio_lio_opcode == LIO_NOP) continue;
            const Block* one = blocks[i];
            while (error_of(one, error) == EINPROGRESS) {
                if (suspend(&one, 1, nullptr) != 0 && errno != EAGAIN) return -1;
            }
            if (error_of(one, error) != 0) failure = EIO;
        }
    }
    if (failure == 0) return 0;
    errno = mode == LIO_WAIT ? EIO : failure;
    return -1;
}

}  // namespace

#define AIO(block_type, read_name, write_name, error_name, return_name, suspend_name, list_name)         \
    EXPORT int read_name(block_type* block) noexcept {                                                   \
        return submit_modelled(block, false, [&] { return HAKOBI_NEXT(read_name, block); });             \
    }                                                                                                    \
    EXPORT int write_name(block_type* block) noexcept {                                                  \
        return submit_modelled(block, true, [&] { return HAKOBI_NEXT(write_name, block); });             \
    }                                                                                                    \
    EXPORT int error_name(const block_type* block) noexcept {                                            \
        return error_of(block, [](const block_type* b) { return HAKOBI_NEXT(error_name, b); });          \
    }                                                                                                    \
    EXPORT ssize_t return_name(block_type* block) noexcept {                                             \
        end_note(block);                                                                                 \
        return HAKOBI_NEXT(return_name, block);                                                          \
    }                                                                                                    \
    EXPORT int suspend_name(const block_type* const blocks[], int count, const timespec* timeout) {      \
        return suspend_modelled(                                                                         \
            blocks, count, timeout, [](const block_type* b) { return HAKOBI_NEXT(error_name, b); },      \
            [](const block_type* const b[], int n, const timespec* t) {                                  \
                return HAKOBI_NEXT(suspend_name, b, n, t);                                               \
            });                                                                                          \
    }                                                                                                    \
    EXPORT int list_name(int mode, block_type* const blocks[], int count, sigevent* event) {             \
        return list_modelled(                                                                            \
            mode, blocks, count, event, [](block_type* b) { return read_name(b); },                      \
            [](block_type* b) { return write_name(b); },                                                 \
            [](const block_type* const b[], int n, const timespec* t) { return suspend_name(b, n, t); }, \
            [](const block_type* b) { return HAKOBI_NEXT(error_name, b); },                              \
            [&] { return HAKOBI_NEXT(list_name, mode, blocks, count, event); });                         \
    }

AIO(aiocb, aio_read, aio_write, aio_error, aio_return, aio_suspend, lio_listio)
AIO(aiocb64, aio_read64, aio_write64, aio_error64, aio_return64, aio_suspend64, lio_listio64)
