#pragma once

/// HAKOBI_EXPORT marks what libhakobi.so exports; everything else in it is hidden. HAKOBI_HIDDEN: what of a
/// public class is not exported.
#if defined(__GNUC__)
#define HAKOBI_EXPORT __attribute__((visibility("default")))
#define HAKOBI_HIDDEN __attribute__((visibility("hidden")))
#else
#define HAKOBI_EXPORT
#define HAKOBI_HIDDEN
#endif
