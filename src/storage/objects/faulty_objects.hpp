#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "storage/objects.hpp"

namespace hakobi::storage {

enum class ObjectOperation { put, get, facts, list, remove, upload };

/// A fault in the nth operation of its kind in one store, and in `num_times` in a row.
struct ObjectFault {
    enum class Kind {
        error,     ///< the server says no; nothing has happened
        lost,      ///< it happened, and the answer did not arrive: the caller is told of an error
        half,      ///< of a get: half of the bytes, then an error
        slow,      ///< it takes `delay_s` longer
        old_list,  ///< of a list: as things were before the last `num_hidden` puts (an eventual listing)
    };
    ObjectOperation operation = ObjectOperation::put;
    Kind kind = Kind::error;
    std::int64_t nth = 1;  ///< counted from 1
    std::int64_t num_times = 1;
    ErrorCode code = ErrorCode::io;  ///< of `error`: no_space, permission, …
    double delay_s = 0.1;
    int num_hidden = 1;
    std::shared_ptr<std::atomic<std::int64_t>> num_fired = {};  ///< counts how often it has happened
};

/// `inner` under a fault. `RangedObjects` lose that they are: faults are for those who know whole objects
/// only.
ObjectsPtr with_object_fault(ObjectsPtr inner, const ObjectFault& fault);

}  // namespace hakobi::storage
