#include "halo.hpp"

#include <algorithm>

namespace hakobi::tsunami {
namespace {

std::size_t index(std::int64_t i) {
    return static_cast<std::size_t>(i);
}

}  // namespace

bool Halo::fits(std::span<const std::int64_t> global, std::span<const int> dims) {
    return global[0] / dims[0] >= num_ghosts && global[1] / dims[1] >= num_ghosts;
}

Halo::Halo(MPI_Comm comm, std::span<const int> dims, const Block& block, Boundary boundary)
    : comm_(comm), boundary_(boundary), num_rows_(block.count[0]), num_columns_(block.count[1]) {
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    const int row = rank / dims[1];
    const int column = rank % dims[1];
    neighbour_[west] = column > 0 ? rank - 1 : MPI_PROC_NULL;
    neighbour_[east] = column + 1 < dims[1] ? rank + 1 : MPI_PROC_NULL;
    neighbour_[south] = row > 0 ? rank - dims[1] : MPI_PROC_NULL;
    neighbour_[north] = row + 1 < dims[0] ? rank + dims[1] : MPI_PROC_NULL;
}

void Halo::swap(int low_side, int high_side, std::size_t count) {
    std::array<MPI_Request, 4> requests;
    const int low = neighbour_[index(low_side)];
    const int high = neighbour_[index(high_side)];
    const int n = static_cast<int>(count);
    MPI_Irecv(receive_low_.data(), n, MPI_DOUBLE, low, 0, comm_, &requests[0]);
    MPI_Irecv(receive_high_.data(), n, MPI_DOUBLE, high, 1, comm_, &requests[1]);
    MPI_Isend(send_high_.data(), n, MPI_DOUBLE, high, 0, comm_, &requests[2]);
    MPI_Isend(send_low_.data(), n, MPI_DOUBLE, low, 1, comm_, &requests[3]);
    MPI_Waitall(4, requests.data(), MPI_STATUSES_IGNORE);
}

void Halo::exchange_columns(std::span<const HaloField> fields) {
    const std::size_t count = fields.size() * index(num_rows_ * num_ghosts);
    for (auto* buffer : {&send_low_, &send_high_, &receive_low_, &receive_high_}) buffer->resize(count);
    std::size_t at = 0;
    for (const auto& [field, sign] : fields) {
        for (std::int64_t r = 0; r < num_rows_; ++r, at += num_ghosts) {
            const double* row = field->row(r);
            std::copy_n(row, num_ghosts, &send_low_[at]);
            std::copy_n(row + num_columns_ - num_ghosts, num_ghosts, &send_high_[at]);
        }
    }
    swap(west, east, count);
    at = 0;
    for (const auto& [field, sign] : fields) {
        for (std::int64_t r = 0; r < num_rows_; ++r, at += num_ghosts) {
            double* row = field->row(r);
            double* beyond = row + num_columns_;
            if (!is_outer(west)) {
                std::copy_n(&receive_low_[at], num_ghosts, row - num_ghosts);
            } else if (boundary_ == Boundary::wall) {
                for (std::int64_t k = 0; k < num_ghosts; ++k) row[-1 - k] = sign * row[k];
            } else {
                for (std::int64_t k = 0; k < num_ghosts; ++k) row[-1 - k] = row[0];
            }
            if (!is_outer(east)) {
                std::copy_n(&receive_high_[at], num_ghosts, beyond);
            } else if (boundary_ == Boundary::wall) {
                for (std::int64_t k = 0; k < num_ghosts; ++k) beyond[k] = sign * beyond[-1 - k];
            } else {
                for (std::int64_t k = 0; k < num_ghosts; ++k) beyond[k] = beyond[-1];
            }
        }
    }
}

void Halo::exchange_rows(std::span<const HaloField> fields) {
    const std::size_t count = fields.size() * index(num_columns_ * num_ghosts);
    for (auto* buffer : {&send_low_, &send_high_, &receive_low_, &receive_high_}) buffer->resize(count);
    const auto n = num_columns_;
    std::size_t at = 0;
    for (const auto& [field, sign] : fields) {
        for (std::int64_t k = 0; k < num_ghosts; ++k, at += index(n)) {
            std::copy_n(field->row(k), n, &send_low_[at]);
            std::copy_n(field->row(num_rows_ - num_ghosts + k), n, &send_high_[at]);
        }
    }
    swap(south, north, count);
    at = 0;
    for (const auto& [field, sign] : fields) {
        const auto mirror = [n, factor = sign](const double* from, double* to) {
            for (std::int64_t i = 0; i < n; ++i) to[i] = factor * from[i];
        };
        for (std::int64_t k = 0; k < num_ghosts; ++k, at += index(n)) {
            if (!is_outer(south)) {
                std::copy_n(&receive_low_[at], n, field->row(k - num_ghosts));
            } else if (boundary_ == Boundary::wall) {
                mirror(field->row(k), field->row(-1 - k));
            } else {
                std::copy_n(field->row(0), n, field->row(-1 - k));
            }
            if (!is_outer(north)) {
                std::copy_n(&receive_high_[at], n, field->row(num_rows_ + k));
            } else if (boundary_ == Boundary::wall) {
                mirror(field->row(num_rows_ - 1 - k), field->row(num_rows_ + k));
            } else {
                std::copy_n(field->row(num_rows_ - 1), n, field->row(num_rows_ + k));
            }
        }
    }
}

}  // namespace hakobi::tsunami
