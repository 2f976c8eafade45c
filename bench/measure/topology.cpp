#include "measure/topology.hpp"

#include <hwloc.h>

#include <cstdlib>
#include <thread>
#include <utility>

namespace hakobi::measure {
namespace {

/// A cpuset of hwloc that frees itself.
class UnitSet {
  public:
    UnitSet() : set_(hwloc_bitmap_alloc()) {}
    explicit UnitSet(const std::string& list) : set_(hwloc_bitmap_alloc()) {
        if (list.empty() || hwloc_bitmap_list_sscanf(set_, list.c_str()) != 0) hwloc_bitmap_zero(set_);
    }
    UnitSet(const UnitSet&) = delete;
    UnitSet& operator=(const UnitSet&) = delete;
    ~UnitSet() { hwloc_bitmap_free(set_); }
    [[nodiscard]] hwloc_bitmap_t get() const noexcept { return set_; }
    [[nodiscard]] bool empty() const noexcept { return hwloc_bitmap_iszero(set_) != 0; }

  private:
    hwloc_bitmap_t set_;
};

std::string list_of(hwloc_const_bitmap_t set) {
    char* text = nullptr;
    if (hwloc_bitmap_list_asprintf(&text, set) < 0) return "";
    std::string list = text;
    std::free(text);
    return list;
}

}  // namespace

struct Topology::State {
    hwloc_topology_t topology = nullptr;
    State() = default;
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State() {
        if (topology != nullptr) hwloc_topology_destroy(topology);
    }
    [[nodiscard]] int count(hwloc_obj_type_t type) const {
        return topology == nullptr ? 0 : std::max(0, hwloc_get_nbobjs_by_type(topology, type));
    }
    /// The type of the last-level data cache; where no cache is known the socket, which is all that tells
    /// cores apart.
    [[nodiscard]] hwloc_obj_type_t last_level() const {
        for (hwloc_obj_type_t type :
             {HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L1CACHE, HWLOC_OBJ_PACKAGE}) {
            if (count(type) > 0) return type;
        }
        return HWLOC_OBJ_MACHINE;
    }
    /// The object of `type` that holds all of `set`, or null.
    [[nodiscard]] hwloc_obj_t holder(hwloc_obj_type_t type, hwloc_const_bitmap_t set) const {
        for (hwloc_obj_t object = nullptr;
             (object = hwloc_get_next_obj_by_type(topology, type, object)) != nullptr;) {
            if (hwloc_bitmap_isincluded(set, object->cpuset) != 0) return object;
        }
        return nullptr;
    }
};

Topology::Topology(std::unique_ptr<State> state) : state_(std::move(state)) {}
Topology::Topology(Topology&&) noexcept = default;
Topology& Topology::operator=(Topology&&) noexcept = default;
Topology::~Topology() = default;

Topology Topology::load(bool use_hwloc) {
    auto state = std::make_unique<State>();
    if (use_hwloc && hwloc_topology_init(&state->topology) == 0) {
        if (hwloc_topology_load(state->topology) != 0) {
            hwloc_topology_destroy(state->topology);
            state->topology = nullptr;
        }
    }
    return Topology(std::move(state));
}

bool Topology::is_known() const noexcept {
    return state_->topology != nullptr;
}
int Topology::num_cores() const {
    const int cores = state_->count(HWLOC_OBJ_CORE);
    return cores > 0 ? cores : num_units();
}
int Topology::num_cores_of(const std::string& units) const {
    const UnitSet set(units);
    int cores = 0;
    for (int i = 0; i < state_->count(HWLOC_OBJ_CORE); ++i) {
        const hwloc_obj_t core =
            hwloc_get_obj_by_type(state_->topology, HWLOC_OBJ_CORE, static_cast<unsigned>(i));
        if (hwloc_bitmap_intersects(core->cpuset, set.get()) != 0) ++cores;
    }
    return cores > 0 ? cores : hwloc_bitmap_weight(set.get());
}
int Topology::num_units() const {
    const int units = state_->count(HWLOC_OBJ_PU);
    return units > 0 ? units : static_cast<int>(std::thread::hardware_concurrency());
}
int Topology::num_sockets() const {
    return state_->count(HWLOC_OBJ_PACKAGE);
}
int Topology::num_numa_nodes() const {
    return state_->count(HWLOC_OBJ_NUMANODE);
}
int Topology::num_core_complexes() const {
    return is_known() ? state_->count(state_->last_level()) : 0;
}

CacheSizes Topology::caches() const {
    CacheSizes sizes;
    if (!is_known()) return sizes;
    const auto size_of = [&](hwloc_obj_type_t type) -> std::int64_t {
        const hwloc_obj_t cache = hwloc_get_obj_by_type(state_->topology, type, 0);
        return cache == nullptr ? 0 : static_cast<std::int64_t>(cache->attr->cache.size);
    };
    sizes.l1_bytes = size_of(HWLOC_OBJ_L1CACHE);
    sizes.l2_bytes = size_of(HWLOC_OBJ_L2CACHE);
    sizes.l3_bytes = size_of(HWLOC_OBJ_L3CACHE);
    if (const hwloc_obj_t last = hwloc_get_obj_by_type(state_->topology, state_->last_level(), 0)) {
        sizes.last_level_sharers = hwloc_bitmap_weight(last->cpuset);
    }
    return sizes;
}

std::string Topology::binding() const {
    if (!is_known()) return "";
    const UnitSet set;
    if (hwloc_get_cpubind(state_->topology, set.get(), HWLOC_CPUBIND_THREAD) != 0) return "";
    return list_of(set.get());
}

bool Topology::bind(const std::string& units) const {
    const UnitSet set(units);
    if (!is_known() || set.empty()) return false;
    return hwloc_set_cpubind(state_->topology, set.get(), HWLOC_CPUBIND_THREAD) == 0;
}

Distance Topology::distance(const std::string& a, const std::string& b) const {
    const UnitSet set_a(a);
    const UnitSet set_b(b);
    if (!is_known() || set_a.empty() || set_b.empty()) return Distance::unbound;
    const auto* core_a = state_->holder(HWLOC_OBJ_CORE, set_a.get());
    if (core_a != nullptr && core_a == state_->holder(HWLOC_OBJ_CORE, set_b.get()))
        return Distance::same_core;
    const auto* complex_a = state_->holder(state_->last_level(), set_a.get());
    if (complex_a != nullptr && complex_a == state_->holder(state_->last_level(), set_b.get())) {
        return Distance::same_core_complex;
    }
    const auto* socket_a = state_->holder(HWLOC_OBJ_PACKAGE, set_a.get());
    const auto* socket_b = state_->holder(HWLOC_OBJ_PACKAGE, set_b.get());
    if (socket_a == nullptr || socket_b == nullptr) return Distance::unbound;
    if (socket_a != socket_b) return Distance::other_socket;
    // Both may roam one socket of several last-level caches: what they share changes from moment to moment.
    const bool a_fixed = complex_a != nullptr;
    const bool b_fixed = state_->holder(state_->last_level(), set_b.get()) != nullptr;
    return a_fixed && b_fixed ? Distance::same_socket : Distance::unbound;
}

std::vector<std::string> Topology::cores_in_order() const {
    std::vector<std::string> cores;
    const int count = state_->count(HWLOC_OBJ_CORE);
    // hwloc numbers cores logically: those that share a cache follow each other.
    for (int i = 0; i < count; ++i) {
        const hwloc_obj_t core =
            hwloc_get_obj_by_type(state_->topology, HWLOC_OBJ_CORE, static_cast<unsigned>(i));
        const UnitSet first;
        hwloc_bitmap_only(first.get(), static_cast<unsigned>(hwloc_bitmap_first(core->cpuset)));
        cores.push_back(list_of(first.get()));
    }
    return cores;
}

std::string to_string(Distance distance) {
    switch (distance) {
        case Distance::same_core:
            return "same core";
        case Distance::same_core_complex:
            return "same core complex";
        case Distance::same_socket:
            return "same socket, other core complex";
        case Distance::other_socket:
            return "other socket";
        case Distance::unbound:
            return "not bound";
    }
    return "not bound";
}

}  // namespace hakobi::measure
