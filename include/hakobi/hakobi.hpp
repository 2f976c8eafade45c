#pragma once

/// Everything a C++ program needs: include this one, or the parts. Without C++20 the parts are left out: one
/// error, not a thousand.
#if __cplusplus <= 201703L
#error \
    "Hakobi's C++ headers need C++20 (std::span in their calls): compile this file with -std=c++20, which links with files of any standard, or include hakobi.h, the C interface, which every C++ standard and C99 take"
#else
#include <hakobi/block.hpp>
#include <hakobi/buffer_array.hpp>
#include <hakobi/collectives.hpp>
#include <hakobi/comm.hpp>
#include <hakobi/device.hpp>
#include <hakobi/error.hpp>
#include <hakobi/field.hpp>
#include <hakobi/grib.hpp>
#include <hakobi/halo.hpp>
#include <hakobi/hints.hpp>
#include <hakobi/input.hpp>
#include <hakobi/network_shape.hpp>
#include <hakobi/output.hpp>
#include <hakobi/outputs.hpp>
#include <hakobi/report_errors.hpp>
#include <hakobi/shared_array.hpp>
#include <hakobi/store.hpp>
#include <hakobi/topology.hpp>
#include <hakobi/version.hpp>
#endif
