#include "store/format.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "base/checksum.hpp"
#include "store/pack.hpp"

namespace hakobi::store {

namespace {

// Before what a checksum covers: the magic number and the checksum itself.
constexpr std::size_t covered_at = 16;
// magic, checksum of what follows, kind, num_fields, sequence, stamp, data end, payload length, checksum of
// the head
constexpr std::size_t head_checksum_at = covered_at + 4 + 4 + 4 * 8;
constexpr std::size_t record_head_bytes = head_checksum_at + 8;
constexpr std::size_t max_header_bytes = 4096;

constexpr std::uint64_t form_changes = 1, length_changes = 2, has_gap = 4;
constexpr unsigned first_code_bit = 3;

template <class T>
T value_at(std::span<const std::byte> bytes, std::size_t at) {
    T value{};
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
}

void seal(std::vector<std::byte>& bytes, std::uint64_t seed) {
    const std::uint64_t checksum = checksum_of(std::span(bytes).subspan(covered_at), seed);
    std::memcpy(bytes.data() + 8, &checksum, sizeof checksum);
}

/// Whether a record's head stands here, with a length that can be believed.
bool has_head(std::span<const std::byte> bytes, std::uint64_t id) {
    return bytes.size() >= record_head_bytes && value_at<std::uint64_t>(bytes, 0) == record_magic &&
           checksum_of(bytes.subspan(covered_at, head_checksum_at - covered_at), id) ==
               value_at<std::uint64_t>(bytes, head_checksum_at);
}

/// Whether `bytes` are the beginning of a record, cut off: what a kill leaves.
bool is_unfinished(std::span<const std::byte> bytes, std::uint64_t id) {
    if (bytes.size() >= record_head_bytes) {
        return has_head(bytes, id) &&
               value_at<std::uint64_t>(bytes, covered_at + 32) > bytes.size() - record_head_bytes;
    }
    return std::memcmp(bytes.data(), &record_magic, std::min(bytes.size(), sizeof record_magic)) == 0;
}

/// The record at the head of `bytes`, or false where none is whole.
bool parse_record(std::span<const std::byte> bytes, std::uint64_t id, Record& record, std::size_t& length) {
    if (!has_head(bytes, id)) return false;
    const auto payload_bytes = value_at<std::uint64_t>(bytes, covered_at + 32);
    if (payload_bytes > bytes.size() - record_head_bytes) return false;
    length = record_head_bytes + static_cast<std::size_t>(payload_bytes);
    if (checksum_of(bytes.subspan(covered_at, length - covered_at), id) !=
        value_at<std::uint64_t>(bytes, 8)) {
        return false;
    }
    record.kind = static_cast<RecordKind>(value_at<std::uint32_t>(bytes, covered_at));
    record.num_fields = value_at<std::uint32_t>(bytes, covered_at + 4);
    record.sequence = value_at<std::uint64_t>(bytes, covered_at + 8);
    record.stamp_ns = value_at<std::int64_t>(bytes, covered_at + 16);
    record.data_end_bytes = value_at<std::int64_t>(bytes, covered_at + 24);
    record.payload = bytes.subspan(record_head_bytes, length - record_head_bytes);
    return true;
}

/// Where the next whole record begins, or the end.
std::size_t next_record(std::span<const std::byte> log, std::size_t from, std::uint64_t id) {
    Record record;
    std::size_t length = 0;
    while (from < log.size()) {
        const void* found =
            ::memmem(log.data() + from, log.size() - from, &record_magic, sizeof record_magic);
        if (found == nullptr) break;
        const auto at = static_cast<std::size_t>(static_cast<const std::byte*>(found) - log.data());
        if (parse_record(log.subspan(at), id, record, length)) return at;
        from = at + 1;
    }
    return log.size();
}

Status damaged(std::string text) {
    return {ErrorCode::format, std::move(text)};
}

bool unpack_texts(Unpacker& unpacker, std::vector<std::string>& texts) {
    const std::size_t count = unpacker.get_count();
    texts.reserve(count);
    for (std::size_t i = 0; i < count; ++i) texts.emplace_back(unpacker.get_text());
    return unpacker.ok();
}

bool unpack_rows(Unpacker& unpacker, GroupRows& group) {
    const std::size_t num_keywords = group.dictionaries.size();
    const std::size_t num_rows = unpacker.get_count();
    group.codes.reserve(num_rows * num_keywords);
    std::vector<std::uint32_t> code(num_keywords, 0);
    std::uint32_t form = 0;
    std::int64_t length = 0, end = 0;
    for (std::size_t row = 0; row < num_rows; ++row) {
        const std::uint64_t changes = unpacker.get();
        for (std::size_t k = 0; k < num_keywords; ++k) {
            if ((changes >> (first_code_bit + k) & 1U) != 0)
                code[k] = static_cast<std::uint32_t>(unpacker.get());
            if (code[k] >= group.dictionaries[k].size()) return false;
            group.codes.push_back(code[k]);
        }
        if ((changes & form_changes) != 0) form = static_cast<std::uint32_t>(unpacker.get());
        if (form >= group.forms.size()) return false;
        if ((changes & length_changes) != 0) length = static_cast<std::int64_t>(unpacker.get());
        const std::int64_t gap = (changes & has_gap) != 0 ? unpacker.get_signed() : 0;
        constexpr std::int64_t limit = most_offset_bytes;
        if (length <= 0 || length > limit || gap < -limit || gap > limit || end + gap < 0 ||
            end + gap > limit) {
            return false;
        }
        group.form_codes.push_back(form);
        group.offsets.push_back(end + gap);
        group.lengths.push_back(length);
        group.checksums.push_back(unpacker.get_fixed<std::uint64_t>());
        end += gap + length;
        if (!unpacker.ok()) return false;
    }
    return true;
}

}  // namespace

std::vector<std::byte> encode_header(const IndexHeader& header) {
    Packer packer;
    packer.put_fixed(index_magic);
    packer.put_fixed(std::uint64_t{0});
    packer.put_fixed(header.version);
    packer.put_fixed(byte_order_mark);
    const std::size_t length_at = packer.bytes().size();
    packer.put_fixed(std::uint32_t{0});
    packer.put_fixed(header.id);
    packer.put_fixed(header.created_ns);
    packer.put_text(header.writer);
    packer.put_text(header.host);
    packer.put_signed(header.pid);
    if (!header.process.empty()) packer.put_text(header.process);
    std::vector<std::byte> bytes = std::move(packer.bytes());
    const auto length = static_cast<std::uint32_t>(bytes.size());
    std::memcpy(bytes.data() + length_at, &length, sizeof length);
    seal(bytes, 0);
    return bytes;
}

Result<DecodedHeader> decode_header(std::span<const std::byte> file) {
    constexpr std::size_t fixed_bytes = covered_at + 12;
    if (file.size() < fixed_bytes || value_at<std::uint64_t>(file, 0) != index_magic) {
        return damaged("no index of a field store");
    }
    Unpacker fixed(file.subspan(covered_at));
    DecodedHeader decoded;
    decoded.header.version = fixed.get_fixed<std::uint32_t>();
    const auto order = fixed.get_fixed<std::uint32_t>();
    const auto length = fixed.get_fixed<std::uint32_t>();
    if (order != byte_order_mark) {
        return Status(ErrorCode::unsupported, "written on a machine of another byte order");
    }
    if (decoded.header.version > format_version) {
        return Status(ErrorCode::unsupported, "written by a newer version (format " +
                                                  std::to_string(decoded.header.version) +
                                                  ", this one reads " + std::to_string(format_version) + ")");
    }
    if (length < fixed_bytes || length > max_header_bytes || length > file.size() ||
        checksum_of(file.subspan(covered_at, length - covered_at)) != value_at<std::uint64_t>(file, 8)) {
        return damaged("its header is damaged");
    }
    Unpacker rest(file.subspan(fixed_bytes, length - fixed_bytes));
    decoded.header.id = rest.get_fixed<std::uint64_t>();
    decoded.header.created_ns = rest.get_fixed<std::int64_t>();
    decoded.header.writer = rest.get_text();
    decoded.header.host = rest.get_text();
    decoded.header.pid = rest.get_signed();
    if (!rest.at_end()) decoded.header.process = rest.get_text();
    if (!rest.ok()) return damaged("its header is damaged");
    decoded.length_bytes = length;
    return decoded;
}

std::vector<std::byte> encode_record(const Record& record, std::uint64_t id) {
    Packer packer;
    packer.put_fixed(record_magic);
    packer.put_fixed(std::uint64_t{0});
    packer.put_fixed(static_cast<std::uint32_t>(record.kind));
    packer.put_fixed(record.num_fields);
    packer.put_fixed(record.sequence);
    packer.put_fixed(record.stamp_ns);
    packer.put_fixed(record.data_end_bytes);
    packer.put_fixed(static_cast<std::uint64_t>(record.payload.size()));
    packer.put_fixed(checksum_of(std::span(packer.bytes()).subspan(covered_at), id));
    packer.append(record.payload.data(), record.payload.size());
    seal(packer.bytes(), id);
    return std::move(packer.bytes());
}

LogScan scan_log(std::span<const std::byte> log, std::int64_t begin_bytes, std::uint64_t id,
                 const std::function<void(const Record&)>& take) {
    LogScan scan;
    std::size_t at = 0;
    Record record;
    std::size_t length = 0;
    while (at < log.size()) {
        if (parse_record(log.subspan(at), id, record, length)) {
            take(record);
            at += length;
            continue;
        }
        const std::size_t next = next_record(log, at + 1, id);
        if (next == log.size()) break;
        scan.damaged.push_back(begin_bytes + static_cast<std::int64_t>(at));
        at = next;
    }
    scan.end_bytes = begin_bytes + static_cast<std::int64_t>(at);
    scan.torn_bytes = static_cast<std::int64_t>(log.size() - at);
    scan.is_tail_damaged = at < log.size() && !is_unfinished(log.subspan(at), id);
    return scan;
}

void pack_group_name(const GroupName& name, Packer& packer) {
    for (std::size_t level = 0; level < num_levels; ++level) {
        packer.put(name.keywords[level].size());
        for (std::size_t i = 0; i < name.keywords[level].size(); ++i) {
            packer.put_text(name.keywords[level][i].name);
            packer.put_text(name_of(name.keywords[level][i].type));
            if (level < field_level) packer.put_text(name.values[level][i]);
        }
    }
}

void pack_group_name(const SplitKey& key, Packer& packer) {
    for (std::size_t level = 0; level < num_levels; ++level) {
        const std::vector<KeywordRule>& rules = key.rule->levels[level];
        const auto is_kept = [](const KeywordRule& rule) {
            return rule.presence != KeywordRule::Presence::removed;
        };
        packer.put(static_cast<std::uint64_t>(std::ranges::count_if(rules, is_kept)));
        std::size_t i = 0;
        for (const KeywordRule& rule : rules) {
            if (!is_kept(rule)) continue;
            packer.put_text(rule.keyword.name);
            packer.put_text(name_of(rule.keyword.type));
            if (level < field_level) packer.put_text(key.values[level][i]);
            ++i;
        }
    }
}

bool unpack_group_name(Unpacker& unpacker, GroupName& name) {
    for (std::size_t level = 0; level < num_levels; ++level) {
        const std::size_t count = unpacker.get_count();
        // A row's changes are the bits of one number.
        if (level == field_level && count > 64 - first_code_bit) return false;
        for (std::size_t i = 0; i < count; ++i) {
            Keyword keyword{std::string(unpacker.get_text())};
            const auto type = value_type_of(unpacker.get_text());
            if (!type || !unpacker.ok()) return false;
            keyword.type = *type;
            name.keywords[level].push_back(std::move(keyword));
            if (level < field_level) name.values[level].emplace_back(unpacker.get_text());
        }
    }
    return unpacker.ok();
}

void pack_group(const GroupRows& group, Packer& packer) {
    pack_group_name(group.name, packer);
    for (const auto& dictionary : group.dictionaries) {
        packer.put(dictionary.size());
        for (const std::string& value : dictionary) packer.put_text(value);
    }
    packer.put(group.forms.size());
    for (const std::string& form : group.forms) packer.put_text(form);
    packer.put(group.num_rows());
    const std::size_t num_keywords = group.dictionaries.size();
    std::vector<std::uint32_t> code(num_keywords, 0);
    std::uint32_t form = 0;
    std::int64_t length = 0, end = 0;
    for (std::size_t row = 0; row < group.num_rows(); ++row) {
        const std::uint32_t* const codes = group.codes.data() + row * num_keywords;
        const std::int64_t gap = group.offsets[row] - end;
        std::uint64_t changes = (group.form_codes[row] != form ? form_changes : 0) |
                                (group.lengths[row] != length ? length_changes : 0) |
                                (gap != 0 ? has_gap : 0);
        for (std::size_t k = 0; k < num_keywords; ++k) {
            if (codes[k] != code[k]) changes |= std::uint64_t{1} << (first_code_bit + k);
        }
        packer.put(changes);
        for (std::size_t k = 0; k < num_keywords; ++k) {
            if (codes[k] != code[k]) packer.put(code[k] = codes[k]);
        }
        if ((changes & form_changes) != 0) packer.put(form = group.form_codes[row]);
        if ((changes & length_changes) != 0)
            packer.put(static_cast<std::uint64_t>(length = group.lengths[row]));
        if (gap != 0) packer.put_signed(gap);
        packer.put_fixed(group.checksums[row]);
        end = group.offsets[row] + length;
    }
}

Result<std::vector<GroupRows>> decode_commit(std::span<const std::byte> payload) {
    Unpacker unpacker(payload);
    const std::size_t num_groups = unpacker.get_count();
    std::vector<GroupRows> groups;
    for (std::size_t i = 0; i < num_groups; ++i) {
        GroupRows& group = groups.emplace_back();
        bool is_whole = unpack_group_name(unpacker, group.name);
        if (is_whole) group.dictionaries.resize(group.name.keywords[field_level].size());
        for (auto& dictionary : group.dictionaries) is_whole = is_whole && unpack_texts(unpacker, dictionary);
        is_whole = is_whole && unpack_texts(unpacker, group.forms) && unpack_rows(unpacker, group);
        if (!is_whole) return damaged("a commit record that cannot be read");
    }
    if (!unpacker.at_end()) return damaged("a commit record with something behind its end");
    return groups;
}

std::vector<std::byte> encode_wipe(const std::vector<Wiped>& wiped) {
    Packer packer;
    packer.put(wiped.size());
    for (const Wiped& file : wiped) {
        packer.put_fixed(file.id);
        packer.put(file.offsets.size());
        std::int64_t before = 0;
        for (const std::int64_t offset : file.offsets) {
            assert(offset >= before);
            packer.put(static_cast<std::uint64_t>(offset - before));
            before = offset;
        }
    }
    return std::move(packer.bytes());
}

Result<std::vector<Wiped>> decode_wipe(std::span<const std::byte> payload) {
    Unpacker unpacker(payload);
    const std::size_t num_files = unpacker.get_count();
    std::vector<Wiped> wiped;
    for (std::size_t i = 0; i < num_files && unpacker.ok(); ++i) {
        Wiped& file = wiped.emplace_back();
        file.id = unpacker.get_fixed<std::uint64_t>();
        file.offsets.resize(unpacker.get_count());
        std::uint64_t offset = 0;
        for (std::int64_t& entry : file.offsets) {
            offset += unpacker.get();
            entry = static_cast<std::int64_t>(offset & ~(std::uint64_t{1} << 63));
        }
    }
    if (!unpacker.ok() || !unpacker.at_end()) return damaged("a wipe record that cannot be read");
    return wiped;
}

}  // namespace hakobi::store
