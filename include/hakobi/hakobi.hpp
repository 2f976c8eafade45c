#pragma once

/// Everything a C++ program needs: include this one, or the parts.
#include <hakobi/block.hpp>
#include <hakobi/buffer_array.hpp>
#include <hakobi/collectives.hpp>
#include <hakobi/comm.hpp>
#include <hakobi/error.hpp>
#include <hakobi/grib.hpp>
#include <hakobi/halo.hpp>
#include <hakobi/hints.hpp>
#include <hakobi/input.hpp>
#include <hakobi/network_shape.hpp>
#include <hakobi/output.hpp>
#include <hakobi/shared_array.hpp>
#include <hakobi/store.hpp>
#include <hakobi/topology.hpp>
