#include "request.h"

#include <stdlib.h>
#include <string.h>

const char* const usage_text =
    "shapes (numbers are the same on all ranks; bytes where nothing else is said):\n"
    "  block EDGE DIMENSIONS ELEMENT GHOST  a block a rank of an array of EDGE^DIMENSIONS elements without "
    "its GHOST outermost\n"
    "  pieces COUNT LENGTH STRIDE           COUNT pieces a rank, dealt in turn, STRIDE from one rank's piece "
    "to the next's\n"
    "  one COUNT LENGTH STRIDE              rank 0's alone; the others have nothing\n"
    "  gaps COUNT LENGTH STRIDE             one piece a rank, its COUNT parts of LENGTH lie STRIDE apart in "
    "memory\n"
    "  calls COUNT LENGTH                   COUNT collective calls, in each a piece of LENGTH a rank, dealt "
    "in turn\n"
    "  segments COUNT LENGTH                the same, each rank's pieces one behind the other\n"
    "  independent COUNT LENGTH             the same by independent calls\n"
    "  plain COUNT LENGTH                   the same by pwrite and pread: what storage takes without MPI-IO\n"
    "  opens COUNT LENGTH                   COUNT times: open, a collective call of LENGTH a rank, close\n";

enum { most_dims = 4 };

static void set_block(struct request* r, int edge, int num_dims, int element, int ghost, int rank, int size) {
    int grid[most_dims] = {0}, whole[most_dims], part[most_dims], first[most_dims];
    MPI_Dims_create(size, num_dims, grid);
    int rest = rank;
    long long rows = 1, row_bytes = 0;
    r->file_bytes = element;
    for (int d = num_dims; d-- > 0;) {
        const int place = rest % grid[d], inner = edge - 2 * ghost;
        rest /= grid[d];
        whole[d] = edge;
        first[d] = ghost + (int)((long long)inner * place / grid[d]);
        part[d] = ghost + (int)((long long)inner * (place + 1) / grid[d]) - first[d];
        if (d == num_dims - 1)
            row_bytes = (long long)part[d] * element;
        else
            rows *= part[d];
        r->file_bytes *= edge;
    }
    r->holes = ghost > 0 ? filled_holes : no_holes;
    r->num_pieces = (int)rows;
    r->pieces = malloc((size_t)rows * sizeof *r->pieces);
    for (long long row = 0; r->pieces != NULL && row < rows; ++row) {
        long long index = row, offset = first[num_dims - 1], stride = edge;
        for (int d = num_dims - 1; d-- > 0;) {
            offset += (first[d] + index % part[d]) * stride;
            index /= part[d];
            stride *= edge;
        }
        r->pieces[row] = (struct piece){offset * element, row_bytes};
    }
    MPI_Datatype site = MPI_DOUBLE;
    if (element != 8) MPI_Type_contiguous(element, MPI_BYTE, &site);
    MPI_Type_create_subarray(num_dims, whole, part, first, MPI_ORDER_C, site, &r->file_type);
    if (element != 8) MPI_Type_free(&site);
}

/* Piece i is at first + i * distance. */
static void set_pieces(struct request* r, int count, int length, long long first, long long distance) {
    r->num_pieces = count;
    r->pieces = malloc(((size_t)count + 1) * sizeof *r->pieces);
    for (int i = 0; r->pieces != NULL && i < count; ++i)
        r->pieces[i] = (struct piece){first + i * distance, length};
}

static void set_dealt(struct request* r, int count, int length, long long first, long long distance) {
    set_pieces(r, count, length, first, distance);
    MPI_Datatype piece;
    MPI_Type_contiguous(length, MPI_BYTE, &piece);
    MPI_Type_create_resized(piece, 0, (MPI_Aint)distance, &r->file_type);
    MPI_Type_free(&piece);
    r->displacement = first;
}

static void set_gaps(struct request* r, int count, int length, int stride) {
    r->memory_piece = length;
    r->memory_stride = stride;
    MPI_Datatype part;
    MPI_Type_contiguous(length, MPI_BYTE, &part);
    MPI_Type_create_resized(part, 0, stride, &r->memory_type);
    MPI_Type_free(&part);
    MPI_Type_commit(&r->memory_type);
    r->count = count;
}

static enum holes holes_of(const long long* n) {
    const long long least_far = 64 << 10;
    return n[2] == n[1] ? no_holes : n[2] - n[1] >= least_far ? empty_holes : filled_holes;
}

const char* make_request(struct request* r, const char* shape, int num_numbers, const long long* n) {
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    *r = (struct request){.file_type = MPI_DATATYPE_NULL, .memory_type = MPI_BYTE};
    const int is_block = strcmp(shape, "block") == 0, is_one = strcmp(shape, "one") == 0;
    const int is_gaps = strcmp(shape, "gaps") == 0, is_pieces = strcmp(shape, "pieces") == 0;
    const int is_strided = is_one || is_gaps || is_pieces;
    for (int i = 0; i < num_numbers; ++i)
        if (n[i] < 0 || n[i] > (1 << 30)) return "a number is out of range";
    if (num_numbers != (is_block ? 4 : is_strided ? 3 : 2)) return "another number of numbers is needed";
    if (is_block) {
        if (n[1] < 2 || n[1] > most_dims || n[2] < 1 || n[0] <= 2 * n[3])
            return "EDGE DIMENSIONS (2 to 4) ELEMENT GHOST";
        set_block(r, (int)n[0], (int)n[1], (int)n[2], (int)n[3], rank, size);
    } else if (n[0] < 1 || n[1] < 1 || (is_strided && n[2] < n[1])) {
        return "COUNT and LENGTH are at least 1, STRIDE at least LENGTH";
    } else if (is_pieces) {
        r->holes = holes_of(n);
        r->file_bytes = ((n[0] - 1) * size + size - 1) * n[2] + n[1];
        set_dealt(r, (int)n[0], (int)n[1], rank * n[2], n[2] * size);
    } else if (is_one) {
        r->holes = holes_of(n);
        r->file_bytes = (n[0] - 1) * n[2] + n[1];
        set_dealt(r, rank == 0 ? (int)n[0] : 0, (int)n[1], 0, n[2]);
    } else if (is_gaps) {
        r->file_bytes = n[0] * n[1] * size;
        set_dealt(r, 1, (int)(n[0] * n[1]), rank * n[0] * n[1], r->file_bytes);
        set_gaps(r, (int)n[0], (int)n[1], (int)n[2]);
    } else {
        const int is_calls = strcmp(shape, "calls") == 0, is_opens = strcmp(shape, "opens") == 0;
        r->is_independent = strcmp(shape, "independent") == 0;
        r->is_plain = strcmp(shape, "plain") == 0;
        if (!is_calls && !is_opens && !r->is_independent && !r->is_plain && strcmp(shape, "segments") != 0)
            return "no such shape";
        r->mode = is_opens ? many_opens : many_calls;
        r->file_bytes = (is_opens ? 1 : n[0]) * n[1] * size;
        if (is_opens)
            set_pieces(r, 1, (int)n[1], rank * n[1], 0);
        else if (is_calls)
            set_pieces(r, (int)n[0], (int)n[1], rank * n[1], n[1] * size);
        else
            set_pieces(r, (int)n[0], (int)n[1], rank * n[0] * n[1], n[1]);
        if (is_opens) r->count = (int)n[0];
    }
    if (r->pieces == NULL) return "no memory for the pieces";
    if (r->file_type != MPI_DATATYPE_NULL) MPI_Type_commit(&r->file_type);
    for (int i = 0; i < r->num_pieces; ++i) r->bytes += r->pieces[i].bytes;
    if (r->mode == through_view && r->memory_stride == 0) {
        if (r->bytes > (1 << 30)) return "more than 1 GiB a rank";
        r->count = (int)r->bytes;
    }
    if (r->memory_stride == 0) r->memory_piece = r->memory_stride = 1;
    return NULL;
}

void free_request(struct request* r) {
    if (r->file_type != MPI_DATATYPE_NULL) MPI_Type_free(&r->file_type);
    if (r->memory_type != MPI_BYTE) MPI_Type_free(&r->memory_type);
    free(r->pieces);
}
