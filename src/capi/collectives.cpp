#include <hakobi/collectives.hpp>
#include <memory>

#include "base/guard.hpp"
#include "capi/guard.hpp"
#include "capi/handles.hpp"
#include "capi/sized.hpp"
#include "mpi/agree.hpp"

using hakobi::Error;
using hakobi::ErrorCode;
using hakobi::Status;
using hakobi::capi::guarded;
using hakobi::capi::taken;
using hakobi::capi::text_or;

namespace {

template <class Handle>
Handle& required(Handle* handle, const char* call) {
    if (handle == nullptr) throw Error(ErrorCode::invalid_argument, std::string(call) + ": a handle is NULL");
    return *handle;
}

/// Agrees on an error of this rank alone: the others are on their way into create.
hakobi::CollectivesOptions options_of(const hakobi::Comm& comm, const hakobi_collectives_options* given,
                                      Status status) {
    hakobi::CollectivesOptions options;
    status.keep_first(hakobi::guarded("hakobi_collectives_create", [&] {
        const hakobi_collectives_options from = taken(given, "hakobi_collectives_options");
        options.shape = hakobi::NetworkShape::parse(text_or(from.topology, "nodes"));
        options.method = text_or(from.method, "auto");
        options.is_reproducible = hakobi::capi::yes(from.is_reproducible, false, "is_reproducible");
        const auto take = [](double value, double& into) {
            if (value != 0) into = value;
        };
        take(from.latency_s, options.costs.latency_s);
        take(from.overhead_s, options.costs.overhead_s);
        take(from.bandwidth_bytes_s, options.costs.bandwidth_bytes_s);
    }));
    hakobi::mpi::agree_or_throw(comm, status);
    return options;
}

/// One that there is not for an unknown number: planning refuses it, on all ranks alike.
hakobi::ElementType element_type_of(int type) {
    switch (type) {
        case HAKOBI_FLOAT64:
            return hakobi::ElementType::float64;
        case HAKOBI_FLOAT32:
            return hakobi::ElementType::float32;
        case HAKOBI_INT32:
            return hakobi::ElementType::int32;
        case HAKOBI_INT64:
            return hakobi::ElementType::int64;
        case HAKOBI_COMPLEX128:
            return hakobi::ElementType::complex128;
        case HAKOBI_COMPLEX64:
            return hakobi::ElementType::complex64;
        default:
            return static_cast<hakobi::ElementType>(-1);
    }
}

template <class Make>
int planned(hakobi_collectives* collectives, hakobi_collective_plan** plan, const char* call, Make make) {
    if (plan != nullptr) *plan = nullptr;
    return guarded([&] {
        hakobi_collectives& handle = required(collectives, call);
        auto made = std::make_unique<hakobi_collective_plan>();
        made->plan = make(handle.collectives);
        made->explanation = made->plan.explain();
        required(plan, call);
        *plan = made.release();
    });
}

}  // namespace

int hakobi_collectives_create(hakobi_comm* comm, const hakobi_collectives_options* options,
                              hakobi_collectives** collectives) {
    if (collectives != nullptr) *collectives = nullptr;
    return guarded([&] {
        const hakobi::Comm& of = required(comm, "hakobi_collectives_create").comm;
        Status local;
        if (collectives == nullptr)
            local = {ErrorCode::invalid_argument, "hakobi_collectives_create: collectives is NULL"};
        const hakobi::CollectivesOptions agreed = options_of(of, options, local);
        auto made = std::make_unique<hakobi_collectives>();
        made->collectives = hakobi::Collectives::create(of, agreed);
        *collectives = made.release();
    });
}

int hakobi_collectives_allreduce(hakobi_collectives* collectives, int type, int reduction, int64_t count,
                                 hakobi_collective_plan** plan) {
    return planned(collectives, plan, "hakobi_collectives_allreduce", [&](hakobi::Collectives& of) {
        return of.allreduce(element_type_of(type), static_cast<hakobi::Reduction>(reduction), count);
    });
}

int hakobi_collectives_alltoall(hakobi_collectives* collectives, int64_t block_bytes,
                                hakobi_collective_plan** plan) {
    return planned(collectives, plan, "hakobi_collectives_alltoall",
                   [&](hakobi::Collectives& of) { return of.alltoall(block_bytes); });
}

int hakobi_collectives_allgather(hakobi_collectives* collectives, int64_t block_bytes,
                                 hakobi_collective_plan** plan) {
    return planned(collectives, plan, "hakobi_collectives_allgather",
                   [&](hakobi::Collectives& of) { return of.allgather(block_bytes); });
}

int hakobi_collectives_broadcast(hakobi_collectives* collectives, int64_t bytes, int root,
                                 hakobi_collective_plan** plan) {
    return planned(collectives, plan, "hakobi_collectives_broadcast",
                   [&](hakobi::Collectives& of) { return of.broadcast(bytes, root); });
}

int hakobi_collectives_free(hakobi_collectives* collectives) {
    return guarded([&] {
        const std::unique_ptr<hakobi_collectives> owned(collectives);
        if (owned) owned->collectives.free();
    });
}

int hakobi_collective_plan_execute(hakobi_collective_plan* plan, const void* input, void* output) {
    return guarded([&] { required(plan, "hakobi_collective_plan_execute").plan.execute(input, output); });
}

int hakobi_collective_plan_start(hakobi_collective_plan* plan, const void* input, void* output) {
    return guarded([&] { required(plan, "hakobi_collective_plan_start").plan.start(input, output); });
}

int hakobi_collective_plan_test(hakobi_collective_plan* plan, int* is_complete) {
    return guarded([&] {
        const bool done = required(plan, "hakobi_collective_plan_test").plan.test();
        required(is_complete, "hakobi_collective_plan_test") = done ? 1 : 0;
    });
}

int hakobi_collective_plan_wait(hakobi_collective_plan* plan) {
    return guarded([&] { required(plan, "hakobi_collective_plan_wait").plan.wait(); });
}

int hakobi_collective_plan_start_on(hakobi_collective_plan* plan, const void* input, void* output,
                                    void* stream) {
    return guarded(
        [&] { required(plan, "hakobi_collective_plan_start_on").plan.start(input, output, stream); });
}

int hakobi_collective_plan_wait_on(hakobi_collective_plan* plan, void* stream) {
    return guarded([&] { required(plan, "hakobi_collective_plan_wait_on").plan.wait(stream); });
}

const char* hakobi_collective_plan_explain(const hakobi_collective_plan* plan) {
    return plan != nullptr ? plan->explanation.c_str() : nullptr;
}

void hakobi_collective_plan_free(hakobi_collective_plan* plan) {
    delete plan;
}
