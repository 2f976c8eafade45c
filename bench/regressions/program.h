/* The common part of programs of MPI-IO calls that know nothing of Hakobi. */
#ifndef HAKOBI_BENCH_PROGRAM_H
#define HAKOBI_BENCH_PROGRAM_H

#include <mpi.h>

/* Named in messages; each program has its own. */
extern const char* const program_name;

/* Ends the program, with a line that says what went wrong, unless it holds. */
void require(int holds, const char* what, const char* why);
void require_mpi(int error, const char* what);
/* Processor time of this rank. */
double cpu_s(void);
/* The info for "name=value;name=value"; MPI_INFO_NULL where there is nothing. */
MPI_Info make_info(const char* hints);

#endif
