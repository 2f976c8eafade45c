/* What Fortran cannot say of an array of any type and rank: its descriptor as the memory of a hakobi_field. */
#include <ISO_Fortran_binding.h>
#include <hakobi.h>

/* Sets type, data and num_values of `field`, the strides in values (slowest dimension first) and the extents (fastest first), of
 * which there is one a dimension. 0, or 1: the values are not contiguous; 2: they have no such strides; 3: no such type. */
HAKOBI_API int hakobi_fortran_describe(const CFI_cdesc_t* values, hakobi_field* field, int64_t* strides,
                                       int64_t* extents);

static int type_of(CFI_type_t type) {
    if (type == CFI_type_double) return HAKOBI_DOUBLE;
    if (type == CFI_type_float) return HAKOBI_FLOAT;
    if (type == CFI_type_int32_t) return HAKOBI_INT32;
    if (type == CFI_type_int64_t) return HAKOBI_INT64;
    if (type == CFI_type_int8_t) return HAKOBI_INT8;
    if (type == CFI_type_int16_t) return HAKOBI_INT16;
    return -1;
}

int hakobi_fortran_describe(const CFI_cdesc_t* values, hakobi_field* field, int64_t* strides,
                            int64_t* extents) {
    const int64_t bytes = (int64_t)values->elem_len;
    const int rank = values->rank;
    int64_t num_values = 1, last = 0;
    int is_strided = 0, is_backwards = 0, d;

    field->type = type_of(values->type);
    if (field->type < 0) return 3;
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
