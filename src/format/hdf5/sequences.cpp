#include "format/hdf5/sequences.hpp"

#include <cstring>
#include <map>
#include <optional>
#include <string>

#include "format/hdf5/hdf5.hpp"
#include "format/hdf5/read_driver.hpp"

namespace hakobi::format {
namespace {

constexpr const char* tag = "hakobi: a sequence's place";

/// HDF5's conversion of a sequence to our opaque type: what the file has stays as it is.
herr_t keep(hid_t, hid_t to, H5T_cdata_t* data, size_t, size_t, size_t, void*, void*, hid_t) {
    if (data->command != H5T_CONV_INIT) return 0;
    data->need_bkg = H5T_BKG_NO;
    char* const its = H5Tget_tag(to);
    const bool is_ours = its != nullptr && std::strcmp(its, tag) == 0;
    H5free_memory(its);
    return is_ours ? 0 : -1;
}

Handle opaque(std::size_t bytes) {
    Handle type(H5Tcreate(H5T_OPAQUE, bytes), H5Tclose, "H5Tcreate");
    check(H5Tset_tag(type, tag), "H5Tset_tag");
    return type;
}

Handle any_sequence() {
    return {H5Tvlen_create(H5T_NATIVE_CHAR), H5Tclose, "H5Tvlen_create"};
}

std::uint64_t number_at(const std::byte* bytes, std::size_t size) {
    std::uint64_t number = 0;
    for (std::size_t i = size; i-- > 0;) number = number << 8 | std::to_integer<std::uint64_t>(bytes[i]);
    return number;
}

std::size_t address_bytes_in(hid_t object) {
    const Handle file(H5Iget_file_id(object), H5Fclose, "H5Iget_file_id");
    const Handle creation(H5Fget_create_plist(file), H5Pclose, "H5Fget_create_plist");
    std::size_t address_bytes = 0, length_bytes = 0;
    check(H5Pget_sizes(creation, &address_bytes, &length_bytes), "H5Pget_sizes");
    return address_bytes;
}

/// HDF5 knows `keep` while the object lives.
class Conversion {
  public:
    Conversion() { check(H5Tregister(H5T_PERS_SOFT, tag, any_sequence(), opaque(1), keep), "H5Tregister"); }
    ~Conversion() { H5Tunregister(H5T_PERS_SOFT, tag, -1, -1, keep); }
    Conversion(const Conversion&) = delete;
    Conversion& operator=(const Conversion&) = delete;
};

}  // namespace

std::vector<std::vector<std::byte>> read_sequences(hid_t attribute, hid_t type) {
    const Handle space(H5Aget_space(attribute), H5Sclose, "H5Aget_space");
    const hssize_t num = check(H5Sget_simple_extent_npoints(space), "H5Sget_simple_extent_npoints");
    // An element has the number of members, the collection's address, and the number in it.
    const std::size_t address_bytes = address_bytes_in(attribute), place_bytes = 8 + address_bytes;
    if (num > ReadDriver::size_of(attribute) / static_cast<hssize_t>(place_bytes))
        throw Hdf5Failure(std::string("an attribute is larger than the file"));
    std::vector<std::byte> places(static_cast<std::size_t>(num) * place_bytes);
    if (num > 0) {
        const Conversion conversion;
        check(H5Aread(attribute, opaque(place_bytes), places.data()), "H5Aread");
    }
    std::size_t member_bytes = 1;
    if (H5Tget_class(type) == H5T_VLEN) {
        const Handle member(H5Tget_super(type), H5Tclose, "H5Tget_super");
        // In the file: a reference has its address alone there.
        member_bytes = H5Tget_class(member) == H5T_REFERENCE ? address_bytes : H5Tget_size(member);
    }
    std::map<std::uint64_t, std::optional<HeapCollection>> collections;
    std::vector<std::vector<std::byte>> found(static_cast<std::size_t>(num));
    for (std::size_t i = 0; i < found.size(); ++i) {
        const std::byte* const place = places.data() + i * place_bytes;
        const std::uint64_t bytes = number_at(place, 4) * member_bytes;
        const std::uint64_t address = number_at(place + 4, address_bytes);
        if (bytes == 0 || address == 0) continue;
        const auto [at, is_new] = collections.try_emplace(address);
        if (is_new) at->second = ReadDriver::read_collection(attribute, address);
        if (!at->second)
            throw Hdf5Failure(std::string("a collection of its sequences (global heap) is damaged"));
        const auto object =
            at->second->object(static_cast<unsigned>(number_at(place + 4 + address_bytes, 4)));
        if (object.size() < bytes)
            throw Hdf5Failure(std::string("a sequence is longer than what the file has of it"));
        found[i].assign(object.begin(), object.begin() + static_cast<std::ptrdiff_t>(bytes));
    }
    return found;
}

}  // namespace hakobi::format
