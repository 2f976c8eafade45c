#include "store/folder.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <vector>

#include "base/nearest.hpp"
#include "base/parallel.hpp"

namespace hakobi::store {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view marker_text = "hakobi field store\nformat ";

std::string text_of(const std::vector<std::byte>& bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::span<const std::byte> bytes_of(std::string_view text) {
    return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

void check_marker(const std::string& path, const std::vector<std::byte>& bytes) {
    const std::string text = text_of(bytes);
    unsigned version = 0;
    if (!text.starts_with(marker_text) ||
        std::from_chars(text.data() + marker_text.size(), text.data() + text.size(), version).ec !=
            std::errc()) {
        throw Error(ErrorCode::format, path + "/" + std::string(marker_name) + " is damaged");
    }
    if (version > format_version) {
        throw Error(ErrorCode::unsupported, "the store " + path + " is written by a newer version (format " +
                                                std::to_string(version) + ", this one reads " +
                                                std::to_string(format_version) + ")");
    }
}

/// A server is asked for both at once.
struct MarkerAndSchema {
    Result<std::vector<std::byte>> marker = std::vector<std::byte>(), schema = std::vector<std::byte>();
};
MarkerAndSchema read_both(Place& place) {
    MarkerAndSchema both;
    for_each_parallel(2, place.is_folder() ? 1 : 2, "hakobi-open", [&](std::size_t part) -> Status {
        (part == 0 ? both.marker : both.schema) = place.read(part == 0 ? marker_name : schema_name);
        return {};
    }).throw_if_error();
    return both;
}

Schema parse_schema(const Place& place, const Result<std::vector<std::byte>>& bytes) {
    bytes.status().throw_if_error();
    Result<Schema> schema =
        Schema::parse(text_of(bytes.value()), place.path() + "/" + std::string(schema_name));
    schema.status().throw_if_error();
    return std::move(schema).value();
}

/// Several processes may be at it: each file comes whole and once, the marker last.
void make_store(Place& place, const std::string& text, std::string_view asked) {
    Schema::parse(text, shipped_schema(asked).empty() ? asked : "schema").status().throw_if_error();
    const Result<std::string> in_the_way = place.in_the_way();
    in_the_way.status().throw_if_error();
    if (!in_the_way.value().empty()) {
        // Another process may have finished meanwhile, and have begun to write.
        const auto marker = place.size_of(marker_name);
        if (marker.ok() && marker.value()) return;
        throw Error(ErrorCode::exists, "cannot make a store in " + place.path() + ": the " +
                                           (place.is_folder() ? "folder" : "prefix") + " holds " +
                                           in_the_way.value());
    }
    place.write(schema_name, bytes_of(text), Place::IfExists::keep).throw_if_error();
    const std::string marker = std::string(marker_text) + std::to_string(format_version) + "\n";
    place.write(marker_name, bytes_of(marker), Place::IfExists::keep).throw_if_error();
}

std::string without_slashes(std::string_view path) {
    if (path.empty()) throw Error(ErrorCode::invalid_argument, "a store's path is empty");
    check_address(path);
    while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
    return std::string(path);
}

}  // namespace

std::string schema_text(std::string_view asked) {
    if (const std::string_view shipped = shipped_schema(asked); !shipped.empty()) return std::string(shipped);
    const std::string path(asked);
    if (!fs::exists(path)) {
        std::vector<std::string_view> names;
        std::string list;
        for (const ShippedSchema& shipped : shipped_schemas()) {
            names.push_back(shipped.name);
            list.append(list.empty() ? "" : ", ").append(shipped.name);
        }
        const std::string nearest = nearest_name(asked, names);
        throw Error(ErrorCode::not_found, "no schema '" + path + "': neither a shipped one (" + list +
                                              ") nor a file" +
                                              (nearest.empty() ? "" : "; did you mean '" + nearest + "'?"));
    }
    Result<std::vector<std::byte>> bytes = storage::read_whole(path);
    bytes.status().throw_if_error();
    return text_of(bytes.value());
}

Folder Folder::open(std::string_view path, std::string_view schema) {
    if (schema.empty()) return open_with(path, "", "");
    const std::string where = without_slashes(path);  // before the schema's errors
    return open_with(where, schema_text(schema), schema);
}

Folder Folder::open_with(std::string_view path, const std::string& text, std::string_view name) {
    return open_at(open_place(without_slashes(path)), text, name);
}

Folder Folder::open_at(PlacePtr place, const std::string& text, std::string_view name) {
    const std::string& where = place->path();
    MarkerAndSchema both = read_both(*place);
    const Result<std::vector<std::byte>>& marker = both.marker;
    if (marker.status().code() == ErrorCode::not_found) {
        if (text.empty() && place->is_folder()) {
            throw Error(ErrorCode::not_found,
                        fs::exists(where) ? where + " is not a field store" : "no field store at " + where);
        }
        if (text.empty())
            throw Error(ErrorCode::not_found, "no field store at " + where + ": " + marker.status().text());
        make_store(*place, text, name);
        both = read_both(*place);
    }
    marker.status().throw_if_error();
    check_marker(where, marker.value());
    Schema found = parse_schema(*place, both.schema);
    if (!text.empty() && found.text() != text) {
        throw Error(ErrorCode::exists, "the store " + where + " has another schema than " +
                                           std::string(name) + ": see " + where + "/" +
                                           std::string(schema_name));
    }
    return {std::move(place), std::move(found)};
}

bool Folder::is_there(std::string_view path) {
    const auto marker = open_place(without_slashes(path))->size_of(marker_name);
    marker.status().throw_if_error();
    return marker.value().has_value();
}

bool Folder::is_store() const {
    const auto marker = place_->size_of(marker_name);
    marker.status().throw_if_error();
    return marker.value().has_value();
}

bool is_writer_name(std::string_view name) {
    const auto fits = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
               c == '_' || c == '-';
    };
    return !name.empty() && name.size() <= 100 && name[0] != '.' && std::ranges::all_of(name, fits);
}

}  // namespace hakobi::store
