#pragma once

/// Everything a C++ program needs: include this one, or the parts.
#include <hakobi/block.hpp>
#include <hakobi/comm.hpp>
#include <hakobi/error.hpp>
#include <hakobi/hints.hpp>
#include <hakobi/output.hpp>
