#include "base/library.hpp"

#include <dlfcn.h>

#include <cstdlib>

namespace hakobi {

Result<Library> Library::load(std::initializer_list<const char*> names, const char* variable,
                              std::string_view what, std::string_view package, int binding) {
    const char* const named = std::getenv(variable);
    std::string tried;
    const auto open = [&](const char* file) {
        void* const handle = dlopen(file, RTLD_NOW | RTLD_LOCAL | binding);
        const char* const why = handle == nullptr ? dlerror() : nullptr;
        if (tried.empty() && why != nullptr) tried = why;
        return handle;
    };
    if (named != nullptr && *named != '\0') {
        if (void* const handle = open(named)) return Library(handle);
    } else {
        for (const char* name : names) {
            if (void* const handle = open(name)) return Library(handle);
        }
    }
    return Status(ErrorCode::unsupported, std::string(what) + ", which was not found (" + tried +
                                              "): install Debian's " + std::string(package) +
                                              " or name the library in " + variable);
}

void* Library::symbol(const char* name) const {
    return dlsym(handle_, name);
}

}  // namespace hakobi
