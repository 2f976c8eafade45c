/* Hakobi's C interface: the same calls as C++ (hakobi/output.hpp), with int codes for exceptions. C99 and
 * C++.
 *
 *     hakobi_comm* comm; hakobi_output* out; hakobi_block block; int64_t field;
 *     hakobi_comm_duplicate(MPI_COMM_WORLD, &comm);                           (collective; mpi.h included before)
 *     hakobi_split(2, (int64_t[]){ny, nx}, size, rank, &block);               (local)
 *     hakobi_output_create(comm, "run", NULL, &out);                          (collective)
 *     hakobi_output_define(out, &(hakobi_field_definition){.struct_size = sizeof(hakobi_field_definition),
 *                                 .name = "eta", .units = "m", .global = block.global, .num_dims = 2}, &field);
 *     hakobi_output_begin_step(out, time_s);
 *     hakobi_output_put_values(out, field, &block, eta, NULL);
 *     hakobi_output_end_step(out);                                            (collective: same code on every rank)
 *     hakobi_output_close(out);                                               (collective)
 *     hakobi_output_free(out); hakobi_comm_free(comm);
 *
 * Every call that can fail returns HAKOBI_OK (0) or an error code. It does not abort the program, except when
 * MPI communication fails, which cannot be reported. Every rank of the communicator makes a call that is
 * marked collective; it returns the same code on all ranks and communicates even if it refuses its arguments.
 * Only a NULL communicator or output returns immediately, without communicating. Texts and names are UTF-8
 * and end with a 0 byte. Use an object from one thread at a time: the one that may call MPI.
 *
 * Options of a call are a struct, which may be NULL where all are to have their defaults. Structs grow with
 * the versions: each begins with struct_size, which the caller sets to its sizeof, and so a program works
 * with the library of a later version, too. For one in which all else is 0: `hakobi_field field =
 * HAKOBI_INIT(hakobi_field);`. Members that are 0 or NULL have their default, which their comment names. A
 * yes or no is HAKOBI_YES or HAKOBI_NO; 0 is the default. hakobi_block and hakobi_hint have no size: they
 * stay as they are. docs/decisions/0047-what-may-change-under-a-program.md says what is kept from version to
 * version.
 */
#ifndef HAKOBI_H
#define HAKOBI_H

#include <hakobi/version.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define HAKOBI_API __attribute__((visibility("default")))
#else
#define HAKOBI_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Structs ------------------------------------------------------------------------------------------- */

#ifdef __cplusplus
extern "C++" {
template <class Struct>
inline Struct hakobi_init_of() {
    Struct made = Struct();
    made.struct_size = sizeof(Struct);
    return made;
}
}
#define HAKOBI_INIT(type) hakobi_init_of<type>()
#else
#define HAKOBI_INIT(type) \
    { .struct_size = sizeof(type) }
#endif

enum { HAKOBI_YES = 1, HAKOBI_NO = -1 };

/* ---- Errors -------------------------------------------------------------------------------------------- */

/* The codes of hakobi::ErrorCode in order of severity; docs/errors.md has the table. */
enum {
    HAKOBI_OK = 0,
    HAKOBI_INTERRUPTED = 1,
    HAKOBI_INVALID_ARGUMENT = 2,
    HAKOBI_NOT_FOUND = 3,
    HAKOBI_EXISTS = 4,
    HAKOBI_PERMISSION = 5,
    HAKOBI_UNSUPPORTED = 6,
    HAKOBI_FORMAT = 7,
    HAKOBI_OUT_OF_MEMORY = 8,
    HAKOBI_NO_SPACE = 9,
    HAKOBI_IO = 10,
    HAKOBI_FAILED = 11,
    HAKOBI_INTERNAL = 12
};

/* Text of this thread's latest error, and the rank in the call's communicator where it occurred (-1 for a
 * local call). The text is valid until this thread's next error; "" and -1 before the first one. */
HAKOBI_API const char* hakobi_error_text(void);
HAKOBI_API int hakobi_error_rank(void);
/* Ends all ranks with one line on stderr, "hakobi: " and `text`, and exit status 1, whether MPI is
 * initialised or not: what hakobi::report_errors does with an uncaught error, for C programs and other
 * languages. `rank` is hakobi_error_rank(): where it is not -1 all ranks of the communicator call this, and
 * one of them speaks. Does not return. */
HAKOBI_API void hakobi_end_with_error(const char* text, int rank);
/* The name of a code: "no_space". */
HAKOBI_API const char* hakobi_error_name(int code);

/* "0.2.0", of the library (HAKOBI_VERSION: of this header), and the MPI library for which Hakobi was built:
 * "openmpi", "mpich" or "other". */
HAKOBI_API const char* hakobi_version(void);
HAKOBI_API const char* hakobi_mpi_name(void);

/* ---- Communicators ------------------------------------------------------------------------------------- */

/* A private duplicate of a communicator (hakobi::Comm). */
typedef struct hakobi_comm hakobi_comm;

/* Duplicates the communicator whose Fortran handle (MPI_Comm_c2f, mpi4py's py2f, %MPI_VAL) is given.
 * Collective over it. With mpi.h included before: hakobi_comm_duplicate, below. */
HAKOBI_API int hakobi_comm_duplicate_f(int fortran_comm, hakobi_comm** comm);
/* Releases the duplicate and `comm`; close all objects that use it before. Collective. NULL does nothing. */
HAKOBI_API int hakobi_comm_free(hakobi_comm* comm);
HAKOBI_API int hakobi_comm_rank(const hakobi_comm* comm);
HAKOBI_API int hakobi_comm_size(const hakobi_comm* comm);
HAKOBI_API int hakobi_comm_num_nodes(const hakobi_comm* comm);
HAKOBI_API int hakobi_comm_node(const hakobi_comm* comm);

/* The Fortran handle of the duplicate, for the caller's own messages; Hakobi's messages use other
 * contexts. */
HAKOBI_API int hakobi_comm_handle_f(const hakobi_comm* comm);

#ifdef MPI_H_ABI /* mpi.h of the MPI 5 standard's ABI came first */
static inline int hakobi_comm_duplicate(MPI_Comm mpi_comm, hakobi_comm** comm) {
    return hakobi_comm_duplicate_f(MPI_Comm_toint(mpi_comm), comm);
}
static inline MPI_Comm hakobi_comm_handle(const hakobi_comm* comm) {
    return MPI_Comm_fromint(hakobi_comm_handle_f(comm));
}
#elif defined(MPI_VERSION) /* another mpi.h did */
static inline int hakobi_comm_duplicate(MPI_Comm mpi_comm, hakobi_comm** comm) {
    return hakobi_comm_duplicate_f((int)MPI_Comm_c2f(mpi_comm), comm);
}
static inline MPI_Comm hakobi_comm_handle(const hakobi_comm* comm) {
    return MPI_Comm_f2c((MPI_Fint)hakobi_comm_handle_f(comm));
}
#endif

/* ---- Blocks -------------------------------------------------------------------------------------------- */

#define HAKOBI_MAX_DIMS 8

/* A rank's rectangular part of a global array, slowest dimension first; the first num_dims entries are
 * used. */
typedef struct hakobi_block {
    int num_dims;
    int64_t global[HAKOBI_MAX_DIMS];
    int64_t start[HAKOBI_MAX_DIMS]; /* from 0 */
    int64_t count[HAKOBI_MAX_DIMS]; /* a 0 anywhere: this rank has nothing */
} hakobi_block;

/* The block of `rank` when an array of `global` extents is split over `num_ranks` with the smallest block
 * surfaces. Local. invalid_argument if the ranks do not fit the grid. */
HAKOBI_API int hakobi_split(int num_dims, const int64_t* global, int num_ranks, int rank,
                            hakobi_block* block);
/* The number of ranks in each dimension of that split (`dims`: num_dims entries), as a halo's grid needs it.
 * Local. */
HAKOBI_API int hakobi_dims_of_ranks(int num_dims, const int64_t* global, int num_ranks, int* dims);

/* ---- Values and what describes them -------------------------------------------------------------------- */

/* Types of values. The low byte is the size in bytes, the one above it the kind; 0 is none. The complex ones
 * are for collectives only. */
enum {
    HAKOBI_INT8 = 0x101,
    HAKOBI_INT16 = 0x102,
    HAKOBI_INT32 = 0x104,
    HAKOBI_INT64 = 0x108,
    HAKOBI_UINT8 = 0x201,
    HAKOBI_UINT16 = 0x202,
    HAKOBI_UINT32 = 0x204,
    HAKOBI_UINT64 = 0x208,
    HAKOBI_FLOAT32 = 0x304,
    HAKOBI_FLOAT64 = 0x308,
    HAKOBI_COMPLEX64 = 0x408,
    HAKOBI_COMPLEX128 = 0x410
};

/* Where an array is (hakobi::Memory). HAKOBI_MEMORY_AUTOMATIC: an address of a GPU's memory is recognised;
 * HAKOBI_MEMORY_HOST: nobody is asked; HAKOBI_MEMORY_DEVICE: it is an error if no driver knows the address. A
 * `stream` is a cudaStream_t or hipStream_t, NULL the default stream: docs/gpu.md. */
enum { HAKOBI_MEMORY_AUTOMATIC = 0, HAKOBI_MEMORY_HOST = 1, HAKOBI_MEMORY_DEVICE = 2 };

/* An attribute: exactly one of `text`, `doubles` and `integers` is not NULL. */
typedef struct hakobi_attribute {
    size_t struct_size;
    const char* name;
    const char* text;
    const double* doubles;
    const int64_t* integers;
    int64_t num_values; /* of `doubles` or `integers` */
} hakobi_attribute;

/* A dimension, and its coordinate variable if it has values (hakobi::Axis). */
typedef struct hakobi_axis {
    size_t struct_size;
    const char* name;
    const char* units;         /* NULL: "1" */
    const char* standard_name; /* CF's, or NULL */
    const double* values;      /* num_values of them */
    int64_t num_values;
    const hakobi_attribute* attributes; /* num_attributes of them; hakobi_input_get_axis leaves them out */
    int64_t num_attributes;
} hakobi_axis;

/* A hint of MPI-IO's or Hakobi's: docs/hints.md. */
typedef struct hakobi_hint {
    const char* name;
    const char* value;
} hakobi_hint;

/* ---- Output -------------------------------------------------------------------------------------------- */

/* The choices of hakobi_output_create where its prefix holds steps (hakobi::IfExists). */
enum { HAKOBI_IF_EXISTS_FAIL = 0, HAKOBI_IF_EXISTS_REPLACE = 1, HAKOBI_IF_EXISTS_RESUME = 2 };

/* hakobi_output_options.steps_per_file: no limit. */
#define HAKOBI_ALL_STEPS INT64_MAX

/* Options of hakobi_output_create (hakobi::OutputOptions, which says more of each); equal on every rank. All
 * is copied. */
typedef struct hakobi_output_options {
    size_t struct_size;
    int if_exists;      /* HAKOBI_IF_EXISTS_FAIL, ... */
    const char* method; /* NULL: "auto" */
    const char* format; /* NULL: "netcdf4" */
    const char* title;
    const hakobi_axis* axes; /* the grid's dimensions, slowest first: num_axes of them */
    int64_t num_axes;
    const hakobi_attribute* attributes; /* global ones besides the title: num_attributes of them */
    int64_t num_attributes;
    const char* time_units;  /* NULL: "s" */
    const char* calendar;    /* NULL: "standard" */
    const char* compression; /* NULL: "none"; "deflate:1", "zstd:3", ... */
    int64_t
        asynchronous_bytes;   /* hidden.bytes; 0: 256 MiB, or an eighth of the free memory if that is less */
    int64_t buffer_bytes;     /* 0: 64 MiB */
    const hakobi_hint* hints; /* num_hints of them */
    int64_t num_hints;
    int significant_bits; /* 0: all */
    int writer_stride;    /* 0: one in four, at least one per node */
    int asynchronous; /* hidden.on: HAKOBI_YES, HAKOBI_NO; 0: if the method supports it and memory suffices */
    int sync;         /* 0: no */
    int overview;     /* 0: no */
    int keep_pieces;  /* 0: no */
    int64_t steps_per_file;   /* HAKOBI_ALL_STEPS: all; 0: HAKOBI_STEPS_PER_FILE, else 1 */
    const char* stage;        /* a folder; NULL: HAKOBI_STAGE, else no stage */
    int64_t stage_bytes;      /* 0: HAKOBI_STAGE_BYTES, else half of what is free */
    int64_t stage_bytes_s;    /* 0: HAKOBI_STAGE_RATE, else no limit */
    int64_t stage_patience_s; /* 0: HAKOBI_STAGE_PATIENCE, else 120; HAKOBI_NO: none */
    const char* store_as;     /* "float32", ...: float64 in files; NULL: HAKOBI_STORE_AS, else "float64" */
} hakobi_output_options;

/* Name number `index` (from 0) for the option "method", besides "auto"; NULL after the last one. */
HAKOBI_API const char* hakobi_output_method_name(int index);

/* A field of one step, described with it (hakobi::Field). */
typedef struct hakobi_field {
    size_t struct_size;
    const char* name;          /* letters, digits, underscore; put again: another block of this rank */
    const char* units;         /* NULL: "1" */
    const char* long_name;     /* or NULL */
    const char* standard_name; /* CF's, or NULL */
    const char* dims; /* names of the dimensions, slowest first: "lat,lon"; NULL: the axes that match */
    const char* coordinates; /* names of the fields that are its coordinates: "lat,lon"; NULL: none */
    const char* compression; /* "none", "deflate:1", ...; NULL: the option's value */
    /* This rank's part; `global` equal on all ranks. num_dims 0 with num_values 1: a scalar. */
    hakobi_block block;
    int type;             /* HAKOBI_FLOAT64, ...; equal on all ranks */
    int significant_bits; /* 0: the option's value */
    const void* data;     /* C order, native byte order; valid until end_step returns. NULL: no values */
    int64_t num_values;   /* number of values in `data`, checked against the block; 0: not checked */
    /* Layers of ghost values around the block in `data`, one entry per dimension; NULL: none. */
    const int64_t* ghosts;
    /* Distance between neighbouring values in `data`, one entry per dimension; NULL: no gaps. */
    const int64_t* strides;
    const hakobi_attribute* attributes; /* num_attributes of them */
    int64_t num_attributes;
    const void*
        fill_value; /* one value of `type`, for elements that no rank puts; NULL: NaN, 0 for integers */
    int is_static;  /* HAKOBI_YES: constant in time, put once; 0: no */
    int on; /* HAKOBI_ON_POINTS, HAKOBI_ON_CELLS: a field on the mesh, with empty `block` and `dims` */
    int64_t
        num_components; /* of a field on the mesh: 3 for a vector, 9 for a tensor; 0: 1. `strides`: two entries */
    int memory;         /* where `data` is: HAKOBI_MEMORY_AUTOMATIC, ... */
    void* stream;       /* of memory of a GPU: values are copied when what it holds at put is done */
    const char* store_as; /* the type in files: "float32", "int16:range=180..330", ...; NULL: the option's */
} hakobi_field;

/* A field as all its steps have it (hakobi::FieldDefinition, which says more of each member); equal on every
 * rank. All is copied. */
typedef struct hakobi_field_definition {
    size_t struct_size;
    const char* name;          /* letters, digits, underscore */
    const char* units;         /* NULL: "1" */
    const char* long_name;     /* or NULL */
    const char* standard_name; /* CF's, or NULL */
    const char* dims; /* names of the dimensions, slowest first: "lat,lon"; NULL: the axes that match */
    const char* coordinates; /* names of the fields that are its coordinates: "lat,lon"; NULL: none */
    const char* compression; /* "none", "deflate:1", ...; NULL: the option's value */
    const hakobi_attribute* attributes; /* num_attributes of them */
    int64_t num_attributes;
    const void*
        fill_value; /* one value of `type`, for elements that no rank puts; NULL: NaN, 0 for integers */
    const int64_t*
        global; /* num_dims extents, slowest first, as of a hakobi_block; NULL: each step's blocks' */
    int num_dims;
    int type;             /* 0: HAKOBI_FLOAT64 */
    int significant_bits; /* 0: the option's value */
    int is_static;        /* HAKOBI_YES: constant in time, put once; 0: no */
    int on;               /* HAKOBI_ON_POINTS, HAKOBI_ON_CELLS: a field on the mesh */
    int num_components;   /* of a field on the mesh: 3 for a vector, 9 for a tensor; 0: 1 */
    const char* store_as; /* the type in files: "float32", "int16:range=180..330", ...; NULL: the option's */
} hakobi_field_definition;

/* How a block's values lie in memory (hakobi::MemoryLayout). */
typedef struct hakobi_memory_layout {
    size_t struct_size;
    const int64_t* ghosts;  /* layers of ghost values around the block, one entry per dimension; NULL: none */
    const int64_t* strides; /* between neighbouring values, one entry per dimension; NULL: no gaps */
    int64_t num_values;     /* how many there are, checked against the block; 0: not checked */
    int type;               /* checked against the field's; 0: not checked */
    int memory;             /* where they are: HAKOBI_MEMORY_AUTOMATIC, ... */
    void* stream;           /* of memory of a GPU: they are copied when what it holds at put is done */
} hakobi_memory_layout;

/* Where a field's values are (hakobi::On), and how a mesh changes from step to step (hakobi::Motion). */
enum { HAKOBI_ON_GRID = 0, HAKOBI_ON_POINTS = 1, HAKOBI_ON_CELLS = 2 };
enum { HAKOBI_MESH_FIXED = 0, HAKOBI_MESH_MOVES = 1, HAKOBI_MESH_CHANGES = 2 };

/* This rank's part of an unstructured mesh (hakobi::Mesh). The memory must stay valid until end_step returns.
 * A rank without cells leaves all members but the first 0. */
typedef struct hakobi_mesh {
    size_t struct_size;
    int motion;         /* HAKOBI_MESH_FIXED, ...; equal on all ranks */
    int points_type;    /* HAKOBI_FLOAT64 or HAKOBI_FLOAT32; equal on all ranks */
    int64_t num_points; /* including those of ghost cells */
    const void* points; /* x, y, z of each point */
    int64_t num_cells;
    const uint8_t* types;  /* VTK's type of each cell: 5 triangle, 10 tetrahedron, 12 hexahedron, ... */
    int offsets_type;      /* HAKOBI_INT64 or HAKOBI_INT32 */
    int connectivity_type; /* HAKOBI_INT64 or HAKOBI_INT32 */
    /* num_cells + 1: where each cell's points begin in connectivity, the first 0; NULL: no cells. */
    const void* offsets;
    const void* connectivity; /* the numbers of each cell's points */
    int64_t num_connectivity; /* its length, checked against the last offset; 0: not checked */
    int64_t first_number;     /* number of the first point: 0 or 1 */
    /* Per cell: 1 for a copy of another rank's cell, 0 for an own cell; NULL: all are own. */
    const uint8_t* ghosts;
} hakobi_mesh;

/* Writes time steps, one NetCDF-4 file per step (hakobi::Output). */
typedef struct hakobi_output hakobi_output;

/* Collective over `comm`; `prefix` and `options` (NULL: all defaults) equal on all ranks. On an error *out is
 * NULL. */
HAKOBI_API int hakobi_output_create(hakobi_comm* comm, const char* prefix,
                                    const hakobi_output_options* options, hakobi_output** out);
/* Defines a field of this output's steps, once for all of them: *field becomes its number, which is of use to
 * `out` alone and never 0. Collective over the output's communicator; after an error *field is 0, and the
 * output is as it was. */
HAKOBI_API int hakobi_output_define(hakobi_output* out, const hakobi_field_definition* definition,
                                    int64_t* field);
/* Opens the next step. Every rank calls it; it does not communicate. */
HAKOBI_API int hakobi_output_begin_step(hakobi_output* out, double time);
/* Puts this rank's block of a defined field into the open step, or a further one. All ranks put the same
 * fields in the same order; it does not communicate. `data` has values of the field's type in C order, which
 * stay valid until end_step returns; NULL: none. `block` NULL: of a scalar, of a field on the mesh, or, with
 * `data` NULL, of a rank that has nothing of a field with `global`. `layout` NULL: no gaps. After an error
 * here call end_step all the same: it reports the error on every rank. */
HAKOBI_API int hakobi_output_put_values(hakobi_output* out, int64_t field, const hakobi_block* block,
                                        const void* data, const hakobi_memory_layout* layout);
/* The same for a field that is described with each step. */
HAKOBI_API int hakobi_output_put(hakobi_output* out, const hakobi_field* field);
/* Sets the open step's mesh, before its first field; requires the option "format" = "vtkhdf". Every rank
 * calls it, even without cells; end_step reports errors on every rank. A fixed mesh and the cells of a moving
 * one are put once. */
HAKOBI_API int hakobi_output_put_mesh(hakobi_output* out, const hakobi_mesh* mesh);
/* New coordinates of a moving mesh's points (x, y, z of each, of `type`), in every step after the one with
 * put_mesh. num_points 0: as many as the mesh has. */
HAKOBI_API int hakobi_output_put_points(hakobi_output* out, int type, const void* points, int64_t num_points);
/* Writes the step. Collective. After it has returned HAKOBI_OK the step is whole, completed later or named as
 * lost, however the program ends (hakobi::Output): it has its file, a later call, MPI_Finalize or the next
 * opener completes it, or an error or a line on stderr names it. The option "sync" adds that a file with its
 * final name survives a crash of the system. */
HAKOBI_API int hakobi_output_end_step(hakobi_output* out);
/* Returns when every step that end_step has accepted has its final name. Collective, between steps. */
HAKOBI_API int hakobi_output_flush(hakobi_output* out);
/* Completes pending work. Collective; a second call does nothing. */
HAKOBI_API int hakobi_output_close(hakobi_output* out);
/* Releases `out`; never communicates. If it was not closed, MPI_Finalize completes the steps that were ended;
 * a step that was not is abandoned. */
HAKOBI_API void hakobi_output_free(hakobi_output* out);

/* The current method, never "auto"; valid as long as `out`. NULL if `out` is NULL. */
HAKOBI_API const char* hakobi_output_method(const hakobi_output* out);
/* How the steps are written and why, for people; valid until the next call with `out`. NULL if `out` is
 * NULL. */
HAKOBI_API const char* hakobi_output_explain(hakobi_output* out);

/* Seconds that this rank has spent in each phase of output, and the bytes that it put
 * (hakobi::OutputTimes). */
typedef struct hakobi_output_times {
    size_t struct_size;
    double layout_s, encode_s, values_s, finish_s, gather_s, hidden_s, run_s, cpu_s;
    int64_t bytes;
} hakobi_output_times;
HAKOBI_API int hakobi_output_get_times(const hakobi_output* out, hakobi_output_times* times);

/* ---- Outputs ------------------------------------------------------------------------------------------- */

/* Options of hakobi_outputs_create (hakobi::OutputsOptions); equal on every rank. All is copied. */
typedef struct hakobi_outputs_options {
    size_t struct_size;
    const char* time_units; /* of begin_step's time, and in all files; NULL: "s" */
    const char* calendar;   /* NULL: "standard" */
    int if_exists;          /* HAKOBI_IF_EXISTS_FAIL, ...: of all outputs */
    int has_begin_time;     /* HAKOBI_YES: begin_time is when the run began; 0: with its first step */
    int has_resume_at;      /* HAKOBI_YES: resume_at is the checkpoint's time; 0: the newest one's */
    double begin_time;
    double resume_at;
} hakobi_outputs_options;

/* A field of an output, made of one that is put (hakobi::DerivedField, which says more of each member). */
typedef struct hakobi_derived_field {
    size_t struct_size;
    const char* of;                     /* the field that is put */
    const char* cell_method;            /* "mean", "maximum", "count above 300", ...; NULL: "point" */
    const char* name;                   /* NULL: of, and with a method "t_mean" */
    const char* long_name;              /* NULL: the field's */
    const hakobi_attribute* attributes; /* besides the field's: num_attributes of them */
    int64_t num_attributes;
    const char* compression; /* NULL: the field's */
    int significant_bits;    /* 0: the field's */
    const char* store_as;    /* NULL: the field's */
} hakobi_derived_field;

/* Several outputs from one put a field and step, with means and extremes of intervals (hakobi::Outputs). */
typedef struct hakobi_outputs hakobi_outputs;

/* Collective over `comm`; `prefix`, which is that of the checkpoints, and `options` (NULL: all defaults)
 * equal on all ranks. On an error *outs is NULL. */
HAKOBI_API int hakobi_outputs_create(hakobi_comm* comm, const char* prefix,
                                     const hakobi_outputs_options* options, hakobi_outputs** outs);
/* Defines a field that is put: *field becomes its number, which is of use to `outs` alone and never 0. Local,
 * in the same order on all ranks; after an error *field is 0. */
HAKOBI_API int hakobi_outputs_define(hakobi_outputs* outs, const hakobi_field_definition* definition,
                                     int64_t* field);
/* Adds an output with `num_fields` fields, which has a step at the end of each interval. Collective; all
 * arguments equal on all ranks; before the first step. `every`: "6h", "1 day", "month", "10 steps", "run", as
 * hakobi::Outputs::add has it; NULL: each step. `options` (NULL: all defaults) leave time_units, calendar and
 * if_exists to hakobi_outputs_create. */
HAKOBI_API int hakobi_outputs_add(hakobi_outputs* outs, const char* prefix,
                                  const hakobi_output_options* options, const char* every,
                                  const hakobi_derived_field* fields, int64_t num_fields);
/* Whether the run goes on from a checkpoint (*is_resumed 1; 0: it begins), and the time of that: the first
 * step is a later one. Local. */
HAKOBI_API int hakobi_outputs_resume_time(const hakobi_outputs* outs, int* is_resumed, double* time);
/* Opens a step at a time later than the one before. Every rank calls it; it does not communicate. */
HAKOBI_API int hakobi_outputs_begin_step(hakobi_outputs* outs, double time);
/* As hakobi_output_put_values; a field has the same blocks in each step. */
HAKOBI_API int hakobi_outputs_put(hakobi_outputs* outs, int64_t field, const hakobi_block* block,
                                  const void* data, const hakobi_memory_layout* layout);
/* Adds the values to what they belong to, and writes the outputs that have a step here. Collective. A mistake
 * in a step is an error where the next one is written. */
HAKOBI_API int hakobi_outputs_end_step(hakobi_outputs* outs);
/* Stores what has accumulated up to the last step: a run can go on from here. Collective. */
HAKOBI_API int hakobi_outputs_checkpoint(hakobi_outputs* outs);
/* Writes the outputs of "run", stores a checkpoint, and closes all outputs. Collective; a second call does
 * nothing. */
HAKOBI_API int hakobi_outputs_close(hakobi_outputs* outs);
/* Releases `outs`; never communicates. What has accumulated since the last checkpoint is lost if it was not
 * closed. */
HAKOBI_API void hakobi_outputs_free(hakobi_outputs* outs);
/* A text for people, a line an output; valid until the next call with `outs`. NULL if `outs` is NULL. */
HAKOBI_API const char* hakobi_outputs_explain(hakobi_outputs* outs);

/* ---- Input --------------------------------------------------------------------------------------------- */

/* Reads a series of steps (hakobi::Input). Pointers that the calls below return are valid until the object is
 * freed; step -1 is the last one. */
typedef struct hakobi_input hakobi_input;

/* Options of hakobi_input_open (hakobi::InputOptions); equal on every rank. */
typedef struct hakobi_input_options {
    size_t struct_size;
    const hakobi_hint* hints; /* num_hints of them */
    int64_t num_hints;
} hakobi_input_options;

/* Collective over `comm`; `prefix` and `options` equal on all ranks. Completes the steps that a killed run
 * had stored (hakobi::Input::open). On an error *in is NULL. */
HAKOBI_API int hakobi_input_open(hakobi_comm* comm, const char* prefix, const hakobi_input_options* options,
                                 hakobi_input** in);
/* The same for this process alone: MPI is not called, and no call on `in` is collective. */
HAKOBI_API int hakobi_input_open_alone(const char* prefix, hakobi_input** in);

/* The steps' numbers and times, num_steps of each, and the times' units and calendar. Local; 0 and NULL if
 * `in` is NULL. */
HAKOBI_API int64_t hakobi_input_num_steps(const hakobi_input* in);
HAKOBI_API const int64_t* hakobi_input_steps(const hakobi_input* in);
HAKOBI_API const double* hakobi_input_times(const hakobi_input* in);
HAKOBI_API const char* hakobi_input_time_units(const hakobi_input* in);
HAKOBI_API const char* hakobi_input_calendar(const hakobi_input* in);

/* Description of a field of a step. */
typedef struct hakobi_input_field {
    size_t struct_size;
    const char* name;
    const char* type_name; /* as ncdump calls it: "double", "float", "int", "int64", ... */
    const char* dims;      /* "lat,lon" */
    int type;              /* HAKOBI_FLOAT64, ...; 0: a type that cannot be read */
    int num_dims;
    int is_static;                  /* 1: has no time dimension */
    int64_t shape[HAKOBI_MAX_DIMS]; /* slowest first, without time */
} hakobi_input_field;
/* The name of a step's field number `index`, from 0; NULL after the last one, and if there is no such step.
 * Local. */
HAKOBI_API const char* hakobi_input_field_name(const hakobi_input* in, int64_t step, int index);
/* Local; not_found names the nearest field. */
HAKOBI_API int hakobi_input_get_field(const hakobi_input* in, int64_t step, const char* name,
                                      hakobi_input_field* field);

/* A dimension of a step's fields: number `index` from 0, not_found after the last one. `values` is NULL if it
 * has no coordinate variable. Local. */
HAKOBI_API int hakobi_input_get_axis(const hakobi_input* in, int64_t step, int index, hakobi_axis* axis);

/* An attribute of a field or an axis, or of the step if `field` is NULL: number `index` from 0, in
 * alphabetical order; not_found after the last one. Local. */
HAKOBI_API int hakobi_input_get_attribute(const hakobi_input* in, int64_t step, const char* field, int index,
                                          hakobi_attribute* attribute);

/* A field, or a block of it, to be read, and the memory for its values (hakobi::FieldRead). */
typedef struct hakobi_field_read {
    size_t struct_size;
    const char* name;   /* equal on all ranks */
    int64_t step;       /* -1: the last; equal on all ranks */
    hakobi_block block; /* the part that this rank reads; num_dims 0: the whole field */
    int type;           /* of the memory: HAKOBI_FLOAT64, ... */
    void* data;
    int64_t num_values;               /* elements of memory, checked against the block; 0: not checked */
    int64_t ghosts[HAKOBI_MAX_DIMS];  /* layers of ghost elements around the block in memory; not changed */
    int64_t strides[HAKOBI_MAX_DIMS]; /* distance between neighbouring elements in memory; all 0: no gaps */
    int memory;                       /* where `data` is: HAKOBI_MEMORY_AUTOMATIC, ... */
    void* stream; /* of memory of a GPU: it is written after what the stream holds, before read returns */
} hakobi_field_read;
/* Reads into the memory. Collective. `in` stays usable after an error. */
HAKOBI_API int hakobi_input_read(hakobi_input* in, const hakobi_field_read* read);
/* The same for this rank alone: local, the others need not read, and the error is this rank's. */
HAKOBI_API int hakobi_input_read_independent(hakobi_input* in, const hakobi_field_read* read);
/* Size of a step's mesh (hakobi::InputMesh). */
typedef struct hakobi_input_mesh {
    size_t struct_size;
    int64_t num_points, num_cells;
    int64_t num_pieces; /* one per rank that wrote it */
    int points_type;    /* in the file: HAKOBI_FLOAT64 or HAKOBI_FLOAT32; 0: another */
    int has_ghosts;     /* 1: some cells are copies of others */
} hakobi_input_mesh;
/* Local; not_found if the step has no mesh. */
HAKOBI_API int hakobi_input_get_mesh(const hakobi_input* in, int64_t step, hakobi_input_mesh* mesh);

/* A rank's share of a mesh that was read: consecutive pieces, renumbered from 0 (hakobi::MeshPart). To read a
 * field on cells use the block {num_cells of the mesh, first_cell, num_cells}, with a second dimension if it
 * has components. */
typedef struct hakobi_mesh_part {
    size_t struct_size;
    void* memory;                    /* what hakobi_mesh_part_free releases */
    int64_t first_point, first_cell; /* position among all points and cells */
    int64_t first_piece, num_pieces;
    int64_t num_points;
    const double* points; /* x, y, z of each point */
    int64_t num_cells;
    const uint8_t* types;   /* VTK's */
    const int64_t* offsets; /* num_cells + 1 */
    int64_t num_connectivity;
    const int64_t* connectivity;
    const uint8_t* ghosts; /* NULL: the mesh has none */
} hakobi_mesh_part;
/* Reads this rank's share: whole pieces, distributed so that the ranks have similar numbers of cells. The
 * number of ranks need not be the writer's. Collective; `step` equal on all ranks. On an error `part` is all
 * 0 but for its size. */
HAKOBI_API int hakobi_input_read_mesh(hakobi_input* in, int64_t step, hakobi_mesh_part* part);
/* Releases the arrays; `part` becomes all 0 but for its size. Local. */
HAKOBI_API void hakobi_mesh_part_free(hakobi_mesh_part* part);
/* How a field is read, in one line. Local; valid until its next call on `in`. NULL if there is no such
 * field. */
HAKOBI_API const char* hakobi_input_explain(hakobi_input* in, int64_t step, const char* field);
/* Releases everything except the memory of `in`. Collective; a second call does nothing. */
HAKOBI_API int hakobi_input_close(hakobi_input* in);
/* Releases the memory of `in`; never communicates. */
HAKOBI_API void hakobi_input_free(hakobi_input* in);

/* ---- Pieces that a killed run left --------------------------------------------------------------------- */

/* Result of hakobi_gather_pieces: the files that it wrote or completed, and what it left unchanged or
 * removed, each with the reason (pieces are missing, the file exists with other contents, another process
 * uses them, or a step was not stored whole). Number `index` from 0; NULL after the last one. Valid until
 * freed. */
typedef struct hakobi_gather_result hakobi_gather_result;

/* Assembles files from the pieces that the method per-process left in `path` (a *.pieces folder, or a
 * directory with such folders), and completes the steps that a killed run had stored there, or with the
 * prefix `path` (hakobi::gather_pieces). Local: no MPI. `result` may be NULL. */
HAKOBI_API int hakobi_gather_pieces(const char* path, hakobi_gather_result** result);
HAKOBI_API const char* hakobi_gather_result_file(const hakobi_gather_result* result, int index);
HAKOBI_API const char* hakobi_gather_result_incomplete(const hakobi_gather_result* result, int index);
HAKOBI_API void hakobi_gather_result_free(hakobi_gather_result* result);

#ifdef __cplusplus
}
#endif

#include <hakobi_exchange.h>

#endif
