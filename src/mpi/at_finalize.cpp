#include "mpi/at_finalize.hpp"

#include <mutex>
#include <utility>
#include <vector>

#include "base/forked.hpp"
#include "mpi/comm_state.hpp"

namespace hakobi::mpi {
namespace {

struct Action {
    FinalizeStage stage;
    void (*act)();
    Maker asked_by = {};
};

struct Actions {
    std::mutex mutex;
    std::vector<Action> all;
    bool is_registered = false;
};

// Never destroyed: MPI may be finalised by a static destructor.
Actions& actions() {
    static auto* const made = new Actions;
    return *made;
}

int carry_out(MPI_Comm, int, void*, void*) {
    std::vector<Action> all;
    {
        const std::scoped_lock lock(actions().mutex);
        all.swap(actions().all);
    }
    for (const FinalizeStage stage : {FinalizeStage::with_others, FinalizeStage::local}) {
        for (auto action = all.rbegin(); action != all.rend(); ++action)
            if (action->stage == stage && action->asked_by.is_this_process()) action->act();
    }
    return MPI_SUCCESS;
}

}  // namespace

// MPI_Finalize runs the delete callbacks of MPI_COMM_SELF's attributes before anything else.
void at_finalize(FinalizeStage stage, void (*act)()) {
    const std::scoped_lock lock(actions().mutex);
    actions().all.push_back({stage, act});
    if (std::exchange(actions().is_registered, true)) return;
    int key = MPI_KEYVAL_INVALID;
    check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, carry_out, &key, nullptr), "MPI_Comm_create_keyval");
    check(MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr), "MPI_Comm_set_attr");
    MPI_Comm_free_keyval(&key);  // which only marks it, as long as the attribute is there
}

}  // namespace hakobi::mpi
