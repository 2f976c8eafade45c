/* Describes an array of any type and rank, which Fortran cannot: its descriptor as a hakobi_field_read. */
#include <ISO_Fortran_binding.h>
#include <hakobi/bindings.h>
#include <stdio.h>

/* Takes the values' type, extents and strides from their descriptor, whose first dimension is the fastest;
 * `block` has the slowest first, and no dimension where the whole field is meant. Collective as
 * hakobi_input_read. */
HAKOBI_API int hakobi_fortran_input_read(hakobi_input* in, const char* name, int64_t step,
                                         const hakobi_block* block, CFI_cdesc_t* values, void* stream);
/* The same, local as hakobi_input_read_independent. */
HAKOBI_API int hakobi_fortran_input_read_independent(hakobi_input* in, const char* name, int64_t step,
                                                     const hakobi_block* block, CFI_cdesc_t* values,
                                                     void* stream);

/* How a read is made, and how one is refused. */
typedef int (*read_call)(hakobi_input* in, const hakobi_field_read* read);
typedef int (*refuse_call)(hakobi_input* in, const char* text);

static int type_of(CFI_type_t type) {
    if (type == CFI_type_double) return HAKOBI_FLOAT64;
    if (type == CFI_type_float) return HAKOBI_FLOAT32;
    if (type == CFI_type_int32_t) return HAKOBI_INT32;
    if (type == CFI_type_int64_t) return HAKOBI_INT64;
    if (type == CFI_type_int8_t) return HAKOBI_INT8;
    if (type == CFI_type_int16_t) return HAKOBI_INT16;
    return 0;
}

static int refuse_here(hakobi_input* in, const char* text) {
    (void)in;
    return hakobi_refuse(text);
}

/* Sets what `read` lacks; NULL, or why it cannot be read. */
static const char* complete(hakobi_input* in, const CFI_cdesc_t* values, hakobi_field_read* read) {
    hakobi_input_field field = HAKOBI_INIT(hakobi_input_field);
    const int64_t* extents = read->block.count;
    int num_dims = read->block.num_dims, d;
    int64_t num_wanted = 1, num_given = 1, dense = 1;

    if (num_dims < 0 || num_dims > HAKOBI_MAX_DIMS) return "num_dims of its block is not 0 to 8";
    if (num_dims == 0) {
        if (hakobi_input_get_field(in, read->step, read->name, &field) != HAKOBI_OK) return NULL;
        num_dims = field.num_dims;
        extents = field.shape;
    }
    for (d = 0; d < num_dims; ++d) num_wanted *= extents[d];
    for (d = 0; d < values->rank; ++d) num_given *= values->dim[d].extent;
    if (num_wanted == 0 && num_given == 0) return NULL;
    if (values->rank == num_dims) {
        for (d = 0; d < num_dims; ++d) {
            const CFI_dim_t* dim = &values->dim[num_dims - 1 - d];
            const int64_t bytes = (int64_t)values->elem_len;
            if (dim->extent != extents[d]) return "the array's extents are not the block's";
            if (dim->extent > 1 && (dim->sm <= 0 || dim->sm % bytes != 0))
                return "the array runs backwards, or is a part of a derived type";
            read->strides[d] = dim->extent > 1 ? dim->sm / bytes : 1;
        }
    } else {
        for (d = 0; d < values->rank; ++d) {
            if (values->dim[d].extent > 1 && values->dim[d].sm != dense * (int64_t)values->elem_len)
                return "the array has another rank than the block and is not contiguous";
            dense *= values->dim[d].extent;
        }
        if (num_given != num_wanted) return "the array has not as many elements as the block";
    }
    read->data = values->base_addr;
    return NULL;
}

static int read_by(read_call call, refuse_call refuse, hakobi_input* in, const char* name, int64_t step,
                   const hakobi_block* block, const CFI_cdesc_t* values, void* stream) {
    hakobi_field_read read = {.struct_size = sizeof(read),
                              .name = name,
                              .step = step,
                              .block = *block,
                              .type = type_of(values->type),
                              .stream = stream};
    const char* why = complete(in, values, &read);
    char text[1024];

    if (why == NULL) return call(in, &read);
    snprintf(text, sizeof text, "field %s: %s", name, why);
    return refuse(in, text);
}

int hakobi_fortran_input_read(hakobi_input* in, const char* name, int64_t step, const hakobi_block* block,
                              CFI_cdesc_t* values, void* stream) {
    return read_by(hakobi_input_read, hakobi_input_refuse, in, name, step, block, values, stream);
}

int hakobi_fortran_input_read_independent(hakobi_input* in, const char* name, int64_t step,
                                          const hakobi_block* block, CFI_cdesc_t* values, void* stream) {
    return read_by(hakobi_input_read_independent, refuse_here, in, name, step, block, values, stream);
}
