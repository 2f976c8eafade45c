/* The field store in C: the calls of hakobi/store.hpp, with int codes for exceptions. C99 and C++. Does not
 * use MPI.
 *
 *     hakobi_store* store; hakobi_listing* fields;
 *     hakobi_store_open("forecast", &(hakobi_store_options){.struct_size = sizeof(hakobi_store_options),
 *                                                           .schema = "weather"}, &store);
 *     hakobi_store_archive(store, "class=od,…,step=24,param=t", values, num_bytes, "float64[180,360]");
 *     hakobi_store_flush(store);
 *     hakobi_store_list(store, "param=t,step=0/to/24/by/6", NULL, &fields);
 *     hakobi_store_read(store, fields, index, 0, values, num_bytes);
 *     hakobi_listing_free(fields); hakobi_store_close(store); hakobi_store_free(store);
 *
 * Errors are reported as in hakobi.h: codes, and hakobi_error_text. Texts are UTF-8 and end with a 0 byte.
 * All calls are local. A store may be used from several threads, a listing from one thread at a time. */
#ifndef HAKOBI_STORE_H
#define HAKOBI_STORE_H

#include <hakobi.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hakobi_store hakobi_store;
typedef struct hakobi_listing hakobi_listing;

/* Options of hakobi_store_open (hakobi::StoreOptions, which says more of each). */
typedef struct hakobi_store_options {
    size_t struct_size;
    const char*
        schema; /* of a new store: "weather", "grib", "flow", "lattice", or a file's path; NULL: the store must exist */
    const char* writer;   /* part of its files' names; NULL: made from host and process */
    int num_buffers;      /* 0: 4 */
    int64_t buffer_bytes; /* 0: 64 MiB */
    int64_t pad_bytes;    /* fields begin at multiples of this; 0: no padding */
    int num_threads;      /* 0: 4 */
    int asynchronous;     /* 0: yes */
    int sync;             /* 0: yes */
    int sync_directory;   /* 0: yes */
    int huge_pages;       /* 0: no */
    int direct;           /* 0: no */
} hakobi_store_options;

/* Opens or makes a store. */
HAKOBI_API int hakobi_store_open(const char* path, const hakobi_store_options* options, hakobi_store** store);
/* Adds a field; flush makes it visible. `key` is "keyword=value,…"; `form` (or NULL) describes the bytes. */
HAKOBI_API int hakobi_store_archive(hakobi_store* store, const char* key, const void* bytes,
                                    int64_t num_bytes, const char* form);
/* Adds each field of a GRIB message under its own keywords, with form "grib". */
HAKOBI_API int hakobi_store_archive_grib(hakobi_store* store, const void* message, int64_t num_bytes);
/* Makes everything archived durable and visible. */
HAKOBI_API int hakobi_store_flush(hakobi_store* store);
/* Discards unflushed fields and ends writing; reading stays possible. */
HAKOBI_API int hakobi_store_close(hakobi_store* store);
HAKOBI_API void hakobi_store_free(hakobi_store* store);

/* The order of a listing: by key, or in the order of the data files (hakobi::FieldOrder). */
enum { HAKOBI_ORDER_KEY = 0, HAKOBI_ORDER_FILE = 1 };
/* Options of hakobi_store_list (hakobi::Selection). */
typedef struct hakobi_selection {
    size_t struct_size;
    int order;         /* HAKOBI_ORDER_KEY, HAKOBI_ORDER_FILE */
    int with_replaced; /* HAKOBI_YES: include fields that a later flush replaced; 0: no */
    int64_t is_strict; /* HAKOBI_NO: a value that no field has selects nothing; 0: it is an error */
} hakobi_selection;
/* The fields that a request selects (NULL or "": all). */
HAKOBI_API int hakobi_store_list(hakobi_store* store, const char* request, const hakobi_selection* selection,
                                 hakobi_listing** listing);
HAKOBI_API void hakobi_listing_free(hakobi_listing* listing);
HAKOBI_API int64_t hakobi_listing_size(const hakobi_listing* listing);

/* A field of a listing. The texts are valid until the next call on the listing. */
typedef struct hakobi_field_info {
    size_t struct_size;
    const char* key;  /* "class=od,…,number=,param=130": as a request it selects this field alone */
    const char* form; /* as given to archive, or "" */
    const char* file; /* path of the data file */
    int is_replaced;  /* 1: a later flush has a field of the same key */
    int64_t offset_bytes, length_bytes;
    uint64_t checksum;  /* XXH3, 64 bits */
    int64_t flushed_ns; /* since 1970 */
} hakobi_field_info;
HAKOBI_API int hakobi_listing_get(hakobi_listing* listing, int64_t index, hakobi_field_info* info);

/* The keywords of the listing's fields, "class,expver,…", in the schema's order. Valid until the next call on
 * the listing. */
HAKOBI_API int hakobi_listing_keywords(hakobi_listing* listing, const char** keywords);
/* Passes every field of the listing to `receive`, in the listing's order, on this thread; verifies
 * checksums. */
HAKOBI_API int hakobi_store_retrieve(hakobi_store* store, const hakobi_listing* listing,
                                     void (*receive)(void* context, int64_t index, const void* bytes,
                                                     int64_t num_bytes),
                                     void* context);
/* Reads the field with this key into `bytes`; invalid_argument if its size is not `num_bytes`. */
HAKOBI_API int hakobi_store_retrieve_one(hakobi_store* store, const char* key, void* bytes,
                                         int64_t num_bytes);
/* Reads part of a field, `num_bytes` from `offset_bytes`, into `bytes`. */
HAKOBI_API int hakobi_store_read(hakobi_store* store, hakobi_listing* listing, int64_t index,
                                 int64_t offset_bytes, void* bytes, int64_t num_bytes);
/* The values of a GRIB message: sets *num_values to their number, and copies at most `room` of them to
 * `values`. */
HAKOBI_API int hakobi_grib_values(const void* message, int64_t num_bytes, double* values, int64_t room,
                                  int64_t* num_values);
/* The same of any key of ecCodes that has several numbers ("latitudes"). */
HAKOBI_API int hakobi_grib_array(const void* message, int64_t num_bytes, const char* name, double* values,
                                 int64_t room, int64_t* num_values);

#ifdef __cplusplus
}
#endif

#endif
