#include "machine.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace hakobi::bench::scale {

Busy& Busy::operator+=(const Busy& other) {
    servers_s += other.servers_s;
    locks_s += other.locks_s;
    client_s += other.client_s;
    network_s += other.network_s;
    memory_s += other.memory_s;
    cores_s += other.cores_s;
    aggregator_s += other.aggregator_s;
    descriptions_s += other.descriptions_s;
    latency_s += other.latency_s;
    return *this;
}

Busy Busy::times(double factor) const {
    return {servers_s * factor,    locks_s * factor,        client_s * factor,
            network_s * factor,    memory_s * factor,       cores_s * factor,
            aggregator_s * factor, descriptions_s * factor, latency_s * factor};
}

std::string Busy::longest() const {
    const std::array<std::pair<double, const char*>, 9> kinds = {{{servers_s, "servers"},
                                                                  {locks_s, "locks"},
                                                                  {client_s, "client"},
                                                                  {network_s, "network"},
                                                                  {memory_s, "memory"},
                                                                  {cores_s, "cores"},
                                                                  {aggregator_s, "aggregator"},
                                                                  {descriptions_s, "descriptions"},
                                                                  {latency_s, "latency"}}};
    return std::ranges::max_element(kinds, {}, [](const auto& kind) { return kind.first; })->second;
}

}  // namespace hakobi::bench::scale
