#pragma once

#include <hdf5.h>
// HDF5 1.14 moved what drivers need out of hdf5.h.
#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

namespace hakobi::format {

// Definitions that our file drivers share; for their .cpp files.

/// HDF5's file object, extended as its drivers do: the public part first. A driver derives its own from it.
struct DriverFile {
    H5FD_t base;
    haddr_t end_of_allocation;
};
template <class File>
File& file_of(H5FD_t* file) {
    return static_cast<File&>(*reinterpret_cast<DriverFile*>(file));
}
template <class File>
const File& file_of(const H5FD_t* file) {
    return static_cast<const File&>(*reinterpret_cast<const DriverFile*>(file));
}

/// A driver that keeps the end of allocation, and lacks what is its own. `number`: among ours.
[[nodiscard]] H5FD_class_t driver_class(const char* name, int number);

/// A driver that HDF5 knows while the object lives.
class RegisteredDriver {
  public:
    explicit RegisteredDriver(const H5FD_class_t& driver) : id_(H5FDregister(&driver)) {}
    ~RegisteredDriver() {
        if (id_ >= 0) H5FDunregister(id_);
    }
    RegisteredDriver(const RegisteredDriver&) = delete;
    RegisteredDriver& operator=(const RegisteredDriver&) = delete;

    /// Makes a file access property list open files by it; negative on failure.
    [[nodiscard]] herr_t use(hid_t file_access, const void* info = nullptr) const {
        return id_ < 0 ? -1 : H5Pset_driver(file_access, id_, info);
    }

  private:
    hid_t id_;
};

}  // namespace hakobi::format
