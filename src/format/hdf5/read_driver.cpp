#include "format/hdf5/read_driver.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <vector>

#include "storage/file.hpp"

namespace hakobi::format {
namespace {

struct Blocks {
    storage::FilePtr file;
    std::int64_t size_bytes = 0;
    std::map<std::int64_t, std::vector<std::byte>> read = {};  // by their places, cut at the file's end
};

struct OpenedFile : DriverFile {
    Blocks* blocks;
};

void tell(const Status& status) {
    H5Epush2(H5E_DEFAULT, __FILE__, "ReadDriver", __LINE__, H5E_ERR_CLS, H5E_IO, H5E_READERROR, "%s",
             status.text().c_str());
}

// Nothing may be thrown through HDF5: a failed allocation becomes its error return.
H5FD_t* open_file(const char* name, unsigned flags, hid_t, haddr_t) {
    if ((flags & H5F_ACC_RDWR) != 0) return nullptr;
    try {
        Result<storage::FilePtr> opened = storage::open_file(name, {});
        if (!opened.ok()) {
            tell(opened.status());
            return nullptr;
        }
        Result<std::int64_t> size = opened.value()->size_bytes();
        if (!size.ok()) {
            tell(size.status());
            return nullptr;
        }
        auto blocks = std::make_unique<Blocks>(Blocks{std::move(opened).value(), size.value()});
        auto* file = new (std::nothrow) OpenedFile{};
        if (file == nullptr) return nullptr;
        file->blocks = blocks.release();
        return &file->base;
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

herr_t close_file(H5FD_t* file) {
    delete file_of<OpenedFile>(file).blocks;
    delete &file_of<OpenedFile>(file);
    return 0;
}

herr_t query_features(const H5FD_t*, unsigned long* flags) {
    if (flags != nullptr) *flags = H5FD_FEAT_DATA_SIEVE;
    return 0;
}

haddr_t get_end_of_file(const H5FD_t* file, H5FD_mem_t) {
    return static_cast<haddr_t>(file_of<OpenedFile>(file).blocks->size_bytes);
}

/// Zeros behind the end, as HDF5 has it.
bool fetch(const Blocks& blocks, std::int64_t offset, std::byte* to, std::size_t size) {
    Result<std::int64_t> read = blocks.file->read_at({to, size}, offset);
    if (!read.ok()) {
        tell(read.status());
        return false;
    }
    std::fill(to + read.value(), to + size, std::byte{});
    return true;
}

herr_t read_file(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, size_t size, void* buffer) {
    constexpr auto block_bytes = static_cast<std::int64_t>(ReadDriver::block_bytes);
    Blocks& blocks = *file_of<OpenedFile>(file).blocks;
    auto* to = static_cast<std::byte*>(buffer);
    auto at = static_cast<std::int64_t>(address);
    auto left = static_cast<std::int64_t>(size);
    if (left >= block_bytes) return fetch(blocks, at, to, size) ? 0 : -1;
    try {
        while (left > 0) {
            const std::int64_t begin = at / block_bytes * block_bytes;
            std::vector<std::byte>& block = blocks.read[begin];
            if (block.empty()) {
                block.resize(static_cast<std::size_t>(block_bytes));
                if (!fetch(blocks, begin, block.data(), block.size())) {
                    blocks.read.erase(begin);
                    return -1;
                }
            }
            const std::int64_t part = std::min(left, begin + block_bytes - at);
            std::memcpy(to, block.data() + (at - begin), static_cast<std::size_t>(part));
            to += part;
            at += part;
            left -= part;
        }
    } catch (const std::bad_alloc&) {
        return -1;
    }
    return 0;
}

herr_t refuse_write(H5FD_t*, H5FD_mem_t, hid_t, haddr_t, size_t, const void*) {
    return -1;
}

H5FD_class_t read_class() {
    H5FD_class_t driver = driver_class("hakobi_read", 2);
    driver.open = open_file;
    driver.close = close_file;
    driver.query = query_features;
    driver.get_eof = get_end_of_file;
    driver.read = read_file;
    driver.write = refuse_write;
    std::fill(std::begin(driver.fl_map), std::end(driver.fl_map), H5FD_MEM_DEFAULT);
    return driver;
}

}  // namespace

ReadDriver::ReadDriver() : driver_(read_class()) {}

herr_t ReadDriver::use(hid_t file_access) const {
    return driver_.use(file_access);
}

}  // namespace hakobi::format
