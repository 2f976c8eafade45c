/* Describes an array of any type and rank, which Fortran cannot: its descriptor as the memory of a
 * hakobi_field, or as a part of a hakobi_mesh. */
#include <ISO_Fortran_binding.h>
#include <hakobi/bindings.h>
#include <stdio.h>
#include <string.h>

/* Sets type, data and num_values of `field`, the strides in values (slowest dimension first) and the extents
 * (fastest first), of which there is one a dimension. 0, or 1: the values are not contiguous; 2: they have no
 * such strides; 3: no such type. */
HAKOBI_API int hakobi_fortran_describe(const CFI_cdesc_t* values, hakobi_field* field, int64_t* strides,
                                       int64_t* extents);

/* As hakobi_output_put_mesh; `ghosts` may be NULL. Refuses arrays that C cannot be lent; end_step reports
 * it. */
HAKOBI_API int hakobi_fortran_put_mesh(hakobi_output* out, const CFI_cdesc_t* points,
                                       const CFI_cdesc_t* connectivity, const CFI_cdesc_t* offsets,
                                       const CFI_cdesc_t* types, const CFI_cdesc_t* ghosts,
                                       const char* motion, int64_t first_number);
HAKOBI_API int hakobi_fortran_put_points(hakobi_output* out, const CFI_cdesc_t* points);

static int type_of(CFI_type_t type) {
    if (type == CFI_type_double) return HAKOBI_FLOAT64;
    if (type == CFI_type_float) return HAKOBI_FLOAT32;
    if (type == CFI_type_int32_t) return HAKOBI_INT32;
    if (type == CFI_type_int64_t) return HAKOBI_INT64;
    if (type == CFI_type_int8_t) return HAKOBI_INT8;
    if (type == CFI_type_int16_t) return HAKOBI_INT16;
    return 0;
}

int hakobi_fortran_describe(const CFI_cdesc_t* values, hakobi_field* field, int64_t* strides,
                            int64_t* extents) {
    const int64_t bytes = (int64_t)values->elem_len;
    const int rank = values->rank;
    int64_t num_values = 1, last = 0;
    int is_strided = 0, is_backwards = 0, d;

    field->type = type_of(values->type);
    if (field->type == 0) return 3;
    for (d = 0; d < rank; ++d) {
        const CFI_dim_t* dim = &values->dim[d];
        extents[d] = dim->extent;
        strides[rank - 1 - d] = dim->extent > 1 ? dim->sm / bytes : 0;
        if (dim->extent > 1) {
            is_strided |= dim->sm != num_values * bytes;
            is_backwards |= dim->sm < 0 || dim->sm % bytes != 0;
        }
        last += (dim->extent - 1) * strides[rank - 1 - d];
        num_values *= dim->extent;
    }
    if (num_values == 0) {
        field->data = NULL;
        field->num_values = 0;
        return 0;
    }
    field->data = values->base_addr;
    field->num_values = is_strided ? last + 1 : num_values;
    return is_backwards ? 2 : is_strided ? 1 : 0;
}

/* How many elements a contiguous array has; -1 where it is not. */
static int64_t num_contiguous(const CFI_cdesc_t* array) {
    int64_t num = 1;
    int d;
    for (d = 0; d < array->rank; ++d) num *= array->dim[d].extent;
    return num == 0 || array->rank == 0 || CFI_is_contiguous(array) ? num : -1;
}

/* Why the mesh cannot have that array, or NULL. */
static const char* why_not(const CFI_cdesc_t* array, int64_t num, int type, int other_type) {
    if (num < 0) return "are not contiguous";
    if (type_of(array->type) != type && type_of(array->type) != other_type) return "are of another type";
    return NULL;
}

static int refuse(hakobi_output* out, const char* what, const char* why) {
    char text[256];
    snprintf(text, sizeof text, "the mesh: its %s %s", what, why);
    return hakobi_output_refuse(out, text);
}

static const char* why_no_points(const CFI_cdesc_t* points) {
    const char* why = why_not(points, num_contiguous(points), HAKOBI_FLOAT64, HAKOBI_FLOAT32);
    if (why != NULL) return why;
    return points->rank == 2 && points->dim[0].extent == 3 ? NULL : "have not the shape (3, points)";
}

static const void* first_of(const CFI_cdesc_t* array, int64_t num) {
    return num > 0 ? array->base_addr : NULL;
}

int hakobi_fortran_put_mesh(hakobi_output* out, const CFI_cdesc_t* points, const CFI_cdesc_t* connectivity,
                            const CFI_cdesc_t* offsets, const CFI_cdesc_t* types, const CFI_cdesc_t* ghosts,
                            const char* motion, int64_t first_number) {
    static const char* const motions[] = {"fixed", "moves", "changes"};
    const int64_t num_ids = num_contiguous(connectivity), num_offsets = num_contiguous(offsets),
                  num_cells = num_contiguous(types);
    const char* why = why_no_points(points);
    hakobi_mesh mesh = HAKOBI_INIT(hakobi_mesh);

    if (why != NULL) return refuse(out, "points", why);
    why = why_not(connectivity, num_ids, HAKOBI_INT64, HAKOBI_INT32);
    if (why != NULL) return refuse(out, "connectivity's numbers", why);
    why = why_not(offsets, num_offsets, HAKOBI_INT64, HAKOBI_INT32);
    if (why == NULL && num_cells > 0 && num_offsets != num_cells + 1) why = "are not one more than its types";
    if (why != NULL) return refuse(out, "offsets", why);
    why = why_not(types, num_cells, HAKOBI_INT8, HAKOBI_INT8);
    if (why != NULL) return refuse(out, "types", why);
    if (ghosts != NULL) {
        why = why_not(ghosts, num_contiguous(ghosts), HAKOBI_INT8, HAKOBI_INT8);
        if (why == NULL && num_contiguous(ghosts) != num_cells) why = "are not as many as its types";
        if (why != NULL) return refuse(out, "ghosts", why);
        mesh.ghosts = (const uint8_t*)first_of(ghosts, num_cells);
    }
    while (mesh.motion <= HAKOBI_MESH_CHANGES && strcmp(motion, motions[mesh.motion]) != 0) ++mesh.motion;
    if (mesh.motion > HAKOBI_MESH_CHANGES) return refuse(out, "motion", "is not fixed, moves or changes");
    mesh.points_type = type_of(points->type);
    mesh.num_points = points->dim[1].extent;
    mesh.points = first_of(points, mesh.num_points);
    mesh.num_cells = num_cells;
    mesh.types = (const uint8_t*)first_of(types, num_cells);
    mesh.offsets_type = type_of(offsets->type);
    mesh.offsets = first_of(offsets, num_offsets);
    mesh.connectivity_type = type_of(connectivity->type);
    mesh.connectivity = first_of(connectivity, num_ids);
    mesh.num_connectivity = num_ids;
    mesh.first_number = first_number;
    return hakobi_output_put_mesh(out, &mesh);
}

int hakobi_fortran_put_points(hakobi_output* out, const CFI_cdesc_t* points) {
    const char* why = why_no_points(points);
    if (why != NULL) return refuse(out, "points", why);
    return hakobi_output_put_points(out, type_of(points->type), first_of(points, points->dim[1].extent),
                                    points->dim[1].extent);
}
