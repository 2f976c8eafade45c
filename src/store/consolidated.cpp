#include "store/consolidated.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/checksum.hpp"
#include "store/pack.hpp"

namespace hakobi::store {

namespace {

constexpr std::uint64_t catalogue_magic = 0x31474c54414b48;  // "HKATLG1\0"
constexpr std::size_t catalogue_covered_at = 16;
// A row's columns: forms, files; offsets, lengths, stamps, checksums; and a code for each keyword.
constexpr std::size_t row_bytes(std::size_t num_keywords) {
    return 2 * 4 + 4 * 8 + 4 * num_keywords;
}

template <class T>
void put_column(Packer& packer, const std::vector<T>& column, const std::vector<std::uint32_t>& order) {
    std::vector<T> sorted(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) sorted[i] = column[order[i]];
    packer.append(sorted.data(), sorted.size() * sizeof(T));
}

template <class T>
void get_column(Unpacker& unpacker, std::vector<T>& column, std::size_t count) {
    const auto bytes = unpacker.get_bytes(count * sizeof(T));
    column.resize(bytes.size() / sizeof(T));
    if (!bytes.empty()) std::memcpy(column.data(), bytes.data(), bytes.size());
}

void pack(const Group& group, Packer& packer) {
    pack_group_name(group.name, packer);
    const std::size_t num_keywords = group.num_keywords();
    for (const Dictionary& dictionary : group.dictionaries) {
        // In order, so that ranks are codes.
        std::vector<std::uint32_t> by_rank(dictionary.num_values());
        for (std::uint32_t code = 0; code < dictionary.num_values(); ++code)
            by_rank[dictionary.ranks()[code]] = code;
        packer.put(by_rank.size());
        for (const std::uint32_t code : by_rank) packer.put_text(dictionary.value(code));
    }
    packer.put(group.forms.num_values());
    for (std::uint32_t code = 0; code < group.forms.num_values(); ++code)
        packer.put_text(group.forms.value(code));
    packer.put(group.order.size());
    std::vector<std::uint32_t> codes(group.order.size() * num_keywords);
    for (std::size_t i = 0; i < group.order.size(); ++i) {
        for (std::size_t k = 0; k < num_keywords; ++k) {
            codes[i * num_keywords + k] =
                group.dictionaries[k].ranks()[group.rows.codes[group.order[i] * num_keywords + k]];
        }
    }
    packer.append(codes.data(), codes.size() * sizeof(std::uint32_t));
    put_column(packer, group.rows.forms, group.order);
    put_column(packer, group.rows.files, group.order);
    put_column(packer, group.rows.offsets, group.order);
    put_column(packer, group.rows.lengths, group.order);
    put_column(packer, group.rows.stamps, group.order);
    put_column(packer, group.rows.checksums, group.order);
}

bool unpack_dictionary(Unpacker& unpacker, Dictionary& dictionary) {
    const std::size_t count = unpacker.get_count();
    for (std::size_t i = 0; i < count; ++i) (void)dictionary.code_of(unpacker.get_text());
    dictionary.rank();
    return unpacker.ok() && dictionary.num_values() == count;
}

/// Columns that point to what is not there would be read from outside of our memory.
bool is_sound(const Group& group, std::size_t num_files) {
    const std::size_t num_keywords = group.num_keywords();
    const Columns& rows = group.rows;
    if (rows.checksums.size() != rows.forms.size()) return false;
    for (std::size_t i = 0; i < rows.codes.size(); ++i) {
        if (rows.codes[i] >= group.dictionaries[i % num_keywords].num_values()) return false;
    }
    constexpr std::int64_t limit = most_offset_bytes;
    for (std::size_t row = 0; row < rows.num_rows(); ++row) {
        if (rows.forms[row] >= group.forms.num_values() || rows.files[row] >= num_files) return false;
        if (rows.offsets[row] < 0 || rows.offsets[row] > limit) return false;
        if (rows.lengths[row] <= 0 || rows.lengths[row] > limit) return false;
    }
    return true;
}

bool unpack(Unpacker& unpacker, Catalogue& catalogue) {
    GroupName name;
    if (!unpack_group_name(unpacker, name)) return false;
    Group& group = catalogue.group(name);
    if (group.rows.num_rows() > 0) return false;
    for (Dictionary& dictionary : group.dictionaries) {
        if (!unpack_dictionary(unpacker, dictionary)) return false;
    }
    if (!unpack_dictionary(unpacker, group.forms)) return false;
    const std::size_t count = unpacker.get_count();
    const std::size_t num_keywords = group.num_keywords();
    // The columns follow in full, or nothing is allocated for them.
    if (count > unpacker.remaining() / row_bytes(num_keywords)) return false;
    get_column(unpacker, group.rows.codes, count * num_keywords);
    get_column(unpacker, group.rows.forms, count);
    get_column(unpacker, group.rows.files, count);
    get_column(unpacker, group.rows.offsets, count);
    get_column(unpacker, group.rows.lengths, count);
    get_column(unpacker, group.rows.stamps, count);
    get_column(unpacker, group.rows.checksums, count);
    group.num_sorted = count;
    return unpacker.ok() && is_sound(group, catalogue.files.size());
}

}  // namespace

std::vector<std::byte> encode_consolidated(const Catalogue& catalogue) {
    Packer packer;
    packer.put_fixed(catalogue_magic);
    packer.put_fixed(std::uint64_t{0});
    packer.put_fixed(format_version);
    packer.put_fixed(byte_order_mark);
    packer.put(catalogue.files.size());
    for (const DataFile& file : catalogue.files) {
        packer.put_text(file.stem);
        packer.put_fixed(file.id);
        packer.put(static_cast<std::uint64_t>(file.index_bytes));
        packer.put(static_cast<std::uint64_t>(file.data_end_bytes));
        packer.put(file.num_records);
    }
    packer.put(catalogue.groups.size());
    for (const auto& group : catalogue.groups) pack(*group, packer);
    std::vector<std::byte> bytes = std::move(packer.bytes());
    const std::uint64_t checksum = checksum_of(std::span(bytes).subspan(catalogue_covered_at));
    std::memcpy(bytes.data() + 8, &checksum, sizeof checksum);
    return bytes;
}

Status decode_consolidated(std::span<const std::byte> bytes, Catalogue& catalogue) {
    const auto damaged = [] { return Status(ErrorCode::format, "it is damaged"); };
    Unpacker unpacker(bytes);
    if (unpacker.get_fixed<std::uint64_t>() != catalogue_magic) return damaged();
    const auto checksum = unpacker.get_fixed<std::uint64_t>();
    const auto version = unpacker.get_fixed<std::uint32_t>();
    const auto order = unpacker.get_fixed<std::uint32_t>();
    if (!unpacker.ok()) return damaged();
    if (version > format_version || order != byte_order_mark) {
        return {ErrorCode::unsupported, "it is written by a newer version, or for another byte order"};
    }
    if (checksum_of(bytes.subspan(catalogue_covered_at)) != checksum) return damaged();
    const std::size_t num_files = unpacker.get_count();
    for (std::size_t i = 0; i < num_files && unpacker.ok(); ++i) {
        DataFile file;
        file.stem = unpacker.get_text();
        file.id = unpacker.get_fixed<std::uint64_t>();
        file.index_bytes = static_cast<std::int64_t>(unpacker.get());
        file.data_end_bytes = static_cast<std::int64_t>(unpacker.get());
        file.num_records = unpacker.get();
        if (file.index_bytes < 0) return damaged();
        catalogue.files.push_back(std::move(file));
    }
    const std::size_t num_groups = unpacker.get_count();
    for (std::size_t i = 0; i < num_groups; ++i) {
        if (!unpack(unpacker, catalogue)) return damaged();
    }
    return unpacker.ok() && unpacker.at_end() ? Status() : damaged();
}

Status read_consolidated(const Folder& folder, Catalogue& catalogue) {
    const std::string path = folder.catalogue_path();
    const auto bytes = folder.place().read(catalogue_name);
    if (!bytes.ok()) return bytes.status();
    const Status status = decode_consolidated(bytes.value(), catalogue);
    if (status.ok()) return {};
    return {status.code(), path + ": " + status.text() +
                               ": the indexes are read instead; 'hakobi store consolidate' makes it anew"};
}

}  // namespace hakobi::store
