#pragma once

#include <cstdint>
#include <hakobi/comm.hpp>
#include <memory>
#include <string>
#include <vector>

#include "measure/record.hpp"

namespace hakobi::bench {

/// One way to do what a case asks, with memory of its own or of the case's. Every rank calls everything.
class DeviceEntrant {
  public:
    virtual ~DeviceEntrant() = default;
    /// Gives the source values that say which round it is, and the destination others. Not timed.
    virtual void fill(int round) = 0;
    /// Called before and after each timed `run`.
    virtual void prepare() {}
    virtual void run() = 0;
    virtual void finish() {}
    /// After `finish`: how many of this rank's values are not as they must be after a run of that round.
    [[nodiscard]] virtual std::int64_t count_wrong(int round) = 0;
    [[nodiscard]] virtual std::string explain() const { return ""; }
};

/// floor: the least that any way takes, or that a part of it takes. The slowest of several floors counts.
enum class Role { floor, ours, rival };
[[nodiscard]] std::string_view to_string(Role role);

struct NamedEntrant {
    std::string name;
    Role role;
    std::int64_t bytes;  ///< that a run of it moves for the case, of all ranks
    std::unique_ptr<DeviceEntrant> entrant;
};

/// A comparison: the entrants of one case. `facts` are the members of its records that say which case it is.
struct DeviceCase {
    std::string text;
    measure::Record facts;
    std::vector<NamedEntrant> entrants;
    bool is_run =
        false;  ///< the entrants' time is that of a program; what it takes longer than the floor is shown
};

}  // namespace hakobi::bench
