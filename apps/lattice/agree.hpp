#pragma once

#include <hakobi/comm.hpp>
#include <hakobi/error.hpp>
#include <string>

namespace hakobi::lattice {

/// The failure of this rank, or none.
struct Failure {
    ErrorCode code = ErrorCode::ok;
    std::string text;

    /// The first one stays.
    void note(ErrorCode other, const std::string& why) {
        if (code == ErrorCode::ok && other != ErrorCode::ok) *this = {other, why};
    }
};

/// Throws the most severe failure of all ranks, the lowest rank's of several, on every rank; returns when
/// there is none. Collective over `comm`.
void throw_if_any_failed(const Comm& comm, const Failure& failure);

/// Runs `action` on rank 0 alone; what it throws as Error every rank throws. Collective.
template <class Action>
void on_rank_0(const Comm& comm, const Action& action) {
    Failure failure;
    if (comm.rank() == 0) {
        try {
            action();
        } catch (const Error& error) {
            failure = {error.code(), error.what()};
        } catch (const std::bad_alloc&) {
            failure = {ErrorCode::out_of_memory, "no memory left"};
        }
    }
    throw_if_any_failed(comm, failure);
}

}  // namespace hakobi::lattice
