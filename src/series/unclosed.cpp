#include "series/unclosed.hpp"

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <optional>
#include <vector>

#include "mpi/at_finalize.hpp"
#include "mpi/comm_state.hpp"
#include "mpi/messages.hpp"

namespace hakobi::series {
namespace {

constexpr int meeting_tag = 7110;

struct Entry {
    Unclosed* output = nullptr;
    std::unique_ptr<Unclosed> dropped;  // the same, where nobody else has it any more
};

// Never destroyed: an output may be dropped by a static destructor.
struct List {
    std::mutex mutex;
    std::vector<Entry> entries;
};
List& list() {
    static auto* const made = new List;
    return *made;
}

/// This process's on one Comm, or all, in the order of create.
std::vector<Unclosed*> unclosed(const mpi::CommState* comm) {
    const std::scoped_lock lock(list().mutex);
    std::vector<Unclosed*> found;
    for (const Entry& entry : list().entries) {
        if (!entry.output->maker().is_this_process()) continue;
        if (comm == nullptr || &entry.output->own_comm().state() == comm) found.push_back(entry.output);
    }
    return found;
}

/// Collective. `where`: the call in which it happens.
void finish(Unclosed& output, const char* where) {
    if (output.own_comm().rank() == 0 && output.has_pending()) {
        std::fprintf(stderr,
                     "hakobi: %s: the program did not close its output; its steps are completed in %s\n",
                     output.own_prefix().c_str(), where);
    }
    output.finish();
    std::unique_ptr<Unclosed> dropped;  // destroyed without the lock
    const std::scoped_lock lock(list().mutex);
    const auto at = std::ranges::find(list().entries, &output, &Entry::output);
    if (at == list().entries.end()) return;
    dropped = std::move(at->dropped);
    list().entries.erase(at);
}

/// Returns when all ranks have called it. By messages of a tag of its own: ranks that are in another call of
/// ours meanwhile stay there, and their collectives are not taken for this.
void meet(const Comm& comm) {
    for (int distance = 1; distance < comm.size(); distance *= 2) {
        const int to = (comm.rank() + distance) % comm.size();
        const int from = (comm.rank() + comm.size() - distance) % comm.size();
        mpi::send_value(comm, distance, to, meeting_tag);
        (void)mpi::receive_value(comm, from, meeting_tag);
    }
}

void finish_all_at_finalize() {
    for (Unclosed* const output : unclosed(nullptr)) {
        if (output->has_pending()) meet(output->own_comm());
        finish(*output, "MPI_Finalize");
    }
}

/// With a Comm: finishes what is unclosed on it before it is freed.
class AtFree final : public mpi::Attachment {
  public:
    void finish(mpi::CommState& comm) override {
        for (Unclosed* const output : unclosed(&comm)) series::finish(*output, "the Comm's free");
    }
    void free() override {}
};

}  // namespace

void add_unclosed(Unclosed& output) {
    {
        static std::optional<Maker> has_asked;
        const std::scoped_lock lock(list().mutex);
        const bool is_asked = has_asked && has_asked->is_this_process();
        if (!is_asked) mpi::at_finalize(mpi::FinalizeStage::with_others, finish_all_at_finalize);
        has_asked.emplace();
    }
    (void)output.own_comm().state().attachment_of<AtFree>();
    const std::scoped_lock lock(list().mutex);
    list().entries.push_back({&output, nullptr});
}

void remove_unclosed(Unclosed& output) noexcept {
    const std::scoped_lock lock(list().mutex);
    // A dropped one is being finished: its entry, which holds it, goes when that is over.
    std::erase_if(list().entries,
                  [&](const Entry& entry) { return entry.output == &output && !entry.dropped; });
}

void drop_unclosed(std::unique_ptr<Unclosed> output) noexcept {
    if (!output->maker().is_this_process()) {
        (void)output.release();  // its destructor would wait for threads that are the parent's
        return;
    }
    std::unique_lock lock(list().mutex);
    const auto at = std::ranges::find(list().entries, output.get(), &Entry::output);
    if (at == list().entries.end()) {
        lock.unlock();  // which its destructor takes
    } else if (output->own_comm().size() > 1 && output->has_pending()) {
        at->dropped = std::move(output);
    } else {
        lock.unlock();
        output->finish();
    }
}

void finish_dropped(const Comm& comm) noexcept {
    // The list of those on one Comm is the same on all its ranks, but not when each dropped its own.
    const std::vector<Unclosed*> all = unclosed(&comm.state());
    if (all.empty()) return;
    std::vector<std::int64_t> is_held(all.size(), 1);
    {
        const std::scoped_lock lock(list().mutex);
        for (std::size_t i = 0; i < all.size(); ++i) {
            const auto at = std::ranges::find(list().entries, all[i], &Entry::output);
            is_held[i] = at->dropped ? 0 : 1;
        }
    }
    mpi::all_max(comm, is_held);
    for (std::size_t i = 0; i < all.size(); ++i)
        if (is_held[i] == 0) finish(*all[i], "the next call on its Comm");
}

}  // namespace hakobi::series
