/* The version of these headers, for the preprocessor, in C and C++: hakobi_version() is the library's that
 * the program runs with. CMakeLists.txt has the number; a build that finds another one here stops. */
#ifndef HAKOBI_VERSION_H
#define HAKOBI_VERSION_H

#define HAKOBI_VERSION_MAJOR 0
#define HAKOBI_VERSION_MINOR 2
#define HAKOBI_VERSION_PATCH 0
#define HAKOBI_VERSION "0.2.0"

/* #if HAKOBI_VERSION_AT_LEAST(0, 2, 0) */
#define HAKOBI_VERSION_AT_LEAST(major, minor, patch) \
    (HAKOBI_VERSION_MAJOR > (major) ||               \
     (HAKOBI_VERSION_MAJOR == (major) &&             \
      (HAKOBI_VERSION_MINOR > (minor) ||             \
       (HAKOBI_VERSION_MINOR == (minor) && HAKOBI_VERSION_PATCH >= (patch)))))

#endif
