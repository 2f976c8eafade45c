#pragma once

#include <hakobi/comm.hpp>

#include "base/status.hpp"

namespace hakobi::mpi {

/// A Status that every rank holds alike, and the lowest rank that had it.
struct Agreed {
    Status status;
    int rank = -1;
    bool is_own = false;  ///< not agreed after all: this rank's own, where an engine's file says so
    void throw_if_error() const {
        if (!status.ok()) throw Error(status.code(), status.text(), rank);
    }
};

/// Collective over `comm`: the most severe code of all ranks, its lowest rank, and that rank's text. One
/// small all-reduce when nobody has an error; the text is sent only then.
Agreed agree(const Comm& comm, const Status& local);

/// Collective: throws the agreed Error on every rank, or returns on every rank.
inline void agree_or_throw(const Comm& comm, const Status& local) {
    agree(comm, local).throw_if_error();
}

}  // namespace hakobi::mpi
