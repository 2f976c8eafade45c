#pragma once

#include <cstddef>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "base/status.hpp"

/// ecCodes' own names, declared as its eccodes.h does; eccodes_test.cpp holds them against that header.
struct grib_handle;
struct grib_context;
struct grib_keys_iterator;

namespace hakobi::format::grib {

/// ECMWF's ecCodes, loaded when a GRIB message first needs it: a program that never meets one does not need
/// the library, and libhakobi does not depend on it. The file is the one that $HAKOBI_ECCODES names; without
/// that variable libeccodes.so.0, else libeccodes.so, as the system's loader finds them.
///
/// ecCodes is not safe in threads unless it is built so, which Debian's is not: whoever calls a function
/// below holds `mutex`.
struct Eccodes {
    std::mutex mutex;

    grib_handle* (*new_from_message)(grib_context*, const void*, std::size_t) = nullptr;
    grib_handle* (*new_from_message_copy)(grib_context*, const void*, std::size_t) = nullptr;
    grib_handle* (*new_from_samples)(grib_context*, const char*) = nullptr;
    int (*delete_handle)(grib_handle*) = nullptr;
    int (*get_message)(const grib_handle*, const void**, std::size_t*) = nullptr;
    int (*get_string)(const grib_handle*, const char*, char*, std::size_t*) = nullptr;
    int (*get_long)(const grib_handle*, const char*, long*) = nullptr;
    int (*get_size)(const grib_handle*, const char*, std::size_t*) = nullptr;
    int (*get_long_array)(const grib_handle*, const char*, long*, std::size_t*) = nullptr;
    int (*get_double_array)(const grib_handle*, const char*, double*, std::size_t*) = nullptr;
    int (*set_long)(grib_handle*, const char*, long) = nullptr;
    int (*set_double)(grib_handle*, const char*, double) = nullptr;
    int (*set_string)(grib_handle*, const char*, const char*, std::size_t*) = nullptr;
    int (*set_long_array)(grib_handle*, const char*, const long*, std::size_t) = nullptr;
    int (*set_double_array)(grib_handle*, const char*, const double*, std::size_t) = nullptr;
    const char* (*error_message)(int) = nullptr;
    grib_keys_iterator* (*new_iterator)(grib_handle*, unsigned long, const char*) = nullptr;
    int (*next)(grib_keys_iterator*) = nullptr;
    const char* (*name)(const grib_keys_iterator*) = nullptr;
    int (*delete_iterator)(grib_keys_iterator*) = nullptr;
    long (*api_version)() = nullptr;

    /// The one library of this process, loaded by the first call; unsupported, saying how to get it, where it
    /// is not found, the same in every later call. Thread-safe.
    static Result<Eccodes*> get();
    /// "what: ecCodes' text for the code", as `code` where that is an error.
    [[nodiscard]] Status status(int error, const std::string& what, ErrorCode code) const;

  private:
    Status load();
};

/// A handle of ecCodes that deletes itself; the caller holds the mutex then too.
class Handle {
  public:
    Handle(Eccodes& eccodes, grib_handle* handle) : eccodes_(&eccodes), handle_(handle) {}
    ~Handle() {
        if (handle_ != nullptr) eccodes_->delete_handle(handle_);
    }
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;
    [[nodiscard]] grib_handle* get() const { return handle_; }
    /// The key as ecCodes prints it; nothing where the message has no such key.
    [[nodiscard]] std::optional<std::string> text(const char* key) const;
    /// The same as a whole number; nothing where the message says that its value is missing, too.
    [[nodiscard]] std::optional<long> number(const char* key) const;

  private:
    Eccodes* eccodes_;
    grib_handle* handle_;
};

}  // namespace hakobi::format::grib
