#include <charconv>
#include <hakobi/error.hpp>
#include <hakobi/network_shape.hpp>
#include <limits>

#include "base/checked.hpp"

namespace hakobi {
namespace {

struct Name {
    NetworkShape::Wiring wiring;
    std::string_view text;
};
constexpr Name names[] = {{NetworkShape::Wiring::crossbars, "hypercrossbar"},
                          {NetworkShape::Wiring::torus, "torus"},
                          {NetworkShape::Wiring::nodes, "nodes"}};
constexpr std::size_t most_dimensions = 8;

[[noreturn]] void refuse(std::string_view text, std::string_view why) {
    throw Error(ErrorCode::invalid_argument,
                "topology '" + std::string(text) + "': " + std::string(why) +
                    "; it is 'nodes', or 'hypercrossbar:' or 'torus:' and the nodes in each dimension: "
                    "hypercrossbar:16,16,10");
}

}  // namespace

NetworkShape NetworkShape::parse(std::string_view text) {
    const std::size_t colon = text.find(':');
    const std::string_view word = text.substr(0, colon);
    const Name* found = nullptr;
    for (const Name& name : names) {
        if (name.text == word) found = &name;
    }
    if (found == nullptr) refuse(text, "unknown wiring");
    NetworkShape shape{.wiring = found->wiring};
    const bool takes_extents = shape.wiring != Wiring::nodes;
    if (takes_extents == (colon == std::string_view::npos)) refuse(text, "extents are missing or too many");
    if (!takes_extents) return shape;
    std::string_view rest = text.substr(colon + 1);
    std::int64_t total = 1;
    for (;;) {
        int extent = 0;
        const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), extent);
        if (error != std::errc() || extent < 1) refuse(text, "an extent is not a positive number");
        shape.extents.push_back(extent);
        total *= extent;
        if (total > std::numeric_limits<int>::max() || shape.extents.size() > most_dimensions)
            refuse(text, "more than 2^31 - 1 nodes or 8 dimensions");
        rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
        if (rest.empty()) return shape;
        if (rest.front() != ',') refuse(text, "extents are separated by commas");
        rest.remove_prefix(1);
    }
}

std::string NetworkShape::to_string() const {
    std::string text;
    for (const Name& name : names) {
        if (name.wiring == wiring) text = name.text;
    }
    for (std::size_t i = 0; i < extents.size(); ++i) {
        text += i == 0 ? ':' : ',';
        text += std::to_string(extents[i]);
    }
    return text;
}

std::int64_t NetworkShape::num_nodes() const noexcept {
    if (extents.empty()) return 0;
    std::int64_t total = 1;
    for (const int extent : extents) {
        const auto product = checked_multiply(total, extent);
        if (!product) return std::numeric_limits<std::int64_t>::max();
        total = *product;
    }
    return total;
}

}  // namespace hakobi
