/* hakobi-bench-solver: steps of a program that computes and writes, by nonblocking or by blocking collective
 * calls; it knows nothing of Hakobi.
 *
 *  1. A step computes: so many operations on a rank's own small array as take COMPUTE_MS where nothing else
 *     runs, which is found out first, all ranks at once. Whoever takes the processor meanwhile makes it
 *     longer.
 *  2. Then it opens a file, and writes its block of an array of EDGE^3 doubles there, through a view.
 *     `iwrite`: the step begins MPI_File_iwrite_all, and completes it and closes the file when the next one
 *     has computed; two blocks of memory take turns. `write`: MPI_File_write_all. `none`: nothing.
 *  3. A step's time is from its begin to the next one's, of the slowest rank. The first is not counted: it
 *     completes none before it. Nor is what the last one leaves.
 *  4. Every byte is verified, outside the timed part, and by no MPI-IO.
 *  5. A sample is a line of JSON on stdout: "call_s" is what the step took longer than its computing
 *     alone. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "program.h"

enum { most_sets = 8, most_steps = 64, num_values = 4096 };

static int rank, size;

const char* const program_name = "hakobi-bench-solver";

/* A relaxation, again and again, of what fits the processor's cache. */
static double compute(long sweeps) {
    static double values[num_values];
    long s;
    int i;
    if (values[0] == 0)
        for (i = 0; i < num_values; ++i) values[i] = 1.0 + i % 7;
    for (s = 0; s < sweeps; ++s)
        for (i = 1; i < num_values - 1; ++i)
            values[i] = 0.25 * values[i - 1] + 0.5 * values[i] + 0.25 * values[i + 1];
    return values[num_values / 2];
}

static long sweeps_of(double seconds) {
    long sweeps = 1000;
    double took = 0;
    if (seconds <= 0) return 0;
    compute(sweeps);
    for (;;) {
        double begin, mine;
        MPI_Barrier(MPI_COMM_WORLD);
        begin = MPI_Wtime();
        compute(sweeps);
        mine = MPI_Wtime() - begin;
        MPI_Allreduce(&mine, &took, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        if (took > 0.3 * seconds) return (long)((double)sweeps * seconds / took);
        sweeps = took > 0.02 * seconds ? (long)((double)sweeps * 0.5 * seconds / took) : 8 * sweeps;
    }
}

struct block {
    int sizes[3], subsizes[3], starts[3];
    long num_doubles;
    MPI_Datatype type;
};

static struct block make_block(int edge) {
    struct block block;
    int dims[3] = {0, 0, 0}, i, left = rank;
    MPI_Dims_create(size, 3, dims);
    block.num_doubles = 1;
    for (i = 0; i < 3; ++i) { /* the dimension that changes fastest is divided most */
        const int num = dims[2 - i], place = left % num;
        left /= num;
        block.sizes[i] = edge;
        block.starts[i] = (int)((long)edge * place / num);
        block.subsizes[i] = (int)((long)edge * (place + 1) / num) - block.starts[i];
        block.num_doubles *= block.subsizes[i];
    }
    MPI_Type_create_subarray(3, block.sizes, block.subsizes, block.starts, MPI_ORDER_C, MPI_DOUBLE,
                             &block.type);
    MPI_Type_commit(&block.type);
    return block;
}

static double value_at(const struct block* block, long z, long y, long x, int step) {
    return (double)((z * block->sizes[1] + y) * block->sizes[2] + x) + 0.5 * step;
}

/* Each rank another part of the file, in long accesses, which a modelled file system serves fast. */
static void check_file(const struct block* block, const char* name, int step) {
    enum { most = 1 << 20 };
    const long total = (long)block->sizes[0] * block->sizes[1] * block->sizes[2];
    const long end = total * (rank + 1) / size;
    const int file = open(name, O_RDONLY);
    double* const values = malloc(most * sizeof(double));
    long at = total * rank / size, i;
    require(file >= 0 && values != NULL, name, "cannot be read");
    while (at < end) {
        const long num = end - at < most ? end - at : most;
        const ssize_t bytes = (ssize_t)num * (ssize_t)sizeof(double);
        require(pread(file, values, (size_t)bytes, (off_t)at * (off_t)sizeof(double)) == bytes, name,
                "ends too early");
        for (i = 0; i < num; ++i) require(values[i] == (double)(at + i) + 0.5 * step, name, "a wrong value");
        at += num;
    }
    free(values);
    close(file);
}

static void fill(const struct block* block, double* data, int step) {
    long z, y, x, i = 0;
    for (z = 0; z < block->subsizes[0]; ++z)
        for (y = 0; y < block->subsizes[1]; ++y)
            for (x = 0; x < block->subsizes[2]; ++x)
                data[i++] =
                    value_at(block, block->starts[0] + z, block->starts[1] + y, block->starts[2] + x, step);
}

enum call { iwrite, write_blocking, no_call };

struct step {
    MPI_File file;
    MPI_Request request;
    double begin_s, cpu_s;
};

static void complete(struct step* step, long num_doubles) {
    MPI_Status status;
    int count = 0;
    require_mpi(MPI_Wait(&step->request, &status), "MPI_Wait");
    MPI_Get_count(&status, MPI_DOUBLE, &count);
    require(count == num_doubles, "MPI_File_iwrite_all", "moved another number of values");
    require_mpi(MPI_File_close(&step->file), "MPI_File_close");
}

/* All steps with one set of hints; the first file's name ends with 0. */
static void run(const struct block* block, const char* folder, double* const data[2], enum call call,
                int num_steps, long sweeps, double compute_s, MPI_Info info, int set) {
    struct step steps[most_steps + 1];
    char name[4096];
    int s;
    double sum = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (s = 0; s <= num_steps; ++s) {
        struct step* const now = &steps[s];
        now->begin_s = MPI_Wtime();
        now->cpu_s = cpu_s();
        if (s == num_steps) break;
        sum += compute(sweeps);
        if (call == iwrite && s > 0) complete(&steps[s - 1], block->num_doubles);
        if (call == no_call) continue;
        snprintf(name, sizeof name, "%s/step.%d", folder, s);
        require_mpi(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &now->file),
                    "MPI_File_open");
        require_mpi(MPI_File_set_view(now->file, 0, MPI_DOUBLE, block->type, "native", info),
                    "MPI_File_set_view");
        if (call == iwrite) {
            require_mpi(MPI_File_iwrite_at_all(now->file, 0, data[s % 2], (int)block->num_doubles, MPI_DOUBLE,
                                               &now->request),
                        "MPI_File_iwrite_at_all");
        } else {
            require_mpi(MPI_File_write_at_all(now->file, 0, data[s % 2], (int)block->num_doubles, MPI_DOUBLE,
                                              MPI_STATUS_IGNORE),
                        "MPI_File_write_at_all");
            require_mpi(MPI_File_close(&now->file), "MPI_File_close");
        }
    }
    if (call == iwrite) complete(&steps[num_steps - 1], block->num_doubles);
    for (s = 1; s < num_steps; ++s) {
        double mine[2] = {-steps[s].begin_s, steps[s + 1].begin_s}, last[2], cpu, all_cpu = 0;
        cpu = steps[s + 1].cpu_s - steps[s].cpu_s;
        MPI_Allreduce(mine, last, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        MPI_Reduce(&cpu, &all_cpu, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
        if (rank == 0)
            printf(
                "{\"kind\": \"sample\", \"hint_set\": %d, \"operation\": \"step\", \"time_s\": %.6f, "
                "\"call_s\": "
                "%.6f, \"cpu_s\": %.6f, \"bytes\": %lld}\n",
                set, last[0] + last[1], last[0] + last[1] - compute_s, all_cpu,
                (long long)block->sizes[0] * block->sizes[0] * block->sizes[0] * 8);
    }
    require(sum == sum, "the computation", "is not a number");
    for (s = 0; call != no_call && s < num_steps; ++s) {
        snprintf(name, sizeof name, "%s/step.%d", folder, s);
        check_file(block, name, s % 2);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) unlink(name);
    }
}

int main(int argc, char** argv) {
    const char *folder = "/dev/shm", *sets[most_sets] = {""}, *words[4];
    static const char* const usage =
        "usage: hakobi-bench-solver [--dir FOLDER] [--hints NAME=VALUE;...]... EDGE COMPUTE_MS STEPS "
        "iwrite|write|none";
    int num_sets = 0, num_words = 0, i, num_steps, edge;
    enum call call = no_call;
    double compute_s, *data[2];
    struct block block;
    long sweeps;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (i = 1; i < argc; ++i) {
        if (strcmp(argv[i], "--dir") == 0 && i + 1 < argc)
            folder = argv[++i];
        else if (strcmp(argv[i], "--hints") == 0 && i + 1 < argc && num_sets < most_sets)
            sets[num_sets++] = argv[++i];
        else if (argv[i][0] != '-' && num_words < 4)
            words[num_words++] = argv[i];
        else
            num_words = 5;
    }
    if (num_words == 4) {
        call = strcmp(words[3], "iwrite") == 0  ? iwrite
               : strcmp(words[3], "write") == 0 ? write_blocking
                                                : no_call;
        if (call == no_call && strcmp(words[3], "none") != 0) num_words = 5;
    }
    edge = num_words == 4 ? atoi(words[0]) : 0;
    num_steps = num_words == 4 ? atoi(words[2]) : 0;
    if (edge < 1 || num_steps < 2 || num_steps > most_steps ||
        (long)edge * edge * edge / size > 2000000000L) {
        if (rank == 0) fprintf(stderr, "%s\n", usage);
        MPI_Finalize();
        return 2;
    }
    compute_s = 1e-3 * atof(words[1]);
    block = make_block(edge);
    for (i = 0; i < 2; ++i) {
        data[i] = malloc((size_t)block.num_doubles * sizeof(double));
        require(data[i] != NULL, "data", "no memory");
        fill(&block, data[i], i);
    }
    sweeps = sweeps_of(compute_s);
    for (i = 0; i < (num_sets > 0 ? num_sets : 1); ++i) {
        MPI_Info info = make_info(sets[i]);
        run(&block, folder, data, call, num_steps, sweeps, compute_s, info, i);
        if (info != MPI_INFO_NULL) MPI_Info_free(&info);
    }
    for (i = 0; i < 2; ++i) free(data[i]);
    MPI_Type_free(&block.type);
    MPI_Finalize();
    return 0;
}
