#include "series/pending_commit.hpp"

#include <algorithm>
#include <cassert>
#include <set>

#include "base/bytes.hpp"
#include "base/checksum.hpp"
#include "series/series.hpp"
#include "series/step_file.hpp"
#include "storage/file.hpp"

namespace hakobi::series {
namespace {

constexpr std::uint64_t commit_magic = 0x316d6d6f636b6168;  // "hakcomm1"
/// Where its receipts begin: more than a step's metadata take. Between these and there the file has no
/// storage.
constexpr std::int64_t receipts_at = std::int64_t{256} << 20;

struct CommitHeader {
    std::uint64_t magic = 0;
    std::int64_t bytes = 0;   // behind it
    std::uint64_t check = 0;  // of them
};
constexpr std::int64_t header_bytes = sizeof(CommitHeader);

Status no_commit(const std::string& path) {
    return {ErrorCode::format, path + ": it is damaged"};
}

std::set<std::string> links_of(const format::StepDescription& step) {
    std::set<std::string> links;
    for (const format::FieldDescription& field : step.fields)
        if (!field.file.empty()) links.insert(field.file);
    return links;
}

}  // namespace

std::string commit_path(const Step& step) {
    const Name file = parse(step.path);
    return part_path(step_path(file.prefix, step.number, file.extension).append(commit_suffix),
                     token(step.run, step.number));
}

bool has_pending_commit(const Step& step) {
    return step.step_in_file >= 0 && step.place->limits().keeps_names;
}

ReceiptOf receipt_of_commit(const Step& step) {
    if (!has_pending_commit(step) || !step.place->limits().has_system_names) return {};
    return {.token = token(step.run, step.number),
            .file_bytes = receipts_at,
            .path = step.place->system_name(commit_path(step))};
}

Status leave_commit(const Step& step, std::span<const std::byte> before) {
    assert(has_pending_commit(step) && !step.layout.commit.empty());
    assert(before.size() <= step.layout.commit.back().bytes.size());
    ByteWriter writer;
    writer.put_text(file_name(step.path));
    writer.put_text(file_name(step.part_path));
    writer.put(step.layout.file_bytes);
    writer.put_all(std::vector<std::byte>(before.begin(), before.end()));
    writer.put(std::ssize(step.layout.commit));
    for (const format::Extent& extent : step.layout.commit) {
        writer.put(extent.offset_bytes);
        writer.put_all(extent.bytes);
    }
    // Commits of earlier versions end here.
    for (const std::string& link : links_of(step.description)) writer.put_text(link);
    const std::vector<std::byte> content = writer.take();
    const CommitHeader header{
        .magic = commit_magic, .bytes = std::ssize(content), .check = checksum_of(content)};
    const std::string path = commit_path(step);
    if (header.bytes > receipts_at - header_bytes)
        return {ErrorCode::unsupported, path + ": the step's metadata are larger than 256 MiB"};
    Result<storage::FilePtr> file = storage::open_file(
        path, {.read = false, .write = true, .create = true, .exclusive = true, .regular_only = true});
    if (!file.ok()) return file.status();
    Discarding discarding(path);
    Status status = file.value()->write_at(content, header_bytes);
    if (status.ok()) status = file.value()->write_at(std::as_bytes(std::span(&header, 1)), 0);
    status.keep_first(file.value()->close());
    if (status.ok()) discarding.keep();
    return status;
}

Result<PendingCommit> read_pending_commit(const std::string& path) {
    Result<storage::FilePtr> file = storage::open_file(path, {.regular_only = true});
    if (!file.ok()) return file.status();
    CommitHeader header;
    const Result<std::int64_t> size = file.value()->size_bytes();
    const Result<std::int64_t> read = file.value()->read_at(std::as_writable_bytes(std::span(&header, 1)), 0);
    if (!size.ok() || !read.ok()) return size.ok() ? read.status() : size.status();
    if (read.value() != header_bytes || header.magic != commit_magic || header.bytes < 0 ||
        header.bytes > std::min(size.value(), receipts_at) - header_bytes)
        return no_commit(path);
    std::vector<std::byte> content(static_cast<std::size_t>(header.bytes));
    const Result<std::int64_t> rest = file.value()->read_at(content, header_bytes);
    if (!rest.ok()) return rest.status();
    if (rest.value() != header.bytes || checksum_of(content) != header.check) return no_commit(path);
    ByteReader reader(content);
    PendingCommit pending;
    pending.name = reader.get_text();
    pending.part_name = reader.get_text();
    pending.file_bytes = reader.get<std::int64_t>();
    pending.before = reader.get_all<std::byte>();
    constexpr std::size_t least_extent_bytes = 2 * sizeof(std::int64_t);
    pending.commit.resize(static_cast<std::size_t>(reader.get_count(least_extent_bytes)));
    bool is_inside = pending.file_bytes >= 0;
    for (format::Extent& extent : pending.commit) {
        extent.offset_bytes = reader.get<std::int64_t>();
        extent.bytes = reader.get_all<std::byte>();
        is_inside = is_inside && extent.offset_bytes >= 0 &&
                    extent.offset_bytes <= pending.file_bytes - std::ssize(extent.bytes);
    }
    while (reader.ok() && !reader.at_end()) pending.links.push_back(reader.get_text());
    // Nothing but a step's file of the same prefix is ever written to, or looked for.
    const std::string folder = folder_of(path) + "/";
    const Name own = parse(path), taking = parse(folder + pending.name),
               unnamed = parse(folder + pending.part_name);
    const auto is_of_prefix = [&](const Name& name, const std::string& given) {
        return given.find('/') == std::string::npos && name.kind == Kind::step &&
               name.extension == own.extension && file_name(name.prefix) == file_name(own.prefix);
    };
    const auto is_link = [&](const std::string& link) {
        const Name name = parse(folder + link);
        return link.find('/') == std::string::npos && (name.kind == Kind::step || name.kind == Kind::mesh) &&
               !name.is_temporary() && file_name(name.prefix) == file_name(own.prefix);
    };
    if (!reader.ok() || !std::ranges::all_of(pending.links, is_link) || pending.commit.empty() ||
        !is_inside || pending.before.size() > pending.commit.back().bytes.size() ||
        !is_of_prefix(taking, pending.name) || taking.is_temporary() ||
        !is_of_prefix(unnamed, pending.part_name))
        return no_commit(path);
    return pending;
}

Result<std::string> carry_out(const PendingCommit& pending, const std::string& folder) {
    const std::string path = folder + "/" + pending.name, part = folder + "/" + pending.part_name;
    const bool has_name = part == path || !storage::facts_of(part).is_there();
    const std::string& file = has_name ? path : part;
    const std::vector<std::byte>& after = pending.commit.back().bytes;
    Result<std::vector<std::byte>> begins = read_beginning(file, std::ssize(after));
    if (begins.status().code() == ErrorCode::not_found) return Status(ErrorCode::format, file + " is gone");
    if (!begins.ok()) return begins.status();
    if (!std::ranges::equal(begins.value(), after)) {
        for (const std::string& link : pending.links) {
            if (!storage::facts_of(folder + "/" + link).is_there())
                return Status(ErrorCode::format, "it needs " + link + ", which is not there");
        }
        begins.value().resize(std::min(begins.value().size(), pending.before.size()));
        if (begins.value() != pending.before || (pending.before.empty() && has_name))
            return Status(ErrorCode::format, file + " has not the step before it");
        Status status = make_longer(file, pending.file_bytes);
        if (status.ok()) status = commit_step(file, pending.commit, pending.before, true);
        if (!status.ok()) return status;
    }
    if (!has_name) {
        if (Status status = finish_file(part, path, true); !status.ok()) return status;
    }
    return path;
}

}  // namespace hakobi::series
