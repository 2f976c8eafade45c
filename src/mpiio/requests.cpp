#include "mpiio/requests.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/thread.hpp"
#include "mpi/comm_state.hpp"
#include "mpi/wait.hpp"
#include "mpiio/errors.hpp"
#include "mpiio/file_table.hpp"
#include "mpiio/library.hpp"
#include "mpiio/library_call.hpp"

namespace hakobi::mpiio {
namespace {

/// The state of one operation. Lives until it has been completed and MPI has freed it, which a program may
/// ask for before.
struct Pending {
    std::shared_ptr<Operation> operation;
    Comm comm;  ///< progresses MPI
    MPI_File file = MPI_FILE_NULL;
    const char* call = "";
    MPI_Request request = MPI_REQUEST_NULL;
    std::atomic<bool> is_told{false};
    std::atomic<int> num_holders{2};

    void let_go() {
        if (num_holders.fetch_sub(1) == 1) delete this;
    }
};

struct List {
    std::mutex mutex;
    std::vector<Pending*> all;  ///< not completed
    std::atomic<std::size_t> num{0};
};

List& pending() {
    static auto* const the_list = new List;  // MPI may be finalised by a static destructor
    return *the_list;
}

/// Takes those that are over from the list, all or that one: they are the caller's to complete.
std::vector<Pending*> take_ended(const Pending* only) {
    List& list = pending();
    std::vector<Pending*> ended;
    const std::scoped_lock lock(list.mutex);
    std::erase_if(list.all, [&](Pending* each) {
        if ((only != nullptr && each != only) || !each->operation->has_ended()) return false;
        ended.push_back(each);
        return true;
    });
    list.num.store(list.all.size(), std::memory_order_release);
    return ended;
}

void complete(std::span<Pending* const> ended) {
    for (Pending* const each : ended) {
        (void)PMPI_Grequest_complete(each->request);
        each->let_go();
    }
}

/// Looks that follow each other at once are a program's that waits. The thread's own.
class Waiter {
  public:
    /// A look that has found nothing.
    void pause(Operation& operation, const Comm& comm) {
        constexpr double together_s = 2e-5, patience_s = 2e-4, longest_s = 2e-4;
        const double at_s = now_s();
        if (at_s - last_s_ > together_s) since_s_ = at_s;
        last_s_ = at_s;
        const double waited_s = at_s - since_s_;
        if (waited_s < patience_s || comm.node_size() < num_cores()) return;
        futex_wait(operation.is_over, 0, std::min(waited_s / 5, longest_s));
        last_s_ = now_s();
    }

  private:
    double since_s_ = 0, last_s_ = 0;
};

thread_local Waiter waiter;

// The handler of MPI_COMM_WORLD is called for what a generalised request returns, and by default ends the
// program. Errors of accesses are the file's handler's, which has been called. So another one stands in
// meanwhile: Open MPI calls it, and it gives the place back at once; MPICH 5 would return success after a
// function of ours, and gets MPI_ERRORS_RETURN, until the next look at a request.
class StandIn {
  public:
    static StandIn& get() {
        static auto* const the_one = new StandIn;
        return *the_one;
    }
    void take_place(int error) {
        const std::scoped_lock lock(mutex_);
        expected_.push_back(error);
        if (is_there_.exchange(true)) return;
        if (handler_ == MPI_ERRHANDLER_NULL) {
            handler_ = MPI_ERRORS_RETURN;
            if (library.is_open_mpi) PMPI_Comm_create_errhandler(called, &handler_);
        }
        PMPI_Comm_get_errhandler(MPI_COMM_WORLD, &others_);
        PMPI_Comm_set_errhandler(MPI_COMM_WORLD, handler_);
    }
    /// Returns the errors that were expected.
    std::vector<int> give_back() {
        if (!is_there_.load(std::memory_order_acquire)) return {};
        const std::scoped_lock lock(mutex_);
        if (!is_there_.exchange(false)) return {};
        PMPI_Comm_set_errhandler(MPI_COMM_WORLD, others_);
        PMPI_Errhandler_free(&others_);
        return std::exchange(expected_, {});
    }

  private:
    static void called(MPI_Comm* comm, int* error, ...) {  // NOLINT: MPI's type
        const std::vector<int> expected = get().give_back();
        int error_class = MPI_SUCCESS;
        PMPI_Error_class(*error, &error_class);
        if (error_class != MPI_ERR_IN_STATUS && std::ranges::find(expected, error_class) == expected.end())
            PMPI_Comm_call_errhandler(*comm, *error);
    }

    std::mutex mutex_;
    MPI_Errhandler handler_ = MPI_ERRHANDLER_NULL, others_ = MPI_ERRHANDLER_NULL;
    std::vector<int> expected_;
    std::atomic<bool> is_there_{false};
};

// --- What MPI calls ----------------------------------------------------------------------------------------

int query(void* state, MPI_Status* status) {
    auto& of = *static_cast<Pending*>(state);
    set_status(status, of.operation->bytes);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    if (of.operation->agreed.status.ok()) return MPI_SUCCESS;
    const int error = error_class_of(of.operation->agreed.status);
    if (OpenFile* const file = find_file(of.file); file != nullptr && !of.is_told.exchange(true))
        (void)result_of(*file, of.call, *of.operation);
    StandIn::get().take_place(error);
    return error;
}

int release(void* state) {
    static_cast<Pending*>(state)->let_go();
    return MPI_SUCCESS;
}

int cancel(void*, int) {
    return MPI_SUCCESS;  // MPI_File operations cannot be cancelled
}

// MPICH's: while the program tests or waits for one request, without progress of others; and in MPI_Waitall.
int poll(void* state, MPI_Status*) {
    StandIn::get().give_back();
    auto* const of = static_cast<Pending*>(state);
    if (of->operation->has_ended()) {
        complete(take_ended(of));
    } else {
        (void)mpi::progress(of->comm);
        waiter.pause(*of->operation, of->comm);
    }
    return MPI_SUCCESS;
}

int wait_for(int num, void** states, double, MPI_Status*) {
    StandIn::get().give_back();
    for (int i = 0; i < num; ++i) {
        auto* const of = static_cast<Pending*>(states[i]);
        OperationQueue::wait(of->comm, *of->operation);
        complete(take_ended(of));
    }
    return MPI_SUCCESS;
}

// Open MPI's: whenever it progresses.
int progress() {
    List& list = pending();
    if (list.num.load(std::memory_order_acquire) == 0) return 0;
    const std::vector<Pending*> ended = take_ended(nullptr);
    complete(ended);
    if (!ended.empty()) return static_cast<int>(ended.size());
    std::shared_ptr<Operation> next;
    Comm comm;
    {
        const std::scoped_lock lock(list.mutex);
        if (list.all.empty()) return 0;
        next = list.all.front()->operation;
        comm = list.all.front()->comm;
    }
    waiter.pause(*next, comm);
    return 0;
}

bool is_registered() {
    static const bool is = library.progress_register != nullptr && library.progress_register(progress) == 0;
    return is;
}

}  // namespace

bool can_make_requests() {
    return library.grequest_start != nullptr || library.progress_register != nullptr;
}

int make_request(const OpenFile& file, std::shared_ptr<Operation> operation, const char* call,
                 MPI_Request* request) {
    StandIn::get().give_back();
    auto made = std::make_unique<Pending>();
    made->operation = std::move(operation);
    made->comm = file.facts.comms->engine;
    made->file = file.facts.handle;
    made->call = call;
    const int error =
        library.grequest_start != nullptr
            ? library.grequest_start(query, release, cancel, poll, wait_for, made.get(), request)
        : is_registered() ? PMPI_Grequest_start(query, release, cancel, made.get(), request)
                          : MPI_ERR_INTERN;
    if (error != MPI_SUCCESS) return error;
    made->request = *request;
    const std::scoped_lock lock(pending().mutex);
    pending().all.push_back(made.release());
    pending().num.store(pending().all.size(), std::memory_order_release);
    return MPI_SUCCESS;
}

void complete_requests() {
    StandIn::get().give_back();
    (void)progress();
}

int result_of(const OpenFile& file, const char* call, const Operation& operation) {
    mpi::Agreed agreed = operation.agreed;
    const auto& ranks = file.facts.comms->engine.state().nodes.own_ranks();
    if (!agreed.status.ok()) agreed.rank = ranks[static_cast<std::size_t>(agreed.rank)];
    return result_of(file, call, agreed);
}

}  // namespace hakobi::mpiio
