#define _GNU_SOURCE
#include "image.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static unsigned char mixed(long long offset, unsigned seed) {
    const unsigned long long x = (unsigned long long)offset;
    return (unsigned char)((x ^ (x >> 8) ^ (x >> 16) ^ (x >> 24)) * 31 + seed * 17);
}
static unsigned char written(long long offset, unsigned seed) {
    return mixed(offset, seed) | 0x80;
}
static unsigned char filler(long long offset) {
    return mixed(offset, 0) & 0x7f;
}

/* The address of stream byte `at`. */
static size_t place(const struct request* r, long long at) {
    return (size_t)(at / r->memory_piece * r->memory_stride + at % r->memory_piece);
}
/* Bytes from stream byte `at` on that are together in memory. */
static long long together(const struct request* r, long long at, long long most) {
    const long long rest = r->memory_piece - at % r->memory_piece;
    return r->memory_stride == r->memory_piece || most < rest ? most : rest;
}

static void fill(unsigned char* to, long long bytes, long long offset, unsigned seed) {
    for (long long i = 0; i < bytes; ++i) to[i] = written(offset + i, seed);
}
/* Without a branch a byte. */
static int is_wrong(const unsigned char* data, long long bytes, long long offset, unsigned seed) {
    unsigned differing = 0;
    for (long long i = 0; i < bytes; ++i) differing |= (unsigned)(data[i] ^ written(offset + i, seed));
    return differing != 0;
}

void fill_data(const struct request* r, unsigned char* data, unsigned seed) {
    long long at = 0;
    for (int i = 0; i < r->num_pieces; ++i) {
        for (long long k = 0, part; k < r->pieces[i].bytes; k += part, at += part) {
            part = together(r, at, r->pieces[i].bytes - k);
            fill(data + place(r, at), part, r->pieces[i].offset + k, seed);
        }
    }
}

int is_data_wrong(const struct request* r, const unsigned char* data, unsigned seed) {
    long long at = 0;
    for (int i = 0; i < r->num_pieces; ++i) {
        for (long long k = 0, part; k < r->pieces[i].bytes; k += part, at += part) {
            part = together(r, at, r->pieces[i].bytes - k);
            if (is_wrong(data + place(r, at), part, r->pieces[i].offset + k, seed)) return 1;
        }
    }
    return 0;
}

int make_filled_file(const char* name, long long bytes) {
    const int fd = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) return 0;
    unsigned char* const map = ftruncate(fd, bytes) == 0
                                   ? mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                                   : MAP_FAILED;
    close(fd);
    if (map == MAP_FAILED) return 0;
    for (long long i = 0; i < bytes; ++i) map[i] = filler(i);
    munmap(map, (size_t)bytes);
    return 1;
}

/* Counts what was written in [begin, end); the rest is the filler that was there before. */
static int is_slice_wrong(const unsigned char* map, long long begin, long long end, unsigned seed,
                          long long* num_written) {
    unsigned num_wrong = 0, count = 0;
    for (long long at = begin; at < end; ++at) {
        const unsigned is_written = map[at] == written(at, seed);
        count += is_written;
        num_wrong += !is_written & (map[at] != filler(at));
    }
    *num_written += count;
    return num_wrong != 0;
}

static const char* check_mapped(const struct request* r, const unsigned char* map, unsigned seed, int rank,
                                int size, long long* num_written) {
    for (int i = 0; i < r->num_pieces; ++i)
        if (is_wrong(map + r->pieces[i].offset, r->pieces[i].bytes, r->pieces[i].offset, seed))
            return "a wrong byte in a piece";
    if (r->holes != filled_holes) {
        *num_written = r->bytes;
        return NULL;
    }
    const long long begin = r->file_bytes * rank / size, end = r->file_bytes * (rank + 1) / size;
    return is_slice_wrong(map, begin, end, seed, num_written) ? "a wrong byte in a hole" : NULL;
}

const char* check_file(const struct request* r, const char* name, unsigned seed) {
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char* wrong = NULL;
    long long mine[2] = {0, r->bytes}, all[2];
    struct stat status;
    const int fd = open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) != 0) {
        wrong = "no file";
    } else if (status.st_size != r->file_bytes) {
        wrong = "a file of the wrong size";
    } else {
        unsigned char* const map = mmap(NULL, (size_t)r->file_bytes, PROT_READ, MAP_SHARED, fd, 0);
        wrong = map == MAP_FAILED ? "no map of the file" : check_mapped(r, map, seed, rank, size, &mine[0]);
        if (map != MAP_FAILED) munmap(map, (size_t)r->file_bytes);
    }
    if (fd >= 0) close(fd);
    MPI_Allreduce(mine, all, 2, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (wrong == NULL && all[0] != all[1]) wrong = "another number of bytes than were asked for";
    return wrong;
}
