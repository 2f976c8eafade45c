#pragma once

#include <atomic>

namespace hakobi {

/// A variable that threads, or processes that map the same memory, change without a lock. The protocols of
/// processes name it so since tests/model runs them on variables of its own, in every order.
template <class Value>
using SharedAtomic = std::atomic<Value>;

}  // namespace hakobi
