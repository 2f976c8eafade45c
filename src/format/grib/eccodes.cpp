#include "format/grib/eccodes.hpp"

#include <dlfcn.h>

#include <array>

#include "base/library.hpp"

namespace hakobi::format::grib {
namespace {

// Deep binding: another copy of ecCodes in the process (FDB's wheel brings its own) must not answer for this
// one.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int binding = 0;  // the sanitizers end a program that binds deeply
#else
constexpr int binding = RTLD_DEEPBIND;
#endif

}  // namespace

Status Eccodes::load() {
    const Result<Library> loaded = Library::load({"libeccodes.so.0", "libeccodes.so"}, "HAKOBI_ECCODES",
                                                 "this needs ECMWF's ecCodes", "libeccodes0", binding);
    if (!loaded.ok()) return loaded.status();
    const Library& library = loaded.value();
    const bool found =
        library.find("codes_handle_new_from_message", new_from_message) &&
        library.find("codes_handle_new_from_message_copy", new_from_message_copy) &&
        library.find("codes_grib_handle_new_from_samples", new_from_samples) &&
        library.find("codes_handle_delete", delete_handle) &&
        library.find("codes_get_message", get_message) && library.find("codes_get_string", get_string) &&
        library.find("codes_get_long", get_long) && library.find("codes_get_size", get_size) &&
        library.find("codes_get_long_array", get_long_array) &&
        library.find("codes_get_double_array", get_double_array) &&
        library.find("codes_set_long", set_long) && library.find("codes_set_double", set_double) &&
        library.find("codes_set_string", set_string) &&
        library.find("codes_set_long_array", set_long_array) &&
        library.find("codes_set_double_array", set_double_array) &&
        library.find("codes_get_error_message", error_message) &&
        library.find("codes_keys_iterator_new", new_iterator) &&
        library.find("codes_keys_iterator_next", next) &&
        library.find("codes_keys_iterator_get_name", name) &&
        library.find("codes_keys_iterator_delete", delete_iterator) &&
        library.find("codes_get_api_version", api_version);
    if (!found)
        return {ErrorCode::unsupported, "the ecCodes library lacks a function that every version has"};
    return {};
}

Result<Eccodes*> Eccodes::get() {
    // Kept to the end: threads may use it while static objects are destroyed.
    static Eccodes* const library = new Eccodes;
    static const Status loaded = library->load();
    if (!loaded.ok()) return loaded;
    return library;
}

std::optional<std::string> Handle::text(const char* key) const {
    std::array<char, 512> text{};
    std::size_t length = text.size();
    if (eccodes_->get_string(handle_, key, text.data(), &length) != 0) return {};
    return text.data();
}

std::optional<long> Handle::number(const char* key) const {
    constexpr long missing = 0x7fffffff;
    long value = missing;
    if (eccodes_->get_long(handle_, key, &value) != 0 || value == missing) return {};
    return value;
}

Status Eccodes::status(int error, const std::string& what, ErrorCode code) const {
    if (error == 0) return {};
    return {code, what + ": " + error_message(error)};
}

}  // namespace hakobi::format::grib
