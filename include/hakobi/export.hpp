#pragma once

/// Marks what libhakobi.so exports; everything else in it is hidden.
#if defined(__GNUC__)
#define HAKOBI_EXPORT __attribute__((visibility("default")))
#else
#define HAKOBI_EXPORT
#endif
