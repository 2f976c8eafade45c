#include "mpiio/type_contents.hpp"

#include "mpiio/library.hpp"

namespace hakobi::mpiio {
namespace {

#if MPI_VERSION >= 4
bool knows_large_counts() {
    return library.Type_get_envelope_c != nullptr && library.Type_get_contents_c != nullptr;
}
#endif

struct Envelope {
    std::int64_t num_integers = 0, num_addresses = 0, num_large_counts = 0, num_types = 0;
    int combiner = MPI_COMBINER_NAMED;
    bool is_valid = false;

    explicit Envelope(MPI_Datatype type) {
#if MPI_VERSION >= 4
        if (knows_large_counts()) {
            MPI_Count integers = 0, addresses = 0, large_counts = 0, types = 0;
            is_valid = library.Type_get_envelope_c(type, &integers, &addresses, &large_counts, &types,
                                                   &combiner) == MPI_SUCCESS;
            num_integers = integers;
            num_addresses = addresses;
            num_large_counts = large_counts;
            num_types = types;
            return;
        }
#endif
        int integers = 0, addresses = 0, types = 0;
        is_valid = PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner) == MPI_SUCCESS;
        num_integers = integers;
        num_addresses = addresses;
        num_types = types;
    }
    [[nodiscard]] bool is_leaf() const {
        return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
               combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
    }
};

}  // namespace

bool is_leaf(MPI_Datatype type) {
    return Envelope(type).is_leaf();
}

TypeContents::TypeContents(MPI_Datatype type) {
    const Envelope envelope(type);
    combiner_ = envelope.combiner;
    is_leaf_ = envelope.is_leaf();
    is_valid_ = envelope.is_valid;
    if (!is_valid_ || is_leaf_) return;
    std::vector<MPI_Aint> addresses(static_cast<std::size_t>(envelope.num_addresses));
    integers_.resize(static_cast<std::size_t>(envelope.num_integers));
    types_.resize(static_cast<std::size_t>(envelope.num_types), MPI_DATATYPE_NULL);
#if MPI_VERSION >= 4
    if (knows_large_counts()) {
        std::vector<MPI_Count> large_counts(static_cast<std::size_t>(envelope.num_large_counts));
        is_valid_ =
            library.Type_get_contents_c(type, envelope.num_integers, envelope.num_addresses,
                                        envelope.num_large_counts, envelope.num_types, integers_.data(),
                                        addresses.data(), large_counts.data(), types_.data()) == MPI_SUCCESS;
        addresses_.assign(addresses.begin(), addresses.end());
        large_counts_.assign(large_counts.begin(), large_counts.end());
        return;
    }
#endif
    is_valid_ =
        PMPI_Type_get_contents(type, static_cast<int>(envelope.num_integers),
                               static_cast<int>(envelope.num_addresses), static_cast<int>(envelope.num_types),
                               integers_.data(), addresses.data(), types_.data()) == MPI_SUCCESS;
    addresses_.assign(addresses.begin(), addresses.end());
}

TypeContents::~TypeContents() {
    if (!is_valid_) return;
    for (MPI_Datatype& child : types_) {
        if (child != MPI_DATATYPE_NULL && !mpiio::is_leaf(child)) PMPI_Type_free(&child);
    }
}

}  // namespace hakobi::mpiio
