#pragma once

#include "mpiio/front_library.h"

// Counts and times the program's calls of MPI-IO, whoever carries them out, where HAKOBI_WATCH names a folder
// (`hakobi assess`). Each process that has initialised MPI leaves a file <host>-<pid> there when it ends, of
// lines
//
//     call <name after MPI_> <calls> <bytes asked for> <nanoseconds in them>
//     file <path>            of files that were opened, at most 256
//     more <opens>           of further ones
//     io <bytes read> <bytes written> <1 where UCX is in it, which fills its shared memory by writing>
//                            by system calls of the whole process
//
// and last "end". A call within a call (a library's own, a tool's) belongs to the outer one.

enum front_index {
#define HAKOBI_FILE_FUNCTION(name) index_##name,
#define HAKOBI_FILE_FUNCTION_C(name) index_##name, index_##name##_c,
#include "mpiio/functions.def"
    num_functions
};

extern const char* const front_names[num_functions];  // after "MPI_"

extern int front_is_watching;

// Makes the call and counts it.
word front_watched(const struct front_library* library, int index, function target, word a, word b, word c,
                   word d, word e, word f);
