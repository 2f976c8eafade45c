#include "mpi/at_finalize.hpp"

#include "mpi/comm_state.hpp"

namespace hakobi::mpi {
namespace {

struct Action {
    void (*act)();
};

int carry_out(MPI_Comm, int, void* value, void*) {
    auto* const action = static_cast<Action*>(value);
    action->act();
    delete action;
    return MPI_SUCCESS;
}

}  // namespace

// MPI_Finalize runs the delete callbacks of MPI_COMM_SELF's attributes before anything else.
void at_finalize(void (*act)()) {
    int key = MPI_KEYVAL_INVALID;
    check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, carry_out, &key, nullptr), "MPI_Comm_create_keyval");
    check(MPI_Comm_set_attr(MPI_COMM_SELF, key, new Action{act}), "MPI_Comm_set_attr");
    MPI_Comm_free_keyval(&key);  // which only marks it, as long as the attribute is there
}

}  // namespace hakobi::mpi
