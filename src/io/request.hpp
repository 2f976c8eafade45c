#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>

#include "base/status.hpp"
#include "io/descriptions.hpp"
#include "io/device_memory.hpp"
#include "io/summary.hpp"
#include "region/region.hpp"
#include "storage/file.hpp"

namespace hakobi::io {

class HiddenWrites;

/// Told to a writer when all that it stores of one call is stored.
struct WhenStored {
    /// The file that it wrote to, and which writer it is of how many. Called once on each writer, on any
    /// thread, before the call's `wait` returns; not after an error of that writer.
    std::function<void(storage::File& file, int writer, int num_writers)> tell = {};
    /// The bytes that the writer has stored are brought to stable storage before. The system tells a failed
    /// sync once: it is the call's error.
    bool sync = false;

    Status operator()(storage::File& file, int writer, int num_writers) const {
        Status status = sync ? file.sync() : Status();
        if (status.ok()) tell(file, writer, num_writers);
        return status;
    }
};

/// One rank's part in a collective call: the n-th byte of `memory` is the n-th of `file`. It never changes;
/// the memory that it refers to is lent until the call returns.
struct Request {
    bool is_write = false;
    bool is_hidden = false;  ///< the call returns when the bytes are out of this rank's memory
    /// Where such a write's program has not asked for it call by call: it is hidden only where the storage
    /// makes requests wait, and it follows others of its kind without a wait.
    HiddenWrites* elective = nullptr;
    const Region& file;                  ///< offsets from the start of the file
    const Region& memory;                ///< offsets from `origin`
    std::byte* origin = nullptr;         ///< only read from by a write
    const WhenStored* stored = nullptr;  ///< of hidden writes; null: nobody wants to know
    DeviceMemory* device = nullptr;      ///< copies what of `memory` is a device's; null: all is the host's
};

constexpr std::int64_t no_end = std::numeric_limits<std::int64_t>::max();

/// How far a call has come on one rank. Only this object knows which bytes a path has moved and which are
/// left.
struct Progress {
    std::int64_t position = 0;  ///< in the file: the request's bytes before it are moved
    /// Phases over that go through the whole range from there on (PhaseNumber): of its bytes some are moved.
    std::int64_t num_phases_of_range = 0;
    RequestTotals totals_of_range = {};  ///< when the first of them was divided
    std::int64_t end_of_file = no_end;   ///< lowest offset that is known to lie behind the file's end
    std::optional<std::int64_t>
        bytes_moved;              ///< where a path counted them; else they follow from `end_of_file`
    bool is_ordered = true;       ///< else the rank moves its pieces by itself, whatever the others do,
    bool has_moved_own = false;   ///< and has nothing left
    bool is_overlapping = false;  ///< on all ranks: the last phase's accesses may be under way
    bool has_writers = false;     ///< aggregators tell Request::stored
    Status status = {};
    Descriptions descriptions = {};  ///< between nodes: what the call's phases have told

    /// The totals by which a phase is divided. Phases of one range are parts of one division: what the ranks
    /// find out meanwhile (the storage's service, a rank has nothing left) waits for the next range.
    const RequestTotals& of_range(const RequestTotals& latest) {
        if (num_phases_of_range == 0) totals_of_range = latest;
        return totals_of_range;
    }
    [[nodiscard]] std::int64_t bytes_done(const Request& request) const {
        if (has_moved_own) return request.file.size_bytes();
        return position == 0 ? 0 : request.file.bytes_below(position);  // 0 also of pieces in no order
    }
    [[nodiscard]] std::int64_t bytes_read(const Request& request) const {
        return bytes_moved.value_or(
            std::min(request.file.size_bytes(), request.file.bytes_below(end_of_file)));
    }
};

}  // namespace hakobi::io
