#include <hakobi/halo.hpp>
#include <hakobi/shared_array.hpp>
#include <memory>
#include <string>
#include <vector>

#include "base/guard.hpp"
#include "capi/guard.hpp"
#include "capi/handles.hpp"
#include "capi/options.hpp"
#include "capi/sized.hpp"
#include "mpi/agree.hpp"

using hakobi::Error;
using hakobi::ErrorCode;
using hakobi::capi::all_taken;
using hakobi::capi::guarded;
using hakobi::capi::taken;
using hakobi::capi::text_or;

struct hakobi_shared {
    hakobi::SharedArray array;
};

struct hakobi_halo {
    hakobi::Halo halo;
    std::string explained;
};

namespace {

hakobi::HaloGrid grid_of(const hakobi_halo_grid& grid) {
    hakobi::HaloGrid made;
    for (int d = 0; d < grid.num_dims && d < HAKOBI_MAX_HALO_DIMS; ++d) {
        made.extents.push_back(grid.extents[d]);
        made.ghosts.push_back({grid.ghosts_low[d], grid.ghosts_high[d]});
        made.ranks.push_back(grid.ranks[d]);
        made.is_periodic.push_back(grid.is_periodic[d] != 0);
    }
    return made;
}

hakobi::HaloField field_of(const hakobi_halo_field& field, int num_dims) {
    return {.data = field.data,
            .element_bytes = field.element_bytes,
            .strides_bytes = std::vector<std::int64_t>(field.strides_bytes, field.strides_bytes + num_dims),
            .num_components = field.num_components != 0 ? field.num_components : 1,
            .component_stride_bytes = field.component_stride_bytes,
            .memory = hakobi::capi::memory_called(field.memory)};
}

void require_halo(const void* object, const char* text) {
    if (object == nullptr) throw Error(ErrorCode::invalid_argument, text);
}

}  // namespace

int hakobi_shared_allocate(hakobi_comm* comm, int64_t bytes, hakobi_shared** shared) {
    return guarded([&] {
        if (shared != nullptr) *shared = nullptr;
        require_halo(comm, "hakobi_shared_allocate: comm is NULL");
        hakobi::Status local;
        if (shared == nullptr)
            local = {ErrorCode::invalid_argument, "hakobi_shared_allocate: shared is NULL"};
        hakobi::mpi::agree_or_throw(comm->comm, local);
        *shared = new hakobi_shared{hakobi::allocate_shared(comm->comm, bytes)};
    });
}

void* hakobi_shared_data(const hakobi_shared* shared) {
    return shared != nullptr ? shared->array.data() : nullptr;
}

void hakobi_shared_free(hakobi_shared* shared) {
    delete shared;
}

int hakobi_halo_plan(hakobi_comm* comm, const hakobi_halo_grid* grid, int num_fields,
                     const hakobi_halo_field* fields, const hakobi_halo_options* options,
                     hakobi_halo** halo) {
    return guarded([&] {
        if (halo != nullptr) *halo = nullptr;
        require_halo(comm, "hakobi_halo_plan: comm is NULL");
        hakobi::HaloGrid made_grid;
        hakobi::HaloOptions made;
        std::vector<hakobi::HaloField> list;
        hakobi::mpi::agree_or_throw(
            comm->comm, hakobi::guarded("hakobi_halo_plan", [&] {
                if (halo == nullptr || grid == nullptr)
                    throw Error(ErrorCode::invalid_argument, "hakobi_halo_plan: halo or grid is NULL");
                const hakobi_halo_grid known = taken(grid, "hakobi_halo_grid");
                if (known.num_dims < 1 || known.num_dims > HAKOBI_MAX_HALO_DIMS)
                    throw Error(ErrorCode::invalid_argument, "hakobi_halo_plan: num_dims is not 1 to 5");
                made_grid = grid_of(known);
                for (const auto& field : all_taken(fields, num_fields, "hakobi_halo_field", "fields"))
                    list.push_back(field_of(field, known.num_dims));
                const hakobi_halo_options from = taken(options, "hakobi_halo_options");
                made.corners = hakobi::capi::yes(from.corners, true, "corners");
                made.path = text_or(from.path, "auto");
                made.timeout_s = from.timeout_s;
            }));
        std::unique_ptr<hakobi_halo> handle(
            new hakobi_halo{hakobi::Halo::plan(comm->comm, made_grid, list, made), {}});
        handle->explained = handle->halo.explain();
        *halo = handle.release();
    });
}

int hakobi_halo_start(hakobi_halo* halo) {
    return guarded([&] {
        require_halo(halo, "hakobi_halo_start: halo is NULL");
        halo->halo.start();
    });
}

int hakobi_halo_wait(hakobi_halo* halo) {
    return guarded([&] {
        require_halo(halo, "hakobi_halo_wait: halo is NULL");
        halo->halo.wait();
    });
}

int hakobi_halo_start_on(hakobi_halo* halo, void* stream) {
    return guarded([&] {
        require_halo(halo, "hakobi_halo_start_on: halo is NULL");
        halo->halo.start(stream);
    });
}

int hakobi_halo_wait_on(hakobi_halo* halo, void* stream) {
    return guarded([&] {
        require_halo(halo, "hakobi_halo_wait_on: halo is NULL");
        halo->halo.wait(stream);
    });
}

const char* hakobi_halo_explain(const hakobi_halo* halo) {
    return halo != nullptr ? halo->explained.c_str() : nullptr;
}

void hakobi_halo_free(hakobi_halo* halo) {
    delete halo;
}
