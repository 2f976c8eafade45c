#include "exchange.hpp"

#include <algorithm>
#include <array>
#include <hakobi/error.hpp>

#include "exchanges.hpp"

namespace hakobi::lattice {
namespace {

struct Entry {
    std::string_view name;
    std::unique_ptr<Exchange> (*make)(const Comm&, const Geometry&, bool sends_halves);
    bool sends_halves;
};
constexpr std::array entries{
    Entry{"hakobi", &make_hakobi_exchange, false}, Entry{"hakobi-halves", &make_hakobi_exchange, true},
    Entry{"mpi-datatypes", &make_mpi_exchange, false}, Entry{"mpi-halves", &make_mpi_exchange, true},
    Entry{"hakobi-device", &make_device_exchange, false}};

constexpr auto names = [] {
    std::array<std::string_view, entries.size()> list;
    std::transform(entries.begin(), entries.end(), list.begin(),
                   [](const Entry& entry) { return entry.name; });
    return list;
}();

}  // namespace

std::span<const std::string_view> exchange_names() {
    return names;
}

std::unique_ptr<Exchange> make_exchange(std::string_view name, const Comm& comm, const Geometry& geometry) {
    for (const Entry& entry : entries) {
        if (entry.name == name) return entry.make(comm, geometry, entry.sends_halves);
    }
    std::string text = "exchange '" + std::string(name) + "' is not known; there are";
    for (const std::string_view known : names) text.append(" ").append(known);
    throw Error(ErrorCode::invalid_argument, text);
}

}  // namespace hakobi::lattice
