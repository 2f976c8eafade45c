#include <hakobi/version.hpp>

// HAKOBI_PROJECT_VERSION is CMakeLists.txt's number.
static_assert(std::string_view(HAKOBI_VERSION) == HAKOBI_PROJECT_VERSION,
              "include/hakobi/version.h has another version than CMakeLists.txt");
static_assert(HAKOBI_VERSION_MAJOR * 10000 + HAKOBI_VERSION_MINOR * 100 + HAKOBI_VERSION_PATCH ==
                  HAKOBI_PROJECT_NUMBER,
              "the numbers of include/hakobi/version.h are not those of CMakeLists.txt");

std::string_view hakobi::version() noexcept {
    return HAKOBI_VERSION;
}
