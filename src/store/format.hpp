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

// The files of a store, and why a kill or a power failure at any instruction leaves every flushed field
// readable (docs/decisions has the choice).
//
//     STORE/hakobi-store              text: "hakobi field store", "format 1"; made last, so that a store is whole or none
//     STORE/schema                    the rules, as given; never changed
//     STORE/<writer>.<id>.data        the fields' bytes one after the other (with pad_bytes: zeros between), nothing else
//     STORE/<writer>.<id>.index       what is in it: a header and a log of commit records
//     STORE/catalogue                 optional: what the indexes said when `consolidate` read them (consolidated.hpp)
//     STORE/moving                    while the store is being moved: closed to writers (gate.hpp)
//
//  1. A writer makes its two files under a name with 64 random bits: no two processes ever write one file,
//     and a name never comes back. It holds a lock (flock) on its own index while it lives; nobody waits for
//     it, others only look whether it is there.
//  2. archive appends bytes to the data file and remembers the field in memory.
//  3. flush, in this order: the rest of the data is written; the data file is synced; one record with all the
//     fields is appended to the index by one write; the index is synced. The record is the commit: before it
//     is whole none of its fields exists, after it all do, and their data is on stable storage.
//  4. A record carries a checksum over its head, whose length can then be believed, and one over all of it. A
//     reader takes records from the front and stops at the first that is not whole: that one was never
//     flushed. Where a whole record follows a broken one, the broken one is damage, which readers report and
//     pass over.
//  5. A record holds everything to read it: keywords, types, dictionaries. No record needs another one, or
//     the schema.
//  6. Data behind the last record's end (data_end_bytes) belongs to no field: `recover` cuts it off where the
//     writer is dead. A writer never opens an earlier writer's files, so that cutting meets nobody.
//  7. Among fields with the same key the one with the later stamp counts: nanoseconds since 1970 by the
//     writer's clock at the flush, made to rise within a writer; within a record the later row. Fields that
//     are moved here keep theirs.
//  8. Fields are removed by a record too, in an index of the remover's own, which names them by file and
//     offset; then their blocks are given back. Files of dead writers that are left without a field are
//     deleted, the index first (maintenance.hpp).
//
// On object storage nothing is appended to, renamed or locked; an object comes into being whole, or not at
// all, and of several puts that ask for a new name just one succeeds. There the same bytes lie in objects,
// and what 1 to 8 say holds:
//
//     STORE/hakobi-store, schema, catalogue      as above; the first two are put only if they are absent
//     STORE/index/<writer>.<id>/<offset>         the log: its header at 0, then one object a flush, at the offset where the last ends
//     STORE/data/<writer>.<id>/<number>          a segment: fields one after the other; the k-th has the offsets from k << 36 on
//     STORE/moving/<id>                          while the store is being moved
//
//  O1. A flush puts its segments first and then one commit object, its records, which is the commit (3). So a
//      data file has gaps between its segments, no field lies in two of them, and a field's offset names its
//      object: a reader asks nobody for it. The fields of a segment are all of one flush.
//  O2. A commit object is put under the log's end, and only if that name is absent: a log is a chain in which
//      each name follows from the one before, and whoever puts something at its end, be it the writer or
//      another, is the only one to do so.
//  O3. A log ends with a record of the kind `end`. Its writer puts it when it closes. After that nothing can
//      be added, ever: the writer's next commit finds the name taken, and is an error that says so.
//  O4. Whether a writer lives, O3 says, and where there is no end: its process, which the header names, if it
//      was one of this machine; else the age of its newest object, ten minutes. That is a guess: a request of
//      a dead process may still be on its way, and a slow writer may only seem dead. Hence whoever goes by it
//      puts the end himself first (Place::is_over), and reads then. A guess that was wrong costs a writer its
//      unflushed fields, and it is told; nothing flushed is lost.
//  O5. A put whose answer is lost is asked for again. `exists` is then held against the bytes that lie there:
//      they may be ours. A writer that cannot find out puts the end, and goes by which of the two is there
//      (OwnLog::cut).
//  O6. A reader lists STORE/index/ once a look, and reads the commit objects that are new; a name that is
//      missing between two is asked for, since a listing may lag, and else told as damage. On RADOS the names
//      are entries of the marker (Objects::keep_names). A log that is listed and gone is passed over: it was
//      removed, and its name does not come back.
//  O7. A log is removed by its header first, its end last. A writer looks for its header after each commit:
//      none, and it was ended though the end is gone again. `recover` removes a log without a header.
//      Segments go whole, when no field is left.
//  O8. A dead writer's bytes behind its last commit are whole segments, at offsets from its last
//      data_end_bytes on.
//
// Numbers in headers are little-endian (`order` tells), in payloads packed (pack.hpp).

namespace hakobi::store {

inline constexpr std::uint32_t format_version = 1;
inline constexpr std::uint64_t index_magic = 0x3158444e4249'4b48;  // "HKIBNDX1"
inline constexpr std::uint64_t record_magic = 0x0a54494d4d4f4b48;  // "HKOMMIT\n"
inline constexpr std::uint32_t byte_order_mark = 0x01020304;
/// Offsets from one segment to the next: more than any object has bytes. A writer has room for 2^24 of them
/// below the largest offset that a record may hold.
inline constexpr std::int64_t segment_span_bytes = std::int64_t{1} << 36;
inline constexpr std::int64_t most_offset_bytes = std::int64_t{1} << 60;

enum class RecordKind : std::uint32_t { commit = 1, wipe = 2, end = 3 };

/// The head of an index file: magic, checksum of the rest, then these.
struct IndexHeader {
    std::uint32_t version = format_version;
    std::uint64_t id = 0;  ///< random; part of the file's name
    std::int64_t created_ns = 0;
    std::string writer;
    std::string host;
    std::int64_t pid = 0;
    std::string process = {};  ///< on object storage: tells the process from all others, also later ones
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

/// The contents of a part of a log, read from `begin_bytes` of the file on.
struct LogScan {
    std::int64_t end_bytes = 0;         ///< where the last whole record ends, in the file
    std::int64_t torn_bytes = 0;        ///< behind it: an unfinished record
    bool is_tail_damaged = false;       ///< what lies there is no record cut off by a kill: it was whole once
    std::vector<std::int64_t> damaged;  ///< file offsets of broken records that whole ones follow
};
LogScan scan_log(std::span<const std::byte> log, std::int64_t begin_bytes, std::uint64_t id,
                 const std::function<void(const Record&)>& take);

/// The part of the key that a group's fields have in common: all but the values of the field level.
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
