/* The bytes that a file of hakobi-bench-mpi-io must hold, computed without MPI-IO: at `offset` the value of
 * the `seed` where a rank wrote, and filler where nobody did. The two differ in their highest bit. Files are
 * read and made by mapping them: a model of storage time lies over reads and writes, and this is no part of
 * what is timed. */
#ifndef HAKOBI_BENCH_IMAGE_H
#define HAKOBI_BENCH_IMAGE_H

#include "request.h"

/* This rank's data in memory, as `request` says; `data` holds memory_stride / memory_piece times its
 * bytes. */
void fill_data(const struct request* request, unsigned char* data, unsigned seed);
/* Whether a byte of the data is not as fill_data made it. */
int is_data_wrong(const struct request* request, const unsigned char* data, unsigned seed);

/* Rank 0's: the file whole, of filler. 0 where it cannot be made. */
int make_filled_file(const char* name, long long bytes);
/* Collective: checks every byte that was written, and, in a file that was filled before, every other one too,
 * each rank another slice. Bytes of a new file that nobody wrote may have any value: ROMIO leaves its
 * buffer's there. Returns NULL, or what is wrong. */
const char* check_file(const struct request* request, const char* name, unsigned seed);

#endif
