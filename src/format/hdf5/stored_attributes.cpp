#include "format/hdf5/stored_attributes.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "format/chunks.hpp"
#include "format/dimensions.hpp"

namespace hakobi::format {
namespace {

/// Equal texts, or equal numbers whatever their type.
bool is_same(const Attribute& a, const Attribute& b) {
    if (a.index() == 0 || b.index() == 0) return a == b;
    const auto numbers = [](const Attribute& attribute) {
        std::vector<double> all;
        if (const auto* reals = std::get_if<1>(&attribute)) all = *reals;
        if (const auto* integers = std::get_if<2>(&attribute)) all.assign(integers->begin(), integers->end());
        return all;
    };
    return std::ranges::equal(numbers(a), numbers(b),
                              [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); });
}

}  // namespace

std::string differing(const Attributes& a, const Attributes& b) {
    for (const auto* one : {&a, &b}) {
        const auto* other = one == &a ? &b : &a;
        for (const auto& [name, value] : *one) {
            const auto at = other->find(name);
            if (at == other->end() ? value != Attribute("") : !is_same(value, at->second)) return name;
        }
    }
    return {};
}

Attributes stored_attributes(const FieldDescription& field) {
    Attributes all = field.attributes;
    all["units"] = field.units;
    all["long_name"] = field.long_name;
    all["standard_name"] = field.standard_name;
    all["coordinates"] = coordinates_text(field);
    if (field.fill_value) all["_FillValue"] = attribute_of(*field.fill_value);
    if (const int bits = bits_kept(field); bits > 0)
        all["_QuantizeBitRoundNumberOfSignificantBits"] = std::vector<std::int64_t>{bits};
    return all;
}

}  // namespace hakobi::format
