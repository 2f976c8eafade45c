#include <hakobi/buffer_array.hpp>
#include <memory>
#include <string>

#include "base/guard.hpp"
#include "capi/guard.hpp"
#include "capi/handles.hpp"
#include "capi/options.hpp"
#include "capi/sized.hpp"
#include "mpi/agree.hpp"

using hakobi::Error;
using hakobi::ErrorCode;
using hakobi::capi::guarded;
using hakobi::capi::text_or;

struct hakobi_buffer_arrays {
    hakobi::BufferArrays arrays;
    int num_ranks = 0;
};

struct hakobi_buffer_array {
    hakobi::BufferArray list;
};

namespace {

/// The list, if there is one.
hakobi::BufferArray& of(hakobi_buffer_array* list) {
    if (list == nullptr) throw Error(ErrorCode::invalid_argument, "BufferArray: list is NULL");
    return list->list;
}

}  // namespace

int hakobi_buffer_arrays_get(hakobi_comm* comm, const hakobi_buffer_arrays_options* options,
                             hakobi_buffer_arrays** arrays) {
    return guarded([&] {
        if (arrays != nullptr) *arrays = nullptr;
        if (comm == nullptr)
            throw Error(ErrorCode::invalid_argument, "hakobi_buffer_arrays_get: comm is NULL");
        hakobi::Status local;
        if (arrays == nullptr)
            local = {ErrorCode::invalid_argument, "hakobi_buffer_arrays_get: arrays is NULL"};
        hakobi::BufferArrayOptions made;
        local.keep_first(hakobi::guarded("hakobi_buffer_arrays_get", [&] {
            const auto from = hakobi::capi::taken(options, "hakobi_buffer_arrays_options");
            made.path = text_or(from.path, "auto");
            if (from.pack_bytes != 0) made.pack_bytes = from.pack_bytes;
        }));
        hakobi::mpi::agree_or_throw(comm->comm, local);
        *arrays = new hakobi_buffer_arrays{hakobi::BufferArrays::get(comm->comm, made), comm->comm.size()};
    });
}

const char* hakobi_buffer_arrays_path_to(const hakobi_buffer_arrays* arrays, int rank) {
    if (arrays == nullptr || rank < 0 || rank >= arrays->num_ranks) return nullptr;
    return arrays->arrays.path_to(rank).data();  // of a literal: ends with 0
}

void hakobi_buffer_arrays_free(hakobi_buffer_arrays* arrays) {
    delete arrays;
}

int hakobi_buffer_array_make(const hakobi_buffer_arrays* arrays, hakobi_buffer_array** list) {
    return guarded([&] {
        if (arrays == nullptr || list == nullptr)
            throw Error(ErrorCode::invalid_argument, "hakobi_buffer_array_make: arrays or list is NULL");
        *list = new hakobi_buffer_array{arrays->arrays.make()};
    });
}

int hakobi_buffer_array_append(hakobi_buffer_array* list, void* data, int64_t bytes) {
    return guarded([&] { of(list).append(data, bytes); });
}

int hakobi_buffer_array_append_memory(hakobi_buffer_array* list, void* data, int64_t bytes, int memory) {
    return guarded([&] { of(list).append(data, bytes, hakobi::capi::memory_called(memory)); });
}

int hakobi_buffer_array_release(hakobi_buffer_array* list) {
    return guarded([&] { of(list).release(); });
}

int64_t hakobi_buffer_array_bytes(const hakobi_buffer_array* list) {
    return list != nullptr ? list->list.bytes() : 0;
}

int hakobi_buffer_array_send(hakobi_buffer_array* list, int to, int tag) {
    return guarded([&] { of(list).send(to, tag); });
}

int hakobi_buffer_array_receive(hakobi_buffer_array* list, int from, int tag) {
    return guarded([&] { of(list).receive(from, tag); });
}

int hakobi_buffer_array_done(hakobi_buffer_array* list, int* is_done) {
    return guarded([&] {
        if (is_done == nullptr)
            throw Error(ErrorCode::invalid_argument, "hakobi_buffer_array_done: is_done is NULL");
        *is_done = 1;  // also where it ended with an error
        *is_done = static_cast<int>(of(list).done());
    });
}

int hakobi_buffer_array_wait(hakobi_buffer_array* list) {
    return guarded([&] { of(list).wait(); });
}

int hakobi_buffer_array_send_on(hakobi_buffer_array* list, int to, int tag, void* stream) {
    return guarded([&] { of(list).send(to, tag, stream); });
}

int hakobi_buffer_array_receive_on(hakobi_buffer_array* list, int from, int tag, void* stream) {
    return guarded([&] { of(list).receive(from, tag, stream); });
}

int hakobi_buffer_array_wait_on(hakobi_buffer_array* list, void* stream) {
    return guarded([&] { of(list).wait(stream); });
}

void hakobi_buffer_array_free(hakobi_buffer_array* list) {
    delete list;
}
