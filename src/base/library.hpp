#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "base/status.hpp"

namespace hakobi {

/// A shared library that is loaded when it is needed, and stays.
class Library {
  public:
    /// The first that is there, or the one that the environment variable `variable` names. `binding` is for
    /// dlopen, beside RTLD_NOW and RTLD_LOCAL. `unsupported`: "`what` needs … which was not found (…):
    /// install `package` or name the library in `variable`".
    static Result<Library> load(std::initializer_list<const char*> names, const char* variable,
                                std::string_view what, std::string_view package, int binding = 0);
    template <class Function>
    bool find(const char* name, Function& function) const {
        function = reinterpret_cast<Function>(symbol(name));
        return function != nullptr;
    }

  private:
    explicit Library(void* handle) : handle_(handle) {}
    [[nodiscard]] void* symbol(const char* name) const;
    void* handle_;
};

}  // namespace hakobi
