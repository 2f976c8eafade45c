#pragma once

#include "model/atomic.hpp"

namespace hakobi {

template <class Value>
using SharedAtomic = model::Atomic<Value>;

}  // namespace hakobi
