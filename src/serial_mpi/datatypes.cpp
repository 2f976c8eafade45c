#include <algorithm>
#include <cstring>
#include <map>

#include "serial_mpi/serial_mpi.hpp"

namespace hakobi::serial_mpi {
namespace {

// MPICH's handles: the highest bits say what is behind them, and those of its own types hold their size.
constexpr int kind_mask = static_cast<int>(0xff000000U), own_type = 0x4c000000,
              derived_type = static_cast<int>(0x8c000000U);

struct Types {
    std::map<MPI_Datatype, std::shared_ptr<const Layout>> all;
    int next = derived_type;
};

Types& types() {
    static auto* const made = new Types;  // static destructors may use it
    return *made;
}

int add_type(Layout layout, MPI_Datatype* type) {
    if (layout.pieces.empty()) layout.lower = layout.upper = 0;
    *type = types().next++;
    types().all[*type] = std::make_shared<const Layout>(std::move(layout));
    return MPI_SUCCESS;
}

template <class Use>
void for_each_piece(MPI_Aint count, const Layout& layout, Use use) {
    if (layout.is_dense()) {
        use(MPI_Aint{0}, count * layout.extent());
        return;
    }
    for (MPI_Aint i = 0; i < count; ++i)
        for (const Layout::Piece& piece : layout.pieces)
            use(i * layout.extent() + piece.offset, piece.length);
}

}  // namespace

void Layout::add(const Layout& element, MPI_Aint offset, MPI_Aint count) {
    if (count <= 0 || element.pieces.empty()) return;
    const MPI_Aint begin = offset + element.lower;
    const MPI_Aint end = offset + (count - 1) * element.extent() + element.upper;
    lower = pieces.empty() ? begin : std::min(lower, begin);
    upper = pieces.empty() ? end : std::max(upper, end);
    const auto put = [this](MPI_Aint at, MPI_Aint length) {
        if (!pieces.empty() && pieces.back().offset + pieces.back().length == at) {
            pieces.back().length += length;
        } else {
            pieces.push_back({at, length});
        }
    };
    for_each_piece(count, element, [&](MPI_Aint at, MPI_Aint length) { put(offset + at, length); });
    size_bytes += count * element.size_bytes;
}

std::shared_ptr<const Layout> layout_of(MPI_Datatype type) {
    const auto found = types().all.find(type);
    if (found != types().all.end()) return found->second;
    if ((type & kind_mask) != own_type) return nullptr;
    const MPI_Aint size = (type & 0xff00) >> 8;
    auto made = std::make_shared<const Layout>(Layout{{{0, size}}, size, 0, size});
    types().all[type] = made;
    return made;
}

std::vector<std::byte> pack(const void* memory, MPI_Aint count, const Layout& layout) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(count * layout.size_bytes));
    std::size_t at = 0;
    for_each_piece(count, layout, [&](MPI_Aint offset, MPI_Aint length) {
        if (length == 0) return;
        std::memcpy(bytes.data() + at, static_cast<const std::byte*>(memory) + offset,
                    static_cast<std::size_t>(length));
        at += static_cast<std::size_t>(length);
    });
    return bytes;
}

std::size_t unpack(std::span<const std::byte> bytes, void* memory, MPI_Aint count, const Layout& layout) {
    std::size_t at = 0;
    for_each_piece(count, layout, [&](MPI_Aint offset, MPI_Aint length) {
        const std::size_t part = std::min(static_cast<std::size_t>(length), bytes.size() - at);
        if (part == 0) return;
        std::memcpy(static_cast<std::byte*>(memory) + offset, bytes.data() + at, part);
        at += part;
    });
    return at;
}

int copy(const void* from, int from_count, MPI_Datatype from_type, void* to, int to_count,
         MPI_Datatype to_type) {
    if (from == MPI_IN_PLACE || to == MPI_IN_PLACE) return MPI_SUCCESS;
    const auto source = layout_of(from_type), target = layout_of(to_type);
    if (!source || !target) return MPI_ERR_TYPE;
    const MPI_Aint length = from_count * source->size_bytes;
    if (length > to_count * target->size_bytes) return MPI_ERR_TRUNCATE;
    if (length == 0) return MPI_SUCCESS;
    if (source->is_dense() && target->is_dense()) {
        std::memmove(to, from, static_cast<std::size_t>(length));
    } else {
        unpack(pack(from, from_count, *source), to, to_count, *target);
    }
    return MPI_SUCCESS;
}

void set_status(MPI_Status* status, int tag, std::size_t num_bytes, int error) {
    if (status == MPI_STATUS_IGNORE) return;
    status->count_lo = static_cast<int>(num_bytes & 0xffffffffU);
    status->count_hi_and_cancelled = static_cast<int>(num_bytes >> 32U << 1U);  // the lowest bit: cancelled
    status->MPI_SOURCE = 0;
    status->MPI_TAG = tag;
    status->MPI_ERROR = error;
}

}  // namespace hakobi::serial_mpi

using hakobi::serial_mpi::add_type;
using hakobi::serial_mpi::Layout;
using hakobi::serial_mpi::layout_of;

int MPI_Type_contiguous(int count, MPI_Datatype element, MPI_Datatype* type) {
    const auto inner = layout_of(element);
    if (!inner) return MPI_ERR_TYPE;
    Layout layout;
    layout.add(*inner, 0, count);
    return add_type(std::move(layout), type);
}

int MPI_Type_create_hvector(int count, int length, MPI_Aint stride, MPI_Datatype element,
                            MPI_Datatype* type) {
    const auto inner = layout_of(element);
    if (!inner) return MPI_ERR_TYPE;
    Layout layout;
    for (int i = 0; i < count; ++i) layout.add(*inner, i * stride, length);
    return add_type(std::move(layout), type);
}

int MPI_Type_create_hindexed(int count, const int lengths[], const MPI_Aint offsets[], MPI_Datatype element,
                             MPI_Datatype* type) {
    const auto inner = layout_of(element);
    if (!inner) return MPI_ERR_TYPE;
    Layout layout;
    for (int i = 0; i < count; ++i) layout.add(*inner, offsets[i], lengths[i]);
    return add_type(std::move(layout), type);
}

int MPI_Type_create_struct(int count, const int lengths[], const MPI_Aint offsets[],
                           const MPI_Datatype elements[], MPI_Datatype* type) {
    Layout layout;
    for (int i = 0; i < count; ++i) {
        const auto inner = layout_of(elements[i]);
        if (!inner) return MPI_ERR_TYPE;
        layout.add(*inner, offsets[i], lengths[i]);
    }
    return add_type(std::move(layout), type);
}

int MPI_Type_commit(MPI_Datatype*) {
    return MPI_SUCCESS;
}

int MPI_Type_free(MPI_Datatype* type) {
    hakobi::serial_mpi::types().all.erase(*type);
    *type = MPI_DATATYPE_NULL;
    return MPI_SUCCESS;
}

int MPI_Get_address(const void* memory, MPI_Aint* address) {
    *address = reinterpret_cast<MPI_Aint>(memory);
    return MPI_SUCCESS;
}

int MPI_Get_count(const MPI_Status* status, MPI_Datatype type, int* count) {
    const auto layout = layout_of(type);
    if (!layout) return MPI_ERR_TYPE;
    const MPI_Aint bytes = (static_cast<MPI_Aint>(status->count_hi_and_cancelled) >> 1) << 32 |
                           static_cast<MPI_Aint>(static_cast<unsigned>(status->count_lo));
    const bool is_whole = layout->size_bytes == 0 ? bytes == 0 : bytes % layout->size_bytes == 0;
    const MPI_Aint found = layout->size_bytes == 0 ? 0 : bytes / layout->size_bytes;
    *count = is_whole && found == static_cast<int>(found) ? static_cast<int>(found) : MPI_UNDEFINED;
    return MPI_SUCCESS;
}

HAKOBI_ALSO_AS_PMPI(Type_contiguous)
HAKOBI_ALSO_AS_PMPI(Type_create_hvector)
HAKOBI_ALSO_AS_PMPI(Type_create_hindexed)
HAKOBI_ALSO_AS_PMPI(Type_create_struct)
HAKOBI_ALSO_AS_PMPI(Type_commit)
HAKOBI_ALSO_AS_PMPI(Type_free)
HAKOBI_ALSO_AS_PMPI(Get_address)
HAKOBI_ALSO_AS_PMPI(Get_count)
