#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "store/schema.hpp"

// The files of a store, and why a kill or a power failure at any instruction leaves every flushed field readable
// (docs/decisions has the choice).
//
//     STORE/hakobi-store              text: "hakobi field store", "format 1"; made last, so that a store is whole or none
//     STORE/schema                    the rules, as given; never changed
//     STORE/<writer>.<id>.data        the fields' bytes one after the other (with pad_bytes: zeros between), nothing else
//     STORE/<writer>.<id>.index       what is in it: a header and a log of commit records
//     STORE/catalogue                 optional: what the indexes said when `consolidate` read them (consolidated.hpp)
//     STORE/moving                    while the store is being moved: closed to writers (gate.hpp)
//
//  1. A writer makes its two files under a name with 64 random bits: no two processes ever write one file, and a name
//     never comes back. It holds a lock (flock) on its own index while it lives; nobody waits for it, others only look
//     whether it is there.
//  2. archive appends bytes to the data file and remembers the field in memory.
//  3. flush, in this order: the rest of the data is written; the data file is synced; one record with all the fields is
//     appended to the index by one write; the index is synced. The record is the commit: before it is whole none of its
//     fields exists, after it all do, and their data is on stable storage.
//  4. A record carries a checksum over its head, whose length can then be believed, and one over all of it. A reader takes records from the front and stops at the first that is
//     not whole: that one was never flushed. Where a whole record follows a broken one, the broken one is damage, which
//     readers report and pass over.
//  5. A record holds everything to read it: keywords, types, dictionaries. No record needs another one, or the schema.
//  6. Data behind the last record's end (data_end_bytes) belongs to no field: `recover` cuts it off where the writer is
//     dead. A writer never opens an earlier writer's files, so that cutting meets nobody.
//  7. Of fields with the same key the one with the later stamp counts: nanoseconds since 1970 by the writer's clock at
//     the flush, made to rise within a writer; within a record the later row. Fields that are moved here keep theirs.
//  8. Fields are removed by a record too, in an index of the remover's own, which names them by file and offset; then
//     their blocks are given back. Files of dead writers that are left without a field are deleted, the index first
//     (maintenance.hpp).
//
// Numbers in headers are little-endian (`order` tells), in payloads packed (pack.hpp).

namespace hakobi::store {

inline constexpr std::uint32_t format_version = 1;
inline constexpr std::uint64_t index_magic = 0x3158444e4249'4b48;  // "HKIBNDX1"
inline constexpr std::uint64_t record_magic = 0x0a54494d4d4f4b48;  // "HKOMMIT\n"
inline constexpr std::uint32_t byte_order_mark = 0x01020304;

enum class RecordKind : std::uint32_t { commit = 1, wipe = 2 };

/// The head of an index file: magic, checksum of the rest, then these.
struct IndexHeader {
    std::uint32_t version = format_version;
    std::uint64_t id = 0;  ///< random; part of the file's name
    std::int64_t created_ns = 0;
    std::string writer;
    std::string host;
    std::int64_t pid = 0;
};
std::vector<std::byte> encode_header(const IndexHeader& header);
struct DecodedHeader {
    IndexHeader header;
    std::int64_t length_bytes = 0;  ///< the first record begins here
};
/// unsupported for a newer version or another byte order; format for what is no header.
Result<DecodedHeader> decode_header(std::span<const std::byte> file);

/// A record in the log; `payload` is a part of what was read.
struct Record {
    RecordKind kind = RecordKind::commit;
    std::uint32_t num_fields = 0;
    std::uint64_t sequence = 0;  ///< from 0 in each file
    std::int64_t stamp_ns = 0;
    std::int64_t data_end_bytes = 0;  ///< the data file's length with this record's fields
    std::span<const std::byte> payload;
};
std::vector<std::byte> encode_record(const Record& record, std::uint64_t id);

/// What a part of a log, read from `begin_bytes` of the file on, holds.
struct LogScan {
    std::int64_t end_bytes = 0;         ///< where the last whole record ends, in the file
    std::int64_t torn_bytes = 0;        ///< behind it: an unfinished record
    bool is_tail_damaged = false;       ///< what lies there is no record cut off by a kill: it was whole once
    std::vector<std::int64_t> damaged;  ///< file offsets of broken records that whole ones follow
};
LogScan scan_log(std::span<const std::byte> log, std::int64_t begin_bytes, std::uint64_t id,
                 const std::function<void(const Record&)>& take);

/// What the fields of a group have in common: all but the values of the field level.
struct GroupName {
    std::array<std::vector<Keyword>, num_levels> keywords;
    std::array<std::vector<std::string>, 2>
        values;  ///< dataset and collocation level; "" where there is none
    friend bool operator==(const GroupName&, const GroupName&) = default;
};

/// The fields of one group in one commit, by column. `codes` has keywords[field_level].size() entries a row.
struct GroupRows {
    GroupName name;
    std::vector<std::vector<std::string>> dictionaries;  ///< one for each field keyword
    std::vector<std::string> forms;
    std::vector<std::uint32_t> codes;
    std::vector<std::uint32_t> form_codes;
    std::vector<std::int64_t> offsets, lengths;
    std::vector<std::uint64_t> checksums;
    [[nodiscard]] std::size_t num_rows() const noexcept { return offsets.size(); }
};
void pack_group(const GroupRows& rows, class Packer& packer);
/// A commit's groups; format where the payload is none.
Result<std::vector<GroupRows>> decode_commit(std::span<const std::byte> payload);

void pack_group_name(const GroupName& name, class Packer& packer);
/// The same bytes for the group that a field with this key belongs to, without making its name.
void pack_group_name(const SplitKey& key, class Packer& packer);
bool unpack_group_name(class Unpacker& unpacker, GroupName& name);

/// Fields that a wipe record removes from one data file.
struct Wiped {
    std::uint64_t id = 0;               ///< the data file's
    std::vector<std::int64_t> offsets;  ///< rising; empty: all of the file
};
std::vector<std::byte> encode_wipe(const std::vector<Wiped>& wiped);
Result<std::vector<Wiped>> decode_wipe(std::span<const std::byte> payload);

}  // namespace hakobi::store
