#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/status.hpp"
#include "overview/reduce.hpp"

namespace hakobi::overview {

/// Rows of a source's box as they are reduced: a strip of rows of one plane at a time, whose values stay in
/// the processor's cache. Float is float for float32 and half.
template <class Float>
class Strips {
  public:
    virtual ~Strips() = default;
    /// Rows [first, stop) of plane `plane` of the box, without gaps. Valid until two further strips were
    /// asked for.
    virtual Result<const Float*> get(std::int64_t plane, std::int64_t first, std::int64_t stop) = 0;
    /// Rows of a plane that are going to be asked for.
    virtual void announce(std::int64_t /*plane*/, std::int64_t /*first*/, std::int64_t /*stop*/) {}
};

template <class Float>
std::unique_ptr<Strips<Float>> make_strips(const Source& source, const Box& box);

}  // namespace hakobi::overview
