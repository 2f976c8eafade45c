#pragma once

#include <hdf5.h>

#include <string>
#include <utility>

#include "format/step.hpp"

// Definitions that the formats' HDF5 calls share; for .cpp files.

namespace hakobi::format {

/// HDF5 prints its error stack by default; ours goes into the Status.
class QuietErrors {
  public:
    QuietErrors() {
        H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
        H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    }
    ~QuietErrors() { H5Eset_auto2(H5E_DEFAULT, function_, data_); }
    QuietErrors(const QuietErrors&) = delete;
    QuietErrors& operator=(const QuietErrors&) = delete;

    /// The innermost description on the stack.
    [[nodiscard]] static std::string text() {
        std::string text;
        const auto take = [](unsigned, const H5E_error2_t* error, void* out) -> herr_t {
            if (error->desc != nullptr) *static_cast<std::string*>(out) = error->desc;
            return 0;
        };
        H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take, &text);
        return text;
    }

  private:
    H5E_auto2_t function_ = nullptr;
    void* data_ = nullptr;
};

/// Thrown inside src/format only, where an HDF5 call fails; keeps HDF5's text, which its next call forgets.
/// Or where we find what is wrong ourselves.
struct Hdf5Failure {
    std::string text;
    explicit Hdf5Failure(const char* call) : text(std::string(call) + ": " + QuietErrors::text()) {}
    explicit Hdf5Failure(std::string found) : text(std::move(found)) {}
};

template <class T>
T check(T value, const char* call) {
    if (value < 0) throw Hdf5Failure(call);
    return value;
}

/// An HDF5 identifier and the function that closes it.
class Handle {
  public:
    Handle(hid_t id, herr_t (*closer)(hid_t), const char* call) : id_(check(id, call)), closer_(closer) {}
    ~Handle() {
        if (id_ >= 0) closer_(id_);
    }
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;
    Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), closer_(other.closer_) {}
    operator hid_t() const noexcept {
        return id_;
    }  // NOLINT(google-explicit-constructor): stands for the identifier
    void close(const char* call) { check(closer_(std::exchange(id_, -1)), call); }

  private:
    hid_t id_;
    herr_t (*closer_)(hid_t);
};

/// Where a contiguous, allocated data set begins in its file.
inline std::int64_t offset_of(hid_t dataset) {
    const haddr_t offset = H5Dget_offset(dataset);
    if (offset == HADDR_UNDEF) throw Hdf5Failure("H5Dget_offset");
    return static_cast<std::int64_t>(offset);
}

inline hid_t native_type(ValueType type) {
    switch (type) {
        case ValueType::float64:
            return H5T_NATIVE_DOUBLE;
        case ValueType::float32:
            return H5T_NATIVE_FLOAT;
        case ValueType::int32:
            return H5T_NATIVE_INT32;
        case ValueType::int64:
            return H5T_NATIVE_INT64;
        case ValueType::int8:
            return H5T_NATIVE_INT8;
        case ValueType::uint8:
            return H5T_NATIVE_UINT8;
        case ValueType::int16:
            return H5T_NATIVE_INT16;
        case ValueType::uint16:
            return H5T_NATIVE_UINT16;
        case ValueType::uint32:
            return H5T_NATIVE_UINT32;
        case ValueType::uint64:
            return H5T_NATIVE_UINT64;
    }
    return H5T_NATIVE_DOUBLE;
}

}  // namespace hakobi::format
