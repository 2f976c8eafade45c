/* The field store in C: the calls of hakobi/store.hpp, with int codes for exceptions. C99 and C++. Does not use MPI.
 *
 *     hakobi_store* store; hakobi_listing* fields;
 *     hakobi_store_open("forecast", "schema=weather", &store);
 *     hakobi_store_archive(store, "class=od,…,step=24,param=t", values, num_bytes, "float64[180,360]");
 *     hakobi_store_flush(store);
 *     hakobi_store_list(store, "param=t,step=0/to/24/by/6", 0, &fields);
 *     hakobi_store_read(store, fields, index, 0, values, num_bytes);
 *     hakobi_listing_free(fields); hakobi_store_close(store); hakobi_store_free(store);
 *
 * Errors are reported as in hakobi.h: codes, and hakobi_error_text. Texts are UTF-8 and end with a 0 byte. All calls are
 * local. A store may be used from several threads, a listing from one thread at a time. */
#ifndef HAKOBI_STORE_H
#define HAKOBI_STORE_H

#include <hakobi.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hakobi_store hakobi_store;
typedef struct hakobi_listing hakobi_listing;

/* Opens or makes a store. `options` (or NULL): "name=value,name=value" with the names of hakobi::StoreOptions: schema, writer,
 * asynchronous, num_buffers, buffer_bytes, num_threads, pad_bytes, sync, sync_directory, huge_pages, direct; booleans as 1
 * or 0. */
HAKOBI_API int hakobi_store_open(const char* path, const char* options, hakobi_store** store);
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

/* Flags of hakobi_store_list. */
enum {
    HAKOBI_STORE_FILE_ORDER = 1,    /* in the order of the data files, not by key */
    HAKOBI_STORE_WITH_REPLACED = 2, /* include fields that a later flush replaced */
    HAKOBI_STORE_LENIENT = 4        /* a value that no field has selects nothing instead of being an error */
};
/* The fields that a request selects (NULL or "": all). */
HAKOBI_API int hakobi_store_list(hakobi_store* store, const char* request, int flags,
                                 hakobi_listing** listing);
HAKOBI_API void hakobi_listing_free(hakobi_listing* listing);
HAKOBI_API int64_t hakobi_listing_size(const hakobi_listing* listing);

/* A field of a listing. The texts are valid until the next call on the listing. */
typedef struct hakobi_field_info {
    const char* key;  /* "class=od,…,number=,param=130": as a request it selects this field alone */
    const char* form; /* as given to archive, or "" */
    const char* file; /* path of the data file */
    int64_t offset_bytes, length_bytes;
    uint64_t checksum;  /* XXH3, 64 bits */
    int64_t flushed_ns; /* since 1970 */
    int is_replaced;
    int64_t reserved[4];
} hakobi_field_info;
HAKOBI_API int hakobi_listing_get(hakobi_listing* listing, int64_t index, hakobi_field_info* info);

/* The keywords of the listing's fields, "class,expver,…", in the schema's order. Valid until the next call on the listing. */
HAKOBI_API int hakobi_listing_keywords(hakobi_listing* listing, const char** keywords);
/* The values of one keyword: codes[i] is the index of field i's value among the *num_values distinct ones, sorted in the
 * keyword's order. hakobi_listing_value returns these until the next call of this function. */
HAKOBI_API int hakobi_listing_column(hakobi_listing* listing, const char* keyword, int32_t* codes,
                                     int64_t* num_values);
HAKOBI_API const char* hakobi_listing_value(const hakobi_listing* listing, int64_t number);

/* Passes every field of the listing to `receive`, in the listing's order, on this thread; verifies checksums. */
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
/* The values of a GRIB message: sets *num_values to their number, and copies at most `room` of them to `values`. */
HAKOBI_API int hakobi_grib_values(const void* message, int64_t num_bytes, double* values, int64_t room,
                                  int64_t* num_values);
/* The same of any key of ecCodes that has several numbers ("latitudes"). */
HAKOBI_API int hakobi_grib_array(const void* message, int64_t num_bytes, const char* name, double* values,
                                 int64_t room, int64_t* num_values);
/* Texts that ecCodes has of a GRIB message under keys "name,units,…": sets *texts to lines, one a key, empty where the
 * message has it not. Yours until the thread's next call. */
HAKOBI_API int hakobi_grib_texts(const void* message, int64_t num_bytes, const char* names,
                                 const char** texts);
/* The short name of a parameter's number ("130" is "t"), or NULL. */
HAKOBI_API const char* hakobi_store_param_name(const char* number);

#ifdef __cplusplus
}
#endif

#endif
