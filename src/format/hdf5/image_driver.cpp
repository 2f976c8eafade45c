#include "format/hdf5/image_driver.hpp"

#include <algorithm>
#include <new>
// HDF5 1.14 moved what drivers need out of hdf5.h.
#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

namespace hakobi::format {
namespace {

/// What HDF5 copies into the property list: where the image is.
struct DriverInfo {
    SparseImage* image;
};

/// HDF5's file object, extended as its drivers do: the public part first.
struct ImageFile {
    H5FD_t base;
    SparseImage* image;
    haddr_t end_of_allocation;
    haddr_t end_of_file;
};

ImageFile& file_of(H5FD_t* file) {
    return *reinterpret_cast<ImageFile*>(file);
}
const ImageFile& file_of(const H5FD_t* file) {
    return *reinterpret_cast<const ImageFile*>(file);
}

// Nothing may be thrown through HDF5: a failed allocation becomes its error return.
H5FD_t* open_image(const char*, unsigned, hid_t file_access, haddr_t) {
    const auto* info = static_cast<const DriverInfo*>(H5Pget_driver_info(file_access));
    if (info == nullptr) return nullptr;
    auto* file = new (std::nothrow) ImageFile{};
    if (file == nullptr) return nullptr;
    file->image = info->image;
    file->end_of_file = static_cast<haddr_t>(info->image->size_bytes());
    return &file->base;
}

herr_t close_image(H5FD_t* file) {
    delete &file_of(file);
    return 0;
}

herr_t query_features(const H5FD_t*, unsigned long* flags) {
    if (flags != nullptr) *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA;
    return 0;
}

haddr_t get_end_of_allocation(const H5FD_t* file, H5FD_mem_t) {
    return file_of(file).end_of_allocation;
}

herr_t set_end_of_allocation(H5FD_t* file, H5FD_mem_t, haddr_t address) {
    file_of(file).end_of_allocation = address;
    return 0;
}

haddr_t get_end_of_file(const H5FD_t* file, H5FD_mem_t) {
    return file_of(file).end_of_file;
}

herr_t read_image(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, size_t size, void* buffer) {
    file_of(file).image->read(static_cast<std::int64_t>(address), {static_cast<std::byte*>(buffer), size});
    return 0;
}

herr_t write_image(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, size_t size, const void* buffer) {
    try {
        if (buffer == ImageDriver::somebody_elses()) {
            file_of(file).image->leave(static_cast<std::int64_t>(address), static_cast<std::int64_t>(size));
        } else {
            file_of(file).image->write(static_cast<std::int64_t>(address),
                                       {static_cast<const std::byte*>(buffer), size});
        }
    } catch (const std::bad_alloc&) {
        return -1;
    }
    file_of(file).end_of_file = std::max<haddr_t>(file_of(file).end_of_file, address + size);
    return 0;
}

herr_t truncate_image(H5FD_t* file, hid_t, hbool_t) {
    file_of(file).end_of_file = file_of(file).end_of_allocation;
    file_of(file).image->set_size(static_cast<std::int64_t>(file_of(file).end_of_allocation));
    return 0;
}

H5FD_class_t driver_class() {
    H5FD_class_t driver{};
#ifdef H5FD_CLASS_VERSION
    driver.version = H5FD_CLASS_VERSION;
    driver.value =
        static_cast<H5FD_class_value_t>(H5_VFD_RESERVED + 0x4841);  // outside the range of HDF5's own
#endif
    driver.name = "hakobi_image";
    driver.maxaddr = static_cast<haddr_t>(INT64_MAX);
    driver.fc_degree = H5F_CLOSE_STRONG;
    driver.fapl_size = sizeof(DriverInfo);
    driver.open = open_image;
    driver.close = close_image;
    driver.query = query_features;
    driver.get_eoa = get_end_of_allocation;
    driver.set_eoa = set_end_of_allocation;
    driver.get_eof = get_end_of_file;
    driver.read = read_image;
    driver.write = write_image;
    driver.truncate = truncate_image;
    // Every kind of metadata may share free space, as with HDF5's default driver.
    std::fill(std::begin(driver.fl_map), std::end(driver.fl_map), H5FD_MEM_SUPER);
    driver.fl_map[H5FD_MEM_DEFAULT] = H5FD_MEM_DEFAULT;
    driver.fl_map[H5FD_MEM_DRAW] = H5FD_MEM_DRAW;
    driver.fl_map[H5FD_MEM_GHEAP] = H5FD_MEM_DRAW;
    return driver;
}

}  // namespace

const void* ImageDriver::somebody_elses() {
    static constexpr char placeholder = 0;
    return &placeholder;
}

ImageDriver::ImageDriver() {
    static const H5FD_class_t driver = driver_class();
    id_ = H5FDregister(&driver);
}

ImageDriver::~ImageDriver() {
    if (id_ >= 0) H5FDunregister(id_);
}

herr_t ImageDriver::use(hid_t file_access, SparseImage& image) const {
    if (id_ < 0) return -1;
    const DriverInfo info{&image};
    return H5Pset_driver(file_access, id_, &info);
}

}  // namespace hakobi::format
