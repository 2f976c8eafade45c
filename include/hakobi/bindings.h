/* The part of the C interface that bindings to other languages need besides hakobi.h and hakobi_store.h:
 * Hakobi's own for Fortran and Python, and anybody's. Programs in C have no use for it.
 *
 * A binding checks arguments that C cannot see (an array's shape, its type) before it calls, and must not
 * leave the other ranks waiting when it refuses one on this rank: a call below then takes the place of the
 * one that is not made, and all ranks get invalid_argument with `text`. */
#ifndef HAKOBI_BINDINGS_H
#define HAKOBI_BINDINGS_H

#include <hakobi_store.h>

#ifdef __cplusplus
extern "C" {
#endif

/* In the place of a call that makes an object (hakobi_output_create, hakobi_input_open, hakobi_halo_plan,
 * ...). Collective over `comm` with the other ranks' call; never returns HAKOBI_OK. */
HAKOBI_API int hakobi_comm_refuse(hakobi_comm* comm, const char* text);
/* In the place of hakobi_output_define. Collective with the other ranks' call; never returns HAKOBI_OK. */
HAKOBI_API int hakobi_output_refuse_define(hakobi_output* out, const char* text);
/* In the place of a put of any kind. Local: hakobi_output_end_step reports `text` on every rank. */
HAKOBI_API int hakobi_output_refuse(hakobi_output* out, const char* text);
/* In the place of hakobi_outputs_add. Collective with the other ranks' call; never returns HAKOBI_OK. */
HAKOBI_API int hakobi_outputs_refuse_add(hakobi_outputs* outs, const char* text);
/* In the place of hakobi_outputs_put. Local: every output's next step reports `text` on every rank. */
HAKOBI_API int hakobi_outputs_refuse(hakobi_outputs* outs, const char* text);
/* In the place of hakobi_input_read. Collective. */
HAKOBI_API int hakobi_input_refuse(hakobi_input* in, const char* text);
/* In the place of a local call. Local: HAKOBI_INVALID_ARGUMENT, and `text` is hakobi_error_text's. */
HAKOBI_API int hakobi_refuse(const char* text);

/* For programs without an MPI binding: MPI_Init_thread(FUNNELED) unless MPI is initialised, and MPI_Finalize
 * if this library initialised MPI and it is not finalised. Collective over MPI_COMM_WORLD. */
HAKOBI_API int hakobi_mpi_init_if_needed(void);
HAKOBI_API int hakobi_mpi_finalize_if_ours(void);
/* Duplicates MPI_COMM_WORLD. Collective over it. */
HAKOBI_API int hakobi_comm_duplicate_world(hakobi_comm** comm);

/* This machine's GPUs for people ("CUDA device 0 (NVIDIA H100 80GB HBM3)"), and why a driver that is there
 * gives none ("CUDA 10.1: 11.2 is needed"): number `index` from 0, NULL after the last one. They load the
 * drivers. Local; valid until the process ends. */
HAKOBI_API const char* hakobi_device_text(int index);
HAKOBI_API const char* hakobi_device_refused(int index);
/* HAKOBI_YES if the MPI library sends from and receives into memory of GPU number `index` (HAKOBI_GPU_AWARE,
 * or what it says itself); HAKOBI_NO if not, and if there is no such GPU. Local; after MPI_Init. */
HAKOBI_API int hakobi_mpi_takes_device_memory(int index);

/* The values of one keyword: codes[i] is the index of field i's value among the *num_values distinct ones,
 * sorted in the keyword's order. hakobi_listing_value returns these until the next call of this function.
 * Local. */
HAKOBI_API int hakobi_listing_column(hakobi_listing* listing, const char* keyword, int32_t* codes,
                                     int64_t* num_values);
HAKOBI_API const char* hakobi_listing_value(const hakobi_listing* listing, int64_t number);
/* Texts that ecCodes has of a GRIB message under keys "name,units,…": sets *texts to lines, one a key, empty
 * where the message has it not. Yours until the thread's next call. */
HAKOBI_API int hakobi_grib_texts(const void* message, int64_t num_bytes, const char* names,
                                 const char** texts);
/* The short name of a parameter's number ("130" is "t"), or NULL. */
HAKOBI_API const char* hakobi_store_param_name(const char* number);

#ifdef __cplusplus
}
#endif

#endif
