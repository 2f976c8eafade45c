#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace hakobi::measure {

/// Sizes of the data caches in bytes; 0: not known. `last_level_sharers` processing units share one
/// last-level cache.
struct CacheSizes {
    std::int64_t l1_bytes = 0, l2_bytes = 0, l3_bytes = 0;
    int last_level_sharers = 0;
    [[nodiscard]] std::int64_t last_level_bytes() const noexcept {
        return l3_bytes > 0 ? l3_bytes : (l2_bytes > 0 ? l2_bytes : l1_bytes);
    }
};

/// How far apart two processes of a node are.
enum class Distance { same_core, same_core_complex, same_socket, other_socket, unbound };
[[nodiscard]] std::string to_string(Distance distance);

/// This node's processors and caches as hwloc sees them, or "nothing known" when it is not to be asked or
/// cannot say: every count is then 0 (cores and units: what the operating system says) and every distance
/// `unbound`.
class Topology {
  public:
    [[nodiscard]] static Topology load(bool use_hwloc = true);
    Topology(Topology&&) noexcept;
    Topology& operator=(Topology&&) noexcept;
    ~Topology();

    [[nodiscard]] bool is_known() const noexcept;
    [[nodiscard]] CacheSizes caches() const;
    [[nodiscard]] int num_cores() const;
    [[nodiscard]] int num_units() const;  ///< hardware threads
    /// Cores that have any of the units of such a list as `binding` returns.
    [[nodiscard]] int num_cores_of(const std::string& units) const;
    [[nodiscard]] int num_sockets() const;
    [[nodiscard]] int num_numa_nodes() const;
    [[nodiscard]] int num_core_complexes() const;  ///< last-level caches

    /// The processing units that the calling thread may run on, as a list ("0-3,8"); "" when not known.
    [[nodiscard]] std::string binding() const;
    /// Binds the calling thread to the units of such a list; false when the system refuses or the list is no
    /// list.
    bool bind(const std::string& units) const;
    /// Distance of two processes bound to `a` and `b`: `unbound` when one of them may move between last-level
    /// caches and that could change the answer.
    [[nodiscard]] Distance distance(const std::string& a, const std::string& b) const;
    /// One unit a core (as lists of one), cores of one last-level cache together: the order to place ranks
    /// in.
    [[nodiscard]] std::vector<std::string> cores_in_order() const;

  private:
    struct State;
    explicit Topology(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace hakobi::measure
