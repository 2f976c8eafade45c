#include "storage/objects/put_file.hpp"

#include <algorithm>
#include <cassert>
#include <mutex>

#include "base/parallel.hpp"
#include "storage/file.hpp"

namespace hakobi::storage {
namespace {

constexpr std::int64_t part_bytes = 16 << 20;
constexpr int num_parts_at_once = 4;  // which bounds memory
constexpr int most_reads = 10;        // each means that the object was replaced meanwhile

Status put_in_parts(File& file, std::int64_t file_bytes, const ObjectAt& to, const PutMode& mode,
                    const Pace& pace) {
    const ObjectAbilities& can = to.objects->abilities();
    assert(can.max_parts > 0 && file_bytes > 0);
    const Result<std::vector<OpenUpload>> left = to.objects->uploads(to.name);
    for (const OpenUpload& upload : left.ok() ? left.value() : std::vector<OpenUpload>()) {
        if (upload.name == to.name) (void)to.objects->abort_upload(upload.name, upload.id);
    }
    const std::int64_t fewest = (file_bytes + can.max_parts - 1) / can.max_parts;
    const std::int64_t each = std::max({part_bytes, can.min_part_bytes, fewest});
    const Result<std::string> upload = to.objects->begin_upload(to.name);
    if (!upload.ok()) return upload.status();
    std::vector<UploadedPart> parts(static_cast<std::size_t>((file_bytes + each - 1) / each));
    assert(std::ssize(parts) <= can.max_parts);
    Status status =
        for_each_parallel(parts.size(), num_parts_at_once, "hakobi-carry", [&](std::size_t p) -> Status {
            const std::int64_t begin = static_cast<std::int64_t>(p) * each;
            std::vector<std::byte> bytes(static_cast<std::size_t>(std::min(each, file_bytes - begin)));
            if (!pace(std::ssize(bytes))) return given_up();
            if (Status read = read_exactly(file, begin, bytes); !read.ok()) return read;
            Result<UploadedPart> part =
                to.objects->put_part(to.name, upload.value(), static_cast<int>(p) + 1, bytes);
            if (!part.ok()) return part.status();
            parts[p] = std::move(part).value();
            return {};
        });
    if (status.ok()) status = to.objects->complete_upload(to.name, upload.value(), parts, mode);
    if (!status.ok()) (void)to.objects->abort_upload(to.name, upload.value());
    return status;
}

/// Reads up to `size_bytes`; memory is used as they come, not as a server says.
Result<std::int64_t> read_all(const ObjectAt& object, std::int64_t size_bytes, WholeObject& whole) {
    constexpr std::int64_t most_bytes = 64 << 20;
    std::int64_t total = 0;
    while (total < size_bytes) {
        const std::int64_t wanted = std::min(most_bytes, size_bytes - total);
        whole.bytes.resize(static_cast<std::size_t>(total + wanted));
        const Result<std::int64_t> read = object.objects->get(
            object.name, total, std::span(whole.bytes).last(static_cast<std::size_t>(wanted)),
            {.version = whole.version});
        if (!read.ok()) return read;
        total += read.value();
        if (read.value() < wanted) break;
    }
    return total;
}

}  // namespace

Result<std::optional<WholeObject>> get_object(const ObjectAt& object) {
    for (int tries = 0;; ++tries) {
        const Result<ObjectFacts> facts = object.objects->facts(object.name);
        if (facts.status().code() == ErrorCode::not_found) return std::optional<WholeObject>();
        if (!facts.ok()) return facts.status();
        WholeObject whole{.bytes = {}, .version = facts.value().version};
        const Result<std::int64_t> read = read_all(object, facts.value().size_bytes, whole);
        if (read.ok() && read.value() == facts.value().size_bytes) return std::optional(std::move(whole));
        const bool is_replaced = read.ok() || read.status().code() == ErrorCode::io ||
                                 read.status().code() == ErrorCode::not_found;
        if (is_replaced && tries < most_reads) continue;
        if (!read.ok()) return read.status();
        return Status(ErrorCode::io,
                      object.objects->root() + "/" + object.name + ": it is replaced again and again");
    }
}

std::int64_t most_file_bytes(const ObjectAbilities& abilities) {
    if (abilities.max_parts == 0) return abilities.max_object_bytes;
    return abilities.max_part_bytes > (std::int64_t{1} << 60) / abilities.max_parts
               ? std::int64_t{1} << 60
               : abilities.max_part_bytes * abilities.max_parts;
}

Status put_file(const std::string& from, std::int64_t file_bytes, const ObjectAt& to, const PutMode& mode,
                const Pace& pace) {
    Result<FilePtr> opened = open_file(from, {.regular_only = true});
    if (!opened.ok()) return opened.status();
    File& file = *opened.value();
    const Result<std::int64_t> size = file.size_bytes();
    if (!size.ok()) return size.status();
    if (size.value() != file_bytes)
        return {ErrorCode::format, from + " is damaged: it has " + std::to_string(size.value()) + " of its " +
                                       std::to_string(file_bytes) + " bytes"};
    if (file_bytes > part_bytes && to.objects->abilities().max_parts > 0)
        return put_in_parts(file, file_bytes, to, mode, pace);
    std::vector<std::byte> bytes(static_cast<std::size_t>(file_bytes));
    if (!pace(file_bytes)) return given_up();
    if (Status read = read_exactly(file, 0, bytes); !read.ok()) return read;
    return to.objects->put(to.name, bytes, mode);
}

}  // namespace hakobi::storage
