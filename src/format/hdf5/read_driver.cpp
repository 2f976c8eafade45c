#include "format/hdf5/read_driver.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <new>
#include <vector>

#include "format/hdf5/hdf5.hpp"
#include "format/hdf5/virtual_list.hpp"
#include "storage/file.hpp"

namespace hakobi::format {
namespace {

struct Blocks {
    storage::FilePtr file;
    std::int64_t size_bytes = 0;
    std::map<std::int64_t, std::vector<std::byte>> read = {};  // by their places, cut at the file's end
    FileCounts counts = {};                                    // not looked up where its lengths take 0 bytes
    std::vector<FileRange> asked = {};                         // in the order of the requests
    std::int64_t number = 0;                                   // of the files that this thread has opened
};

thread_local std::int64_t num_opened = 0;

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
        // The target of a link or a virtual data set may be a pipe: opening that waits for a writer.
        std::error_code unknown;
        if (std::filesystem::is_other(std::filesystem::status(name, unknown))) {
            tell({ErrorCode::format, std::string(name) + ": it is no regular file"});
            return nullptr;
        }
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
        blocks->number = ++num_opened;
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

herr_t read_features(const H5FD_t*, unsigned long* flags) {
    if (flags != nullptr) *flags = H5FD_FEAT_DATA_SIEVE;
    return 0;
}

haddr_t read_end(const H5FD_t* file, H5FD_mem_t) {
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

/// By blocks, each fetched once. Throws std::bad_alloc.
bool read_blocks(Blocks& blocks, std::int64_t at, std::byte* to, std::int64_t left) {
    constexpr auto block_bytes = static_cast<std::int64_t>(ReadDriver::block_bytes);
    blocks.asked.push_back({at, at + left});
    if (left >= block_bytes) return fetch(blocks, at, to, static_cast<std::size_t>(left));
    while (left > 0) {
        const std::int64_t begin = at / block_bytes * block_bytes;
        std::vector<std::byte>& block = blocks.read[begin];
        if (block.empty()) {
            block.resize(static_cast<std::size_t>(block_bytes));
            if (!fetch(blocks, begin, block.data(), block.size())) {
                blocks.read.erase(begin);
                return false;
            }
        }
        const std::int64_t part = std::min(left, begin + block_bytes - at);
        std::memcpy(to, block.data() + (at - begin), static_cast<std::size_t>(part));
        to += part;
        at += part;
        left -= part;
    }
    return true;
}

/// By the superblock, which is at the beginning, or at 512, 1024, 2048, … bytes.
const FileCounts& counts_of(Blocks& blocks) {
    constexpr std::string_view signature = "\211HDF\r\n\032\n";
    std::array<std::byte, 16> start{};
    for (std::int64_t at = 0; blocks.counts.length_bytes == 0 && at < blocks.size_bytes;
         at = at == 0 ? 512 : 2 * at) {
        if (!read_blocks(blocks, at, start.data(), std::ssize(start))) break;
        if (std::memcmp(start.data(), signature.data(), signature.size()) != 0) continue;
        const std::size_t sizes = std::to_integer<int>(start[8]) < 2 ? 13 : 9;
        blocks.counts = {.address_bytes = std::to_integer<int>(start[sizes]),
                         .length_bytes = std::to_integer<int>(start[sizes + 1]),
                         .base = at};
    }
    return blocks.counts;
}

ReadBytes reader_of(Blocks& blocks) {
    return [&blocks](std::int64_t offset, std::span<std::byte> bytes) {
        return read_blocks(blocks, offset, bytes.data(), std::ssize(bytes));
    };
}

std::optional<HeapCollection> collection_at(Blocks& blocks, std::int64_t at) {
    return HeapCollection::read(reader_of(blocks), at, blocks.size_bytes, counts_of(blocks).length_bytes);
}

herr_t read_file(H5FD_t* file, H5FD_mem_t type, hid_t, haddr_t address, size_t size, void* buffer) {
    Blocks& blocks = *file_of<OpenedFile>(file).blocks;
    const auto at = static_cast<std::int64_t>(address);
    try {
        if (!read_blocks(blocks, at, static_cast<std::byte*>(buffer), static_cast<std::int64_t>(size)))
            return -1;
        if (type == H5FD_MEM_OHDR &&
            has_damaged_list(reader_of(blocks), at, blocks.size_bytes, counts_of(blocks))) {
            tell({ErrorCode::format, "a virtual data set's list of sources is damaged"});
            return -1;
        }
        // HDF5 does not say that it reads a collection. Values that begin so are taken for one; hardly any
        // do.
        const bool is_collection = size >= heap_signature.size() &&
                                   std::memcmp(buffer, heap_signature.data(), heap_signature.size()) == 0;
        if (is_collection && !collection_at(blocks, at)) {
            tell({ErrorCode::format, "a collection of its sequences (global heap) is damaged"});
            return -1;
        }
    } catch (const std::bad_alloc&) {
        return -1;
    }
    return 0;
}

herr_t get_blocks(H5FD_t* file, hid_t, void** handle) {
    *handle = file_of<OpenedFile>(file).blocks;
    return 0;
}

Blocks& blocks_of(hid_t file) {
    void* blocks = nullptr;
    check(H5Fget_vfd_handle(file, H5P_DEFAULT, &blocks), "H5Fget_vfd_handle");
    return *static_cast<Blocks*>(blocks);
}

herr_t refuse_write(H5FD_t*, H5FD_mem_t, hid_t, haddr_t, size_t, const void*) {
    return -1;
}

H5FD_class_t read_class() {
    H5FD_class_t driver = driver_class("hakobi_read", 2);
    driver.open = open_file;
    driver.close = close_file;
    driver.query = read_features;
    driver.get_eof = read_end;
    driver.read = read_file;
    driver.write = refuse_write;
    driver.get_handle = get_blocks;
    std::fill(std::begin(driver.fl_map), std::end(driver.fl_map), H5FD_MEM_DEFAULT);
    return driver;
}

}  // namespace

ReadDriver::ReadDriver() : driver_(read_class()) {}

herr_t ReadDriver::use(hid_t file_access) const {
    return driver_.use(file_access);
}

std::optional<HeapCollection> ReadDriver::read_collection(hid_t object, std::uint64_t address) {
    const Handle file(H5Iget_file_id(object), H5Fclose, "H5Iget_file_id");
    Blocks& blocks = blocks_of(file);
    const Handle creation(H5Fget_create_plist(file), H5Pclose, "H5Fget_create_plist");
    hsize_t before = 0;  // what addresses count from
    check(H5Pget_userblock(creation, &before), "H5Pget_userblock");
    if (address > static_cast<std::uint64_t>(blocks.size_bytes)) return std::nullopt;
    return collection_at(blocks, static_cast<std::int64_t>(before + address));
}

std::int64_t ReadDriver::size_of(hid_t object) {
    const Handle file(H5Iget_file_id(object), H5Fclose, "H5Iget_file_id");
    return blocks_of(file).size_bytes;
}

std::vector<FileRange> ReadDriver::ranges_read(hid_t file) {
    const Blocks& blocks = blocks_of(file);
    if (blocks.number != num_opened) return {};
    std::vector<FileRange> asked = blocks.asked, apart;
    std::ranges::sort(asked, {}, &FileRange::begin);
    for (const FileRange& range : asked) {
        const std::int64_t end = std::min(range.end, blocks.size_bytes);
        if (!apart.empty() && range.begin <= apart.back().end)
            apart.back().end = std::max(apart.back().end, end);
        else if (range.begin < end)
            apart.push_back({range.begin, end});
    }
    return apart;
}

}  // namespace hakobi::format
