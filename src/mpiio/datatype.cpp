#include "mpiio/datatype.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "mpiio/type_contents.hpp"

namespace hakobi::mpiio {
namespace {

using Part = Region::Part;

// --- Named types -------------------------------------------------------------------------------------------

/// The pair types of MPI_MINLOC and MPI_MAXLOC: C structs, some with a hole inside.
template <class Value>
Region pair_region() {
    struct Pair {
        Value value;
        int index;
    };
    const std::array<std::int64_t, 2> offsets = {offsetof(Pair, value), offsetof(Pair, index)};
    const std::array<std::int64_t, 2> lengths = {sizeof(Value), sizeof(int)};
    return Region::indexed(offsets, lengths);
}

Region named_region(MPI_Datatype type, std::int64_t size_bytes) {
    MPI_Count true_lower = 0, true_extent = 0;
    PMPI_Type_get_true_extent_x(type, &true_lower, &true_extent);
    if (true_lower == 0 && true_extent == size_bytes && type != MPI_DOUBLE_INT && type != MPI_LONG_INT &&
        type != MPI_SHORT_INT && type != MPI_LONG_DOUBLE_INT) {
        return Region::contiguous(0, size_bytes);
    }
    if (type == MPI_DOUBLE_INT) return pair_region<double>();
    if (type == MPI_LONG_INT) return pair_region<long>();
    if (type == MPI_SHORT_INT) return pair_region<short>();
    if (type == MPI_LONG_DOUBLE_INT) return pair_region<long double>();
    return {};
}

// --- Constructors of derived types -------------------------------------------------------------------------

Part placed(std::int64_t offset_bytes, Region region) {
    return {offset_bytes, std::move(region)};
}

/// Blocks of a child at offsets: what indexed, hindexed and their block forms, and struct of one child, all
/// are. Equal blocks at equal distances become one strided description.
Region blocks(const Layout& child, std::span<const std::int64_t> offsets,
              std::span<const std::int64_t> lengths) {
    const std::size_t n = offsets.size();
    if (n == 0) return {};
    bool is_regular = n > 2;
    for (std::size_t i = 1; is_regular && i < n; ++i) {
        is_regular = lengths[i] == lengths[0] && offsets[i] - offsets[i - 1] == offsets[1] - offsets[0];
    }
    if (is_regular) {
        return Region::strided(offsets[0], static_cast<std::int64_t>(n), offsets[1] - offsets[0],
                               child.items(lengths[0]));
    }
    if (child.is_dense()) {
        std::vector<std::int64_t> lengths_bytes;
        lengths_bytes.reserve(n);
        for (const std::int64_t length : lengths) lengths_bytes.push_back(length * child.size_bytes);
        return Region::indexed(offsets, lengths_bytes);
    }
    std::vector<Part> parts;
    parts.reserve(n);
    for (std::size_t i = 0; i < n; ++i) {
        // Neighbours of one length share one description.
        const bool as_before = i > 0 && lengths[i] == lengths[i - 1];
        parts.push_back(placed(offsets[i], as_before ? parts.back().region : child.items(lengths[i])));
    }
    return Region::concatenated(parts);
}

/// indexed (displacements in extents of the child) and hindexed (in bytes), with a length for each block.
Region indexed_region(const TypeContents& contents, const Layout& child, bool in_bytes) {
    const auto n = static_cast<std::size_t>(contents.count(0, 0));
    std::vector<std::int64_t> offsets(n), lengths(n);
    for (std::size_t i = 0; i < n; ++i) {
        lengths[i] = contents.count(1 + i, 1 + i);
        offsets[i] = in_bytes ? contents.address(i, 1 + n + i)
                              : contents.count(1 + n + i, 1 + n + i) * child.extent_bytes;
    }
    return blocks(child, offsets, lengths);
}

/// The same with one length for all.
Region indexed_block_region(const TypeContents& contents, const Layout& child, bool in_bytes) {
    const auto n = static_cast<std::size_t>(contents.count(0, 0));
    std::vector<std::int64_t> offsets(n), lengths(n, contents.count(1, 1));
    for (std::size_t i = 0; i < n; ++i) {
        offsets[i] =
            in_bytes ? contents.address(i, 2 + i) : contents.count(2 + i, 2 + i) * child.extent_bytes;
    }
    return blocks(child, offsets, lengths);
}

/// None: it has parts that are not known.
std::optional<Region> struct_region(const TypeContents& contents) {
    const auto n = static_cast<std::size_t>(contents.count(0, 0));
    std::vector<Part> parts;
    parts.reserve(n);
    Layout child;
    for (std::size_t i = 0; i < n; ++i) {
        if (i == 0 || contents.type(i) != contents.type(i - 1)) child = layout_of(contents.type(i));
        if (!child.is_known) return {};
        parts.push_back(placed(contents.address(i, 1 + n + i), child.items(contents.count(1 + i, 1 + i))));
    }
    return Region::concatenated(parts);
}

/// A block of an array: from the fastest dimension outwards, `element` the region of what is inside.
Region subarray_region(const TypeContents& contents, const Layout& child) {
    const auto n = static_cast<std::size_t>(contents.integer(0));
    const bool large = contents.has_large_counts();
    const bool is_c_order = contents.integer(large ? 1 : 1 + 3 * n) == MPI_ORDER_C;
    Region region = child.item;
    std::int64_t stride_bytes = child.extent_bytes;
    for (std::size_t i = 0; i < n; ++i) {
        const std::size_t d = is_c_order ? n - 1 - i : i;
        const std::int64_t start = contents.count(1 + 2 * n + d, 2 * n + d);
        region =
            Region::strided(start * stride_bytes, contents.count(1 + n + d, n + d), stride_bytes, region);
        stride_bytes *= contents.count(1 + d, d);
    }
    return region;
}

/// The elements of one dimension that a place of the process grid owns (MPI standard,
/// MPI_Type_create_darray): blocks of `block` elements dealt out in turn; `block` is the whole share for a
/// block distribution.
Region dealt_region(std::int64_t extent, std::int64_t block, std::int64_t num_places, std::int64_t place,
                    std::int64_t stride_bytes, const Region& element) {
    const std::int64_t first = place * block;
    if (first >= extent) return {};
    const std::int64_t round = num_places * block;
    const std::int64_t num_whole = (extent - first) / round + ((extent - first) % round >= block ? 1 : 0);
    const std::int64_t rest_at = first + num_whole * round;
    const std::int64_t rest = rest_at < extent ? std::min(block, extent - rest_at) : 0;
    const std::array<Part, 2> parts = {
        placed(0, Region::strided(first * stride_bytes, num_whole, round * stride_bytes,
                                  Region::strided(0, block, stride_bytes, element))),
        placed(0, Region::strided(rest_at * stride_bytes, rest, stride_bytes, element)),
    };
    return Region::concatenated(parts);
}

Region darray_region(const TypeContents& contents, const Layout& child) {
    // Integers: size, rank, ndims, gsizes[n], distribs[n], dargs[n], psizes[n], order; large counts:
    // gsizes[n] alone.
    const auto n = static_cast<std::size_t>(contents.integer(2));
    const std::size_t after = contents.has_large_counts() ? 3 : 3 + n;
    const bool is_c_order = contents.integer(after + 3 * n) == MPI_ORDER_C;
    std::vector<std::int64_t> places(n);
    std::int64_t rest = contents.integer(1), num_ranks = contents.integer(0);
    for (std::size_t d = 0; d < n; ++d) {  // ranks are laid out in C order, whatever the array's order
        num_ranks /= contents.integer(after + 2 * n + d);
        places[d] = rest / num_ranks;
        rest %= num_ranks;
    }
    Region region = child.item;
    std::int64_t stride_bytes = child.extent_bytes;
    for (std::size_t i = 0; i < n; ++i) {
        const std::size_t d = is_c_order ? n - 1 - i : i;
        const std::int64_t extent = contents.count(3 + d, d);
        const std::int64_t num_places = contents.integer(after + 2 * n + d);
        const int argument = contents.integer(after + n + d);
        std::int64_t block = argument;
        if (argument == MPI_DISTRIBUTE_DFLT_DARG) {
            block = contents.integer(after + d) == MPI_DISTRIBUTE_CYCLIC
                        ? 1
                        : (extent + num_places - 1) / num_places;
        }
        if (contents.integer(after + d) == MPI_DISTRIBUTE_NONE) block = extent;
        region =
            block > 0 ? dealt_region(extent, block, num_places, places[d], stride_bytes, region) : Region();
        stride_bytes *= extent;
    }
    return region;
}

/// None: the type, or one in it, is not known.
std::optional<Region> derived_region(const TypeContents& contents) {
    if (contents.combiner() == MPI_COMBINER_STRUCT) return struct_region(contents);
    const Layout child = layout_of(contents.type(0));
    if (!child.is_known) return {};
    switch (contents.combiner()) {
        case MPI_COMBINER_DUP:
        case MPI_COMBINER_RESIZED:
            return child.item;
        case MPI_COMBINER_CONTIGUOUS:
            return child.items(contents.count(0, 0));
        case MPI_COMBINER_VECTOR:
            return Region::strided(0, contents.count(0, 0), contents.count(2, 2) * child.extent_bytes,
                                   child.items(contents.count(1, 1)));
        case MPI_COMBINER_HVECTOR:
            return Region::strided(0, contents.count(0, 0), contents.address(0, 2),
                                   child.items(contents.count(1, 1)));
        case MPI_COMBINER_INDEXED:
            return indexed_region(contents, child, false);
        case MPI_COMBINER_HINDEXED:
            return indexed_region(contents, child, true);
        case MPI_COMBINER_INDEXED_BLOCK:
            return indexed_block_region(contents, child, false);
        case MPI_COMBINER_HINDEXED_BLOCK:
            return indexed_block_region(contents, child, true);
        case MPI_COMBINER_SUBARRAY:
            return subarray_region(contents, child);
        case MPI_COMBINER_DARRAY:
            return darray_region(contents, child);
        default:
            return {};
    }
}

Layout decode(MPI_Datatype type, const TypeContents& contents) {
    Layout layout;
    MPI_Count size = 0, lower = 0, extent = 0;
    PMPI_Type_size_x(type, &size);
    PMPI_Type_get_extent_x(type, &lower, &extent);
    layout.size_bytes = size;
    layout.extent_bytes = extent;
    layout.is_committed = contents.is_valid() && contents.is_leaf();
    if (!contents.is_valid()) return layout;
    std::optional<Region> item = contents.is_leaf() ? named_region(type, size) : derived_region(contents);
    if (!item) return layout;
    layout.item = *std::move(item);
    // The decoding checks itself: what does not have the size and the true extent that MPI states is left to
    // the MPI library. (Open MPI 4.1 takes a vector of overlapping blocks with a negative stride for a
    // contiguous type.)
    MPI_Count true_lower = 0, true_extent = 0;
    PMPI_Type_get_true_extent_x(type, &true_lower, &true_extent);
    layout.is_known = layout.item.valid() && layout.item.size_bytes() == layout.size_bytes &&
                      (layout.item.empty() || (layout.item.begin_bytes() == true_lower &&
                                               layout.item.end_bytes() == true_lower + true_extent));
    return layout;
}

// --- The cache ---------------------------------------------------------------------------------------------

int delete_layout(MPI_Datatype, int, void* layout, void*) {
    delete static_cast<Layout*>(layout);
    return MPI_SUCCESS;
}

int layout_key() {
    static const int key = [] {
        int made = MPI_KEYVAL_INVALID;
        PMPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, delete_layout, &made, nullptr);
        return made;
    }();
    return key;
}

/// Held while a type's layout is looked up and copied, and while one is set: setting deletes what was there.
std::mutex kept_mutex;

/// Null: none is kept. Under kept_mutex.
Layout* kept_layout(MPI_Datatype type) {
    void* kept = nullptr;
    int is_kept = 0;
    PMPI_Type_get_attr(type, layout_key(), static_cast<void*>(&kept), &is_kept);
    return is_kept != 0 ? static_cast<Layout*>(kept) : nullptr;
}

void keep_layout(MPI_Datatype type, const Layout& layout) {
    auto kept = std::make_unique<Layout>(layout);
    const std::scoped_lock lock(kept_mutex);
    if (kept_layout(type) != nullptr) return;  // another thread decoded it meanwhile
    if (PMPI_Type_set_attr(type, layout_key(), kept.get()) == MPI_SUCCESS) {
        (void)kept.release();  // the type's now: delete_layout
    }
}

/// Leaf types are few and never freed, so a handle stays what it is: a table from handle to layout. A slot
/// keeps the first type that comes; others of the same slot are decoded each time.
struct Leaf {
    MPI_Datatype type;
    Layout layout;
};
std::array<std::atomic<const Leaf*>, 256> leaves;

std::atomic<const Leaf*>& leaf_slot(MPI_Datatype type) {
    const auto bits = std::hash<MPI_Datatype>()(type);
    return leaves[(bits ^ (bits >> 8) ^ (bits >> 16)) % leaves.size()];
}

void keep_leaf(MPI_Datatype type, const Layout& layout) {
    auto leaf = std::make_unique<const Leaf>(Leaf{type, layout});
    const Leaf* expected = nullptr;
    if (leaf_slot(type).compare_exchange_strong(expected, leaf.get(), std::memory_order_release)) {
        (void)leaf.release();  // for the life of the process
    }
}

/// Asks the library by a call that checks its datatype and moves nothing, where errors are returned. (MPICH
/// checks neither in a send of no items nor in one to MPI_PROC_NULL.)
bool takes_for_data(MPI_Datatype type) {
    static const MPI_Comm alone = [] {
        MPI_Comm made = MPI_COMM_NULL;
        PMPI_Comm_dup(MPI_COMM_SELF, &made);
        PMPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
        return made;
    }();
    static std::byte nothing;
    MPI_Request request = MPI_REQUEST_NULL;
    if (PMPI_Send_init(&nothing, 1, type, 0, 0, alone, &request) != MPI_SUCCESS) return false;
    PMPI_Request_free(&request);
    return true;
}

}  // namespace

Region Layout::items(std::int64_t count) const {
    return Region::strided(0, count, extent_bytes, item);
}

bool Layout::is_dense() const noexcept {
    return is_known && extent_bytes == size_bytes && item.is_contiguous() && item.begin_bytes() == 0;
}

Layout layout_of(MPI_Datatype type) {
    const Leaf* leaf = leaf_slot(type).load(std::memory_order_acquire);
    if (leaf != nullptr && leaf->type == type) return leaf->layout;
    {
        const std::scoped_lock lock(kept_mutex);
        if (const Layout* kept = kept_layout(type)) return *kept;
    }
    const TypeContents contents(type);
    Layout layout = decode(type, contents);
    if (contents.is_valid() && contents.is_leaf()) {
        keep_leaf(type, layout);
    } else {
        keep_layout(type, layout);
    }
    return layout;
}

std::int64_t dense_bytes_of_named(MPI_Datatype type) {
    const Leaf* leaf = leaf_slot(type).load(std::memory_order_acquire);
    const bool is_dense =
        leaf != nullptr && leaf->type == type && leaf->layout.is_committed && leaf->layout.is_dense();
    return is_dense ? leaf->layout.size_bytes : 0;
}

Layout committed_layout_of(MPI_Datatype type) {
    Layout layout = layout_of(type);
    if (layout.is_committed || !takes_for_data(type)) return layout;
    layout.is_committed = true;
    const std::scoped_lock lock(kept_mutex);
    if (Layout* kept = kept_layout(type)) kept->is_committed = true;
    return layout;
}

}  // namespace hakobi::mpiio
