#include "store/place.hpp"

#include <unistd.h>

#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>

#include "storage/file.hpp"
#include "storage/objects.hpp"
#include "storage/place.hpp"

namespace hakobi::store {

namespace {

// Objects in a folder or, for tests, in memory: what storage/objects.hpp would take for them without a scheme
// of ours.
constexpr std::string_view objects_scheme = "objects:";

}  // namespace

bool is_on_objects(std::string_view path) {
    return path.starts_with(objects_scheme) || storage::limits_of(std::string(path)).is_on_objects;
}

void check_address(std::string_view path) {
    if (!is_on_objects(path) && !storage::scheme_of_address(path).empty())
        storage::no_such_storage(path).throw_if_error();
}

PlacePtr open_place(const std::string& path) {
    if (!is_on_objects(path)) return make_folder_place(path);
    auto objects =
        storage::open_objects(path.starts_with(objects_scheme) ? path.substr(objects_scheme.size()) : path);
    objects.status().throw_if_error();
    return make_object_place(path, std::move(objects).value());
}

void refuse_closed(const std::string& store, const std::string& maker, const std::string& gate_path) {
    throw Error(ErrorCode::exists, "the store " + store + " is being moved (by " + maker +
                                       "): open it there when that is done; if it was killed, remove " +
                                       gate_path);
}

std::optional<std::uint64_t> id_of_stem(std::string_view stem) {
    if (stem.size() < 18 || stem[stem.size() - 17] != '.') return {};
    std::uint64_t id = 0;
    const char* const end = stem.data() + stem.size();
    const auto [stop, problem] = std::from_chars(end - 16, end, id, 16);
    if (problem != std::errc() || stop != end) return {};
    return id;
}

std::string hexadecimal(std::uint64_t number, int num_digits) {
    std::array<char, 17> text{};
    std::snprintf(text.data(), text.size(), "%0*llx", num_digits, static_cast<unsigned long long>(number));
    return text.data();
}

std::string host_name() {
    std::array<char, 256> name{};
    if (::gethostname(name.data(), name.size() - 1) != 0) return "unknown";
    return name.data();
}

std::int64_t wall_clock_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

}  // namespace hakobi::store
