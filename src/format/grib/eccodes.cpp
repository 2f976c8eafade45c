#include "format/grib/eccodes.hpp"

#include <dlfcn.h>

#include <array>
#include <cstdlib>

namespace hakobi::format::grib {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int binding = 0;  // the sanitizers end a program that binds deeply
#else
constexpr int binding = RTLD_DEEPBIND;
#endif

/// Deep binding: another copy of ecCodes in the process (FDB's wheel brings its own) must not answer for this one.
void* open_library(std::string& tried) {
    const char* named = std::getenv("HAKOBI_ECCODES");
    for (const char* name : {"libeccodes.so.0", "libeccodes.so"}) {
        const char* file = named != nullptr && *named != '\0' ? named : name;
        if (void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL | binding)) return library;
        const char* why = dlerror();
        if (tried.empty()) tried = why != nullptr ? why : file;
        if (file == named) break;
    }
    return nullptr;
}

template <class Function>
bool find(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    return function != nullptr;
}

}  // namespace

Status Eccodes::load() {
    std::string tried;
    void* library = open_library(tried);
    if (library == nullptr) {
        return {ErrorCode::unsupported,
                "this needs ECMWF's ecCodes, which was not found (" + tried +
                    "): install Debian's libeccodes0 or name the library in HAKOBI_ECCODES"};
    }
    const bool found =
        find(library, "codes_handle_new_from_message", new_from_message) &&
        find(library, "codes_handle_new_from_message_copy", new_from_message_copy) &&
        find(library, "codes_grib_handle_new_from_samples", new_from_samples) &&
        find(library, "codes_handle_delete", delete_handle) &&
        find(library, "codes_get_message", get_message) && find(library, "codes_get_string", get_string) &&
        find(library, "codes_get_long", get_long) && find(library, "codes_get_size", get_size) &&
        find(library, "codes_get_long_array", get_long_array) &&
        find(library, "codes_get_double_array", get_double_array) &&
        find(library, "codes_set_long", set_long) && find(library, "codes_set_double", set_double) &&
        find(library, "codes_set_string", set_string) &&
        find(library, "codes_set_long_array", set_long_array) &&
        find(library, "codes_set_double_array", set_double_array) &&
        find(library, "codes_get_error_message", error_message) &&
        find(library, "codes_keys_iterator_new", new_iterator) &&
        find(library, "codes_keys_iterator_next", next) &&
        find(library, "codes_keys_iterator_get_name", name) &&
        find(library, "codes_keys_iterator_delete", delete_iterator) &&
        find(library, "codes_get_api_version", api_version);
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
