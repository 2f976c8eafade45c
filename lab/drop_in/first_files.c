/* first_files: the first, second, … file of a program, each written (read) by one collective call: what a
 * call costs before anything has been warmed by the one before.
 *
 *     mpirun -n RANKS first_files block3d|cyclic|tile2d|lattice4d write|read FOLDER [FILES [MEGABYTES]]
 *
 * Files are new; time is from before MPI_File_open, behind a barrier, to the last rank's return from
 * MPI_File_close. The program's values are in memory and touched before; between two files they change, as by
 * a program that computes. A line a file on stdout: its number, seconds from open to close, of the open, the
 * call and the close, processor seconds of all ranks. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static int rank, size;

static void die(const char* what) {
    fprintf(stderr, "first_files: %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}
static double cpu_s(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}
static int cube_root(double v) {
    int n = 1;
    while ((double)(n + 1) * (n + 1) * (n + 1) <= v) ++n;
    return n;
}

/* A file view of this rank and its bytes. */
static MPI_Datatype view_of(const char* pattern, long long total, long long* bytes, long long* disp,
                            long long* file_bytes) {
    MPI_Datatype type;
    *disp = 0;
    if (!strcmp(pattern, "cyclic")) {
        const int piece = 512;
        const int n = (int)(total / size / piece);
        MPI_Type_vector(n, piece, piece * size, MPI_BYTE, &type);
        *disp = (long long)rank * piece;
        *bytes = (long long)n * piece;
        *file_bytes = *bytes * size;
    } else {
        int nd = !strcmp(pattern, "tile2d") ? 2 : !strcmp(pattern, "lattice4d") ? 4 : 3;
        int dims[4] = {0, 0, 0, 0}, sizes[4], sub[4], at[4], coords[4];
        MPI_Dims_create(size, nd, dims);
        int r = rank;
        for (int d = nd - 1; d >= 0; --d) {
            coords[d] = r % dims[d];
            r /= dims[d];
        }
        const double values = (double)total / 8;
        int n = 1;
        if (nd == 2) {
            while ((double)(n + 1) * (n + 1) <= values) ++n;
        } else if (nd == 3)
            n = cube_root(values);
        else {
            while ((double)(n + 1) * (n + 1) * (n + 1) * (n + 1) * 24 <= values) ++n;
        }
        *bytes = 8;
        *file_bytes = 8;
        for (int d = 0; d < nd; ++d) {
            const int m = n / dims[d];
            sizes[d] = m * dims[d];
            sub[d] = m;
            at[d] = m * coords[d];
            *bytes *= m;
            *file_bytes *= sizes[d];
        }
        MPI_Datatype value;
        const int per = nd == 4 ? 24 : 1; /* lattice4d: spinors of 24 doubles a site */
        MPI_Type_contiguous(8 * per, MPI_BYTE, &value);
        *bytes *= per;
        *file_bytes *= per;
        MPI_Type_create_subarray(nd, sizes, sub, at, MPI_ORDER_C, value, &type);
    }
    MPI_Type_commit(&type);
    return type;
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc < 4) die("PATTERN write|read FOLDER [FILES [MEGABYTES]]");
    const int is_write = !strcmp(argv[2], "write"), num = argc > 4 ? atoi(argv[4]) : 5;
    const long long total = (argc > 5 ? atoll(argv[5]) : 256) << 20;
    long long bytes, disp, file_bytes;
    MPI_Datatype view = view_of(argv[1], total, &bytes, &disp, &file_bytes);
    unsigned char* data = malloc((size_t)bytes);
    memset(data, 1, (size_t)bytes);
    MPI_Info info = MPI_INFO_NULL;
    if (getenv("FIRST_FILES_HINTS")) { /* name=value,name=value */
        MPI_Info_create(&info);
        char text[512];
        strncpy(text, getenv("FIRST_FILES_HINTS"), 511);
        text[511] = 0;
        for (char* item = strtok(text, ","); item; item = strtok(NULL, ",")) {
            char* eq = strchr(item, '=');
            if (!eq) die("hints");
            *eq = 0;
            MPI_Info_set(info, item, eq + 1);
        }
    }
    char name[4096];
    int pid = (int)getpid();
    MPI_Bcast(&pid, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (getenv("FIRST_FILES_PRE")) {
        const int pre = atoi(getenv("FIRST_FILES_PRE"));
        double a = MPI_Wtime();
        MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
        double b = MPI_Wtime();
        if (pre > 1) {
            MPI_File file;
            snprintf(name, sizeof name, "%s/pre-%d.bin", argv[3], pid);
            MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                          MPI_INFO_NULL, &file);
            MPI_File_close(&file);
        }
        double c = MPI_Wtime();
        if (rank == 0)
            fprintf(stderr, "pre: load %.2f, open and close %.2f ms\n", (b - a) * 1e3, (c - b) * 1e3);
    }
    for (int i = 0; i < num; ++i) {
        snprintf(name, sizeof name, "%s/first-%d-%d.bin", argv[3], pid, i);
        for (long long b = 0; b < bytes; b += 64) data[b] = is_write ? (unsigned char)(b / 64 + i + rank) : 0;
        if (!is_write &&
            rank == 0) { /* by plain calls, in a folder that a model does not cover until it is renamed */
            char outside[4096];
            const char* other = getenv("FIRST_FILES_STAGING");
            snprintf(outside, sizeof outside, "%s/first-%d-%d.bin", other ? other : argv[3], pid, i);
            unsigned char* block = malloc(4 << 20);
            memset(block, i + 3, 4 << 20);
            int file = open(outside, O_CREAT | O_TRUNC | O_RDWR, 0666);
            if (file < 0) die("open");
            for (long long b = 0; b < file_bytes; b += 4 << 20) {
                const long long n = file_bytes - b < 4 << 20 ? file_bytes - b : 4 << 20;
                if (pwrite(file, block, (size_t)n, b) != n) die("pwrite");
            }
            close(file);
            free(block);
            if (strcmp(outside, name) && rename(outside, name)) die("rename");
        }
        MPI_Barrier(MPI_COMM_WORLD);
        const double cpu0 = cpu_s();
        double t[4];
        MPI_File file;
        t[0] = MPI_Wtime();
        if (MPI_File_open(MPI_COMM_WORLD, name, is_write ? MPI_MODE_CREATE | MPI_MODE_RDWR : MPI_MODE_RDONLY,
                          info, &file))
            die("MPI_File_open");
        t[1] = MPI_Wtime();
        if (MPI_File_set_view(file, disp, MPI_BYTE, view, "native", MPI_INFO_NULL)) die("set_view");
        MPI_Status status;
        if (is_write ? MPI_File_write_all(file, data, (int)bytes, MPI_BYTE, &status)
                     : MPI_File_read_all(file, data, (int)bytes, MPI_BYTE, &status))
            die("call");
        t[2] = MPI_Wtime();
        if (MPI_File_close(&file)) die("close");
        t[3] = MPI_Wtime();
        const double cpu1 = cpu_s() - cpu0;
        double mine[5] = {-t[0], t[3], t[1] - t[0], t[2] - t[1], t[3] - t[2]}, last[5], cpu;
        MPI_Reduce(mine, last, 5, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
        MPI_Reduce(&cpu1, &cpu, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
        if (getenv("FIRST_FILES_RANKS"))
            fprintf(stderr, "rank %d file %d: open %.2f called %.2f closed %.2f ms\n", rank, i,
                    (t[1] - t[0]) * 1e3, (t[2] - t[0]) * 1e3, (t[3] - t[0]) * 1e3);
        if (rank == 0) {
            const double s = last[0] + last[1];
            printf("%d %.6f %.6f %.6f %.6f %.4f %lld\n", i, s, last[2], last[3], last[4], cpu, file_bytes);
            unlink(name);
        }
        MPI_Barrier(MPI_COMM_WORLD); /* nobody verifies while others are timed */
        int got = 0;
        MPI_Get_count(&status, MPI_BYTE, &got);
        if (got != bytes) die("moved another number of bytes");
        if (!is_write)
            for (long long b = 0; b < bytes; b += 64)
                if (data[b] != (unsigned char)(i + 3)) die("a wrong byte");
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
