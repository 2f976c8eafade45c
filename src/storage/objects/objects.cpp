#include "storage/objects.hpp"

#include <algorithm>
#include <array>

#include "storage/objects/stores.hpp"

namespace hakobi::storage {
namespace {

struct Store {
    std::string_view scheme;
    Result<ObjectsPtr> (*open)(const std::string& root);
};
constexpr std::array stores = {
    Store{"memory:", open_memory_objects},
    Store{"posix:", open_folder_objects},
    Store{"s3:", open_s3_objects},
    Store{"rados:", open_rados_objects},
};

const Store* find_store(std::string_view root) {
    const auto* const found =
        std::ranges::find_if(stores, [&](const Store& store) { return root.starts_with(store.scheme); });
    return found == stores.end() ? nullptr : found;
}

bool is_utf8(std::string_view text) {
    for (std::size_t i = 0; i < text.size();) {
        const auto first = static_cast<unsigned char>(text[i]);
        const std::size_t length = first < 0x80 ? 1 : first >> 5 == 6 ? 2 : first >> 4 == 14 ? 3 : 4;
        if (first >= 0x80 && (first < 0xc2 || first > 0xf4)) return false;
        if (i + length > text.size()) return false;
        for (std::size_t next = i + 1; next < i + length; ++next) {
            if ((static_cast<unsigned char>(text[next]) & 0xc0) != 0x80) return false;
        }
        i += length;
    }
    return true;
}

Status no_uploads(const Objects& objects) {
    return {ErrorCode::unsupported, objects.root() + ": this storage has no uploads in parts"};
}

}  // namespace

Result<ObjectsPtr> open_objects(const std::string& root) {
    const Store* const store = find_store(root);
    if (store == nullptr) return open_folder_objects(root);
    return store->open(root.substr(store->scheme.size()));
}

Status replaced_before(const std::string& place) {
    return {ErrorCode::exists,
            place + " is not what it was: another program has replaced or removed it since it was read"};
}

Status check_object_name(std::string_view name) {
    constexpr std::size_t most_bytes = 900;  // S3 takes 1,024 with the prefix, Ceph 2,048
    const auto wrong = [&](std::string_view why) {
        return Status(ErrorCode::invalid_argument,
                      "object name '" + std::string(name.substr(0, 100)) + "': " + std::string(why));
    };
    if (name.empty()) return wrong("it is empty");
    if (name.size() > most_bytes) return wrong("longer than 900 bytes");
    const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
    if (std::ranges::any_of(name, is_control))
        return {ErrorCode::invalid_argument, "an object name with control characters"};
    if (!is_utf8(name)) return {ErrorCode::invalid_argument, "an object name that is not UTF-8"};
    for (std::size_t begin = 0; begin <= name.size();) {
        const std::size_t end = std::min(name.find('/', begin), name.size());
        const std::string_view segment = name.substr(begin, end - begin);
        if (segment.empty()) return wrong("a slash too many");
        if (segment == "." || segment == "..") return wrong("a segment '" + std::string(segment) + "'");
        if (segment.starts_with(".hakobi-"))
            return wrong("segments that begin with '.hakobi-' are Hakobi's own");
        begin = end + 1;
    }
    return {};
}

void Objects::keep_names(const std::string& /*prefix*/, const std::string& /*holder*/) {}

Result<std::string> Objects::begin_upload(const std::string& /*name*/) {
    return no_uploads(*this);
}
Result<UploadedPart> Objects::put_part(const std::string& /*name*/, const std::string& /*upload*/,
                                       int /*number*/, std::span<const std::byte> /*bytes*/) {
    return no_uploads(*this);
}
Result<std::vector<UploadedPart>> Objects::parts(const std::string& /*name*/, const std::string& /*upload*/) {
    return no_uploads(*this);
}
Status Objects::complete_upload(const std::string& /*name*/, const std::string& /*upload*/,
                                std::span<const UploadedPart> /*parts*/, const PutMode& /*mode*/) {
    return no_uploads(*this);
}
Status Objects::abort_upload(const std::string& /*name*/, const std::string& /*upload*/) {
    return no_uploads(*this);
}
Result<std::vector<OpenUpload>> Objects::uploads(const std::string& /*prefix*/) {
    return no_uploads(*this);
}

}  // namespace hakobi::storage
