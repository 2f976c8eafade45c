#include "mpi/under_way.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "mpi/wait.hpp"

#ifdef HAKOBI_SIMULATED
#include <simgrid/actor.h>
#endif

namespace hakobi::mpi {
namespace {

/// This rank's.
std::vector<UnderWay*>& all() {
#ifdef HAKOBI_SIMULATED  // the simulator's ranks are one process
    static auto* lists = new std::map<aid_t, std::vector<UnderWay*>>;
    return (*lists)[sg_actor_self_get_pid()];
#endif
    static auto* list = new std::vector<UnderWay*>;  // outlives operations that end with the program
    return *list;
}

bool may_threads_call() {
    static const bool may = [] {
        int level = MPI_THREAD_SINGLE;
        PMPI_Query_thread(&level);
        return level == MPI_THREAD_MULTIPLE;
    }();
    return may;
}

}  // namespace

std::unique_lock<std::mutex> UnderWay::lock() {
    static std::mutex mutex;
    return may_threads_call() ? std::unique_lock(mutex) : std::unique_lock<std::mutex>();
}

bool UnderWay::look_at_all() {
    std::vector<UnderWay*>& list = all();
    const auto locked = lock();
    bool did = false;
    for (std::size_t i = 0; i < list.size();) {
        const Look look = list[i]->look();
        did = did || look != Look::nothing;
        if (look != Look::over) {
            ++i;
            continue;
        }
        UnderWay* const ended = list[i];
        list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
        ended->is_under_way_.store(false, std::memory_order_release);
    }
    return did;
}

bool UnderWay::is_any() {
    const auto locked = lock();
    return !all().empty();
}

bool UnderWay::is_alone() const {
    const auto locked = lock();
    return all().size() == 1 && all().front() == this;
}

bool UnderWay::may_block() const {
    return !may_threads_call() && is_alone();
}

void UnderWay::enter() {
    const auto locked = lock();
    all().push_back(this);
    is_under_way_.store(true, std::memory_order_relaxed);
}

void UnderWay::leave() {
    if (!is_under_way()) return;
    const auto locked = lock();
    std::erase(all(), this);
    is_under_way_.store(false, std::memory_order_relaxed);
}

void UnderWay::wait_until_over(const Comm& comm, Patience patience, bool do_looks_call_mpi) const {
    Wait wait(comm, patience);
    while (is_under_way()) {
        const bool did = do_looks_call_mpi ? look_at_all() : progress(comm);
        if (!did) wait.yield();  // messages move only while somebody looks
    }
}

}  // namespace hakobi::mpi
