#pragma once

#include <hakobi/comm.hpp>

namespace hakobi::mpi {

struct CommState {
    const void* apart = nullptr;
};

}  // namespace hakobi::mpi

namespace hakobi {

inline mpi::CommState& Comm::state() const noexcept {
    static mpi::CommState none;
    return none;
}

}  // namespace hakobi
