#include "mpiio/random_types.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace hakobi::mpiio_test {

std::uint64_t Random::next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

int Random::between(int lowest, int highest) {
    return lowest + static_cast<int>(next() % static_cast<std::uint64_t>(highest - lowest + 1));
}

std::int64_t size_of(MPI_Datatype type) {
    MPI_Count size = 0;
    MPI_Type_size_x(type, &size);
    return size;
}

std::int64_t extent_of(MPI_Datatype type) {
    MPI_Count lower = 0, extent = 0;
    MPI_Type_get_extent_x(type, &lower, &extent);
    return extent;
}

Types::~Types() {
    for (MPI_Datatype& type : made_) MPI_Type_free(&type);
}

MPI_Datatype Types::keep(MPI_Datatype type) {
    MPI_Type_commit(&type);
    made_.push_back(type);
    return type;
}

MPI_Datatype Types::element() {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    switch (random_.between(0, 7)) {
        case 0:
            return MPI_BYTE;
        case 1:
            return MPI_SHORT;
        case 2:
        case 3:
            return MPI_INT;
        case 4:
            return MPI_DOUBLE;
        case 5:
            MPI_Type_contiguous(3, MPI_SHORT, &type);
            return keep(type);
        case 6:
            MPI_Type_create_resized(MPI_INT, 0, 12, &type);
            return keep(type);
        default: {
            const std::array<int, 2> lengths = {1, 3};
            const std::array<MPI_Aint, 2> displacements = {0, 12};
            const std::array<MPI_Datatype, 2> types = {MPI_INT, MPI_BYTE};
            MPI_Type_create_struct(2, lengths.data(), displacements.data(), types.data(), &type);
            return keep(type);
        }
    }
}

// Blocks of elements whose offsets only rise. None is empty: ROMIO (MPICH 4.0) takes empty blocks of a file
// type for bounds, and then loses bytes or never returns.
MPI_Datatype Types::ascending(MPI_Datatype element) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    const int n = random_.between(1, 6);
    std::vector<int> lengths(static_cast<std::size_t>(n)), displacements(static_cast<std::size_t>(n));
    int at = random_.between(0, 2);
    for (int i = 0; i < n; ++i) {
        lengths[static_cast<std::size_t>(i)] = random_.between(1, 4);
        displacements[static_cast<std::size_t>(i)] = at;
        at += lengths[static_cast<std::size_t>(i)] + random_.between(0, 3);
    }
    std::vector<MPI_Aint> addresses;
    for (const int displacement : displacements) addresses.push_back(displacement * extent_of(element));
    switch (random_.between(0, 6)) {
        case 0:
            MPI_Type_contiguous(n, element, &type);
            break;
        case 1:
            MPI_Type_vector(n, 2, random_.between(2, 5), element, &type);
            break;
        case 2:
            MPI_Type_indexed(n, lengths.data(), displacements.data(), element, &type);
            break;
        case 3:
            MPI_Type_create_hindexed(n, lengths.data(), addresses.data(), element, &type);
            break;
        case 4: {
            const std::vector<MPI_Datatype> types(static_cast<std::size_t>(n), element);
            MPI_Type_create_struct(n, lengths.data(), addresses.data(), types.data(), &type);
            break;
        }
        case 5: {
            const std::array<int, 2> sizes = {random_.between(2, 4), random_.between(2, 6)};
            const std::array<int, 2> subsizes = {random_.between(1, sizes[0]), random_.between(1, sizes[1])};
            const std::array<int, 2> starts = {sizes[0] - subsizes[0],
                                               random_.between(0, sizes[1] - subsizes[1])};
            const int order = random_.one_in(2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
            MPI_Type_create_subarray(2, sizes.data(), subsizes.data(), starts.data(), order, element, &type);
            break;
        }
        default:
            MPI_Type_create_hvector(n, 1, (1 + random_.between(0, 3)) * extent_of(element), element, &type);
            break;
    }
    return keep(type);
}

MPI_Datatype Types::file(MPI_Datatype element, int rank, int num_ranks) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    if (random_.one_in(4)) {  // a distributed array, one part a rank
        const bool is_block = random_.one_in(2);
        const int columns = random_.between(num_ranks, 12);  // MPI wants data for every rank in a file type
        const std::array<int, 2> sizes = {random_.between(2, 5), is_block ? columns * num_ranks : columns};
        const std::array<int, 2> distributions = {MPI_DISTRIBUTE_NONE,
                                                  is_block ? MPI_DISTRIBUTE_BLOCK : MPI_DISTRIBUTE_CYCLIC};
        const std::array<int, 2> arguments = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG};
        const std::array<int, 2> grid = {1, num_ranks};
        MPI_Type_create_darray(num_ranks, rank, 2, sizes.data(), distributions.data(), arguments.data(),
                               grid.data(), MPI_ORDER_C, element, &type);
        return keep(type);
    }
    // A shape, then the ranks' shapes side by side: each has a slot of whole elements.
    MPI_Datatype shape = ascending(element);
    if (random_.one_in(3)) shape = ascending(shape);
    MPI_Count true_lower = 0, true_extent = 0;
    MPI_Type_get_true_extent_x(shape, &true_lower, &true_extent);
    const MPI_Aint slot =
        (true_lower + true_extent + extent_of(element) - 1) / extent_of(element) + random_.between(0, 2);
    const MPI_Aint whole = slot * extent_of(element);
    MPI_Datatype moved = MPI_DATATYPE_NULL;
    const int one = 1;
    const MPI_Aint displacement = rank * whole;
    MPI_Type_create_hindexed(1, &one, &displacement, shape, &moved);
    keep(moved);
    MPI_Type_create_resized(moved, 0, whole * num_ranks, &type);
    return keep(type);
}

MPI_Datatype Types::one_level(MPI_Datatype child, bool may_overlap) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    const int n = random_.between(1, 4);
    const int length = random_.between(1, 3);
    const int sign = random_.one_in(3) ? -1 : 1;
    std::vector<int> lengths(static_cast<std::size_t>(n)), displacements(static_cast<std::size_t>(n));
    std::vector<MPI_Aint> addresses(static_cast<std::size_t>(n));
    std::iota(displacements.begin(), displacements.end(), -1);
    for (std::size_t i = displacements.size(); i > 1; --i) {  // any order
        std::swap(displacements[i - 1],
                  displacements[static_cast<std::size_t>(random_.between(0, static_cast<int>(i) - 1))]);
    }
    for (std::size_t i = 0; i < lengths.size(); ++i) {
        lengths[i] = random_.between(0, 3);
        displacements[i] *= may_overlap && random_.one_in(3) ? 1 : 4;
        addresses[i] = displacements[i] * extent_of(child);
    }
    lengths[0] = std::max(lengths[0], 1);
    switch (random_.between(0, 7)) {
        case 0:
            MPI_Type_contiguous(n, child, &type);
            break;
        case 1:
            MPI_Type_vector(n, length, sign * random_.between(may_overlap ? 0 : length, 5), child, &type);
            break;
        case 2:
            MPI_Type_indexed(n, lengths.data(), displacements.data(), child, &type);
            break;
        case 3:
            MPI_Type_create_hindexed(n, lengths.data(), addresses.data(), child, &type);
            break;
        case 4:
            MPI_Type_create_indexed_block(n, 2, displacements.data(), child, &type);
            break;
        case 5: {
            const std::vector<MPI_Datatype> types(static_cast<std::size_t>(n), child);
            MPI_Type_create_struct(n, lengths.data(), addresses.data(), types.data(), &type);
            break;
        }
        case 6:
            MPI_Type_create_resized(child, random_.between(-2, 0) * 8, extent_of(child) + 32, &type);
            break;
        default:
            MPI_Type_dup(child, &type);
            break;
    }
    return keep(type);
}

MPI_Datatype Types::memory(MPI_Datatype element, bool may_overlap) {
    MPI_Datatype type = element;
    for (int depth = random_.between(0, 3); depth > 0; --depth) {
        if (size_of(type) <= 256) type = one_level(type, may_overlap);
    }
    return type;
}

}  // namespace hakobi::mpiio_test
