/* A rank's request in hakobi-bench-mpi-io: its pieces, in the order of its data, and the MPI types that say
 * the same as a program would say it. */
#ifndef HAKOBI_BENCH_REQUEST_H
#define HAKOBI_BENCH_REQUEST_H

#include <mpi.h>

struct piece {
    long long offset, bytes;
};

enum mode {
    through_view, /* one collective call through a view */
    many_calls,   /* num_calls calls at offsets, collective or independent */
    many_opens    /* num_calls times: open, one collective call at an offset, close */
};

enum holes {
    no_holes,
    filled_holes, /* the file is there, whole, before a write, which keeps what lies between the pieces */
    empty_holes /* pieces lie so far apart that a file without holes would be another case: the file is new */
};

struct request {
    enum mode mode;
    int is_independent; /* many_calls: MPI_File_write_at instead of MPI_File_write_at_all */
    int is_plain;       /* many_calls: pwrite and pread, no MPI-IO: the floor of what any library can do */
    enum holes holes;
    int num_pieces; /* of this rank; with many_calls and many_opens: one a call */
    struct piece* pieces;
    long long bytes;      /* of this rank */
    long long file_bytes; /* up to the end of the last piece of all */
    MPI_Datatype file_type;
    long long displacement;
    /* Memory: `count` of `memory_type`; of each `memory_stride` bytes the first `memory_piece` are data. */
    MPI_Datatype memory_type;
    int count;
    int memory_piece, memory_stride;
};

/* Collective over all ranks. `shape` and its numbers as usage_text says; NULL, or what is wrong. */
const char* make_request(struct request* request, const char* shape, int num_numbers,
                         const long long* numbers);
void free_request(struct request* request);

extern const char* const usage_text;

#endif
