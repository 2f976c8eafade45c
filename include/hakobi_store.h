/* The field store in C: the calls of hakobi/store.hpp, with int codes for exceptions. C99 and C++. No MPI in it.
 *
 *     hakobi_store* store; hakobi_listing* fields;
 *     hakobi_store_open("forecast", "schema=weather", &store);
 *     hakobi_store_archive(store, "class=od,…,step=24,param=t", values, num_bytes, "float64[180,360]");
 *     hakobi_store_flush(store);
 *     hakobi_store_list(store, "param=t,step=0/to/24/by/6", 0, &fields);
 *     hakobi_store_read(store, fields, index, 0, values, num_bytes);
 *     hakobi_listing_free(fields); hakobi_store_close(store); hakobi_store_free(store);
 *
 * Errors are those of hakobi.h: codes, and hakobi_error_text. Texts are UTF-8, ended by 0. Every call is local to its process;
 * calls on one store may come from any thread, those on one listing from one at a time. */
#ifndef HAKOBI_STORE_H
#define HAKOBI_STORE_H

#include <hakobi.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hakobi_store hakobi_store;
typedef struct hakobi_listing hakobi_listing;

/* Opens or makes a store. `options` (or NULL): "name=value,name=value" with the names of hakobi::StoreOptions: schema, writer,
 * asynchronous, num_buffers, buffer_bytes, num_threads, pad_bytes, sync, sync_directory, huge_pages, direct; yes and no as 1
 * and 0. */
HAKOBI_API int hakobi_store_open(const char* path, const char* options, hakobi_store** store);
/* Takes a field: `key` is "keyword=value,…", `form` (or NULL) says what the bytes are. It is in nobody's list before flush. */
HAKOBI_API int hakobi_store_archive(hakobi_store* store, const char* key, const void* bytes,
                                    int64_t num_bytes, const char* form);
/* Takes one GRIB message by the MARS keywords that it has; its form is "grib". */
HAKOBI_API int hakobi_store_archive_grib(hakobi_store* store, const void* message, int64_t num_bytes);
/* Makes everything archived durable and visible. */
HAKOBI_API int hakobi_store_flush(hakobi_store* store);
/* Drops what was not flushed and closes the writer; reading goes on. */
HAKOBI_API int hakobi_store_close(hakobi_store* store);
HAKOBI_API void hakobi_store_free(hakobi_store* store);

/* How hakobi_store_list works: the sum of these. */
enum {
    HAKOBI_STORE_FILE_ORDER = 1,    /* as the fields lie in the files, not by key */
    HAKOBI_STORE_WITH_REPLACED = 2, /* also fields that a later flush replaced */
    HAKOBI_STORE_LENIENT = 4        /* a value that no field has selects nothing, and is no error */
};
/* The fields that a request selects (NULL or "": all). */
HAKOBI_API int hakobi_store_list(hakobi_store* store, const char* request, int flags,
                                 hakobi_listing** listing);
HAKOBI_API void hakobi_listing_free(hakobi_listing* listing);
HAKOBI_API int64_t hakobi_listing_size(const hakobi_listing* listing);

/* A field of a listing. The texts are valid until the listing's next call. */
typedef struct hakobi_field_info {
    const char* key;  /* "class=od,…,param=130" */
    const char* form; /* as archive was told, or "" */
    const char* file; /* path of the data file */
    int64_t offset_bytes, length_bytes;
    uint64_t checksum;  /* XXH3, 64 bits */
    int64_t flushed_ns; /* since 1970 */
    int is_replaced;
    int64_t reserved[4];
} hakobi_field_info;
HAKOBI_API int hakobi_listing_get(hakobi_listing* listing, int64_t index, hakobi_field_info* info);

/* The keywords that fields of the listing have, "class,expver,…", in the schema's order. Valid until the listing's next call. */
HAKOBI_API int hakobi_listing_keywords(hakobi_listing* listing, const char** keywords);
/* One keyword's values of all fields: codes[i] is the number of field i's value among *num_values different ones, which
 * hakobi_listing_value gives until the next call of this one. They are in the keyword's own order. */
HAKOBI_API int hakobi_listing_column(hakobi_listing* listing, const char* keyword, int32_t* codes,
                                     int64_t* num_values);
HAKOBI_API const char* hakobi_listing_value(const hakobi_listing* listing, int64_t number);

/* Hands every field of the listing to `receive`, in the listing's order, on this thread; checksums are verified. */
HAKOBI_API int hakobi_store_retrieve(hakobi_store* store, const hakobi_listing* listing,
                                     void (*receive)(void* context, int64_t index, const void* bytes,
                                                     int64_t num_bytes),
                                     void* context);
/* The one field with this key, into `bytes`, which are as many as it has; invalid_argument where it has another number. */
HAKOBI_API int hakobi_store_retrieve_one(hakobi_store* store, const char* key, void* bytes,
                                         int64_t num_bytes);
/* Part of a field: `num_bytes` from `offset_bytes` of the field on, into `bytes`. */
HAKOBI_API int hakobi_store_read(hakobi_store* store, hakobi_listing* listing, int64_t index,
                                 int64_t offset_bytes, void* bytes, int64_t num_bytes);
/* The values of a GRIB message: their number in *num_values; as many of them as fit in `values`, which has room for `room`. */
HAKOBI_API int hakobi_grib_values(const void* message, int64_t num_bytes, double* values, int64_t room,
                                  int64_t* num_values);
/* The short name of a parameter's number ("130" is "t"), or NULL. */
HAKOBI_API const char* hakobi_store_param_name(const char* number);

#ifdef __cplusplus
}
#endif

#endif
