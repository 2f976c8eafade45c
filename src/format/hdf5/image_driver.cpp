#include "format/hdf5/image_driver.hpp"

#include <algorithm>
#include <new>

namespace hakobi::format {
namespace {

/// The data that HDF5 copies into the property list: a pointer to the image.
struct DriverInfo {
    SparseImage* image;
    Placement* placement;
};

struct ImageFile : DriverFile {
    SparseImage* image;
    Placement* placement;
    bool is_begun;  // has a superblock; where one is placed, it has no end before
    haddr_t end_of_file;
};

// Nothing may be thrown through HDF5: a failed allocation becomes its error return.
H5FD_t* open_image(const char*, unsigned, hid_t file_access, haddr_t) {
    const auto* info = static_cast<const DriverInfo*>(H5Pget_driver_info(file_access));
    if (info == nullptr) return nullptr;
    auto* file = new (std::nothrow) ImageFile{};
    if (file == nullptr) return nullptr;
    file->image = info->image;
    file->placement = info->placement;
    file->end_of_file = static_cast<haddr_t>(info->image->size_bytes());
    return &file->base;
}

herr_t close_image(H5FD_t* file) {
    delete &file_of<ImageFile>(file);
    return 0;
}

herr_t image_features(const H5FD_t*, unsigned long* flags) {
    if (flags != nullptr) *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA;
    return 0;
}

haddr_t image_end(const H5FD_t* file, H5FD_mem_t) {
    return file_of<ImageFile>(file).end_of_file;
}

herr_t read_image(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, size_t size, void* buffer) {
    file_of<ImageFile>(file).image->read(static_cast<std::int64_t>(address),
                                         {static_cast<std::byte*>(buffer), size});
    return 0;
}

herr_t write_image(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, size_t size, const void* buffer) {
    try {
        if (buffer == ImageDriver::somebody_elses()) {
            file_of<ImageFile>(file).image->leave(static_cast<std::int64_t>(address),
                                                  static_cast<std::int64_t>(size));
        } else {
            file_of<ImageFile>(file).image->write(static_cast<std::int64_t>(address),
                                                  {static_cast<const std::byte*>(buffer), size});
        }
    } catch (const std::bad_alloc&) {
        return -1;
    }
    file_of<ImageFile>(file).end_of_file =
        std::max<haddr_t>(file_of<ImageFile>(file).end_of_file, address + size);
    return 0;
}

herr_t truncate_image(H5FD_t* file, hid_t, hbool_t) {
    auto& image = file_of<ImageFile>(file);
    image.end_of_file = image.base.cls->get_eoa(file, H5FD_MEM_DEFAULT);
    image.image->set_size(static_cast<std::int64_t>(image.end_of_file));
    return 0;
}

haddr_t allocate(H5FD_t* base, H5FD_mem_t type, hid_t, hsize_t size) {
    auto& file = file_of<ImageFile>(base);
    const auto bytes = static_cast<std::int64_t>(size);
    std::int64_t offset = 0;  // of the superblock
    try {
        if (type == H5FD_MEM_SUPER) {
            file.is_begun = true;
        } else if (type == H5FD_MEM_DRAW && file.placement->is_any_expected()) {  // others are heaps'
            offset = file.placement->take_expected(bytes);
        } else {
            offset = file.placement->allocate(bytes);
            if (type == H5FD_MEM_BTREE) file.placement->note_node(offset);
        }
    } catch (const std::bad_alloc&) {
        return HADDR_UNDEF;
    }
    return offset < 0 ? HADDR_UNDEF : static_cast<haddr_t>(offset);
}

haddr_t get_placed_end(const H5FD_t* base, H5FD_mem_t) {
    const auto& file = file_of<ImageFile>(base);
    return file.is_begun ? static_cast<haddr_t>(file.placement->end_bytes()) : 0;
}

/// Makes the last part longer.
herr_t set_placed_end(H5FD_t* base, H5FD_mem_t, haddr_t address) {
    Placement& placement = *file_of<ImageFile>(base).placement;
    const std::int64_t more = static_cast<std::int64_t>(address) - placement.end_bytes();
    if (more > 0) (void)placement.allocate(more);
    return 0;
}

/// Every piece of metadata is allocated by itself: nothing is left over, and nothing used again.
herr_t query_placed_features(const H5FD_t*, unsigned long* flags) {
    if (flags != nullptr) *flags = H5FD_FEAT_ACCUMULATE_METADATA;
    return 0;
}

H5FD_class_t image_class(bool is_placed) {
    H5FD_class_t driver =
        is_placed ? driver_class("hakobi_placed_image", 3) : driver_class("hakobi_image", 1);
    driver.fapl_size = sizeof(DriverInfo);
    driver.open = open_image;
    driver.close = close_image;
    driver.query = is_placed ? query_placed_features : image_features;
    if (is_placed) {
        driver.alloc = allocate;
        driver.get_eoa = get_placed_end;
        driver.set_eoa = set_placed_end;
    }
    driver.get_eof = image_end;
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

ImageDriver::ImageDriver(Placement* placement)
    : placement_(placement), driver_(image_class(placement != nullptr)) {}

herr_t ImageDriver::use(hid_t file_access, SparseImage& image) const {
    const DriverInfo info{&image, placement_};
    return driver_.use(file_access, &info);
}

}  // namespace hakobi::format
