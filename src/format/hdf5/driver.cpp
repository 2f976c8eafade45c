#include "format/hdf5/driver.hpp"

#include <cstdint>

namespace hakobi::format {
namespace {

haddr_t get_end_of_allocation(const H5FD_t* file, H5FD_mem_t) {
    return file_of<DriverFile>(file).end_of_allocation;
}

herr_t set_end_of_allocation(H5FD_t* file, H5FD_mem_t, haddr_t address) {
    file_of<DriverFile>(file).end_of_allocation = address;
    return 0;
}

}  // namespace

H5FD_class_t driver_class(const char* name, [[maybe_unused]] int number) {
    H5FD_class_t driver{};
#ifdef H5FD_CLASS_VERSION
    driver.version = H5FD_CLASS_VERSION;
    // Outside the range of HDF5's own.
    driver.value = static_cast<H5FD_class_value_t>(H5_VFD_RESERVED + 0x4840 + number);
#endif
    driver.name = name;
    driver.maxaddr = static_cast<haddr_t>(INT64_MAX);
    driver.fc_degree = H5F_CLOSE_STRONG;
    driver.get_eoa = get_end_of_allocation;
    driver.set_eoa = set_end_of_allocation;
    return driver;
}

}  // namespace hakobi::format
