// The tsunami's own files of JSON: a rupture and a list of gauges, and what is computed of a rupture that was
// taken.
#include <hakobi/error.hpp>

#include <cmath>

#include "gauges.hpp"
#include "input.hpp"
#include "source.hpp"

using namespace hakobi;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const fuzz::FileOf file(fuzz::Input(data, size).bytes());
    try {
        (void)tsunami::read_gauges(file.path());
    } catch (const Error& error) {
        fuzz::require(error.code() == ErrorCode::format);
    }
    try {
        const tsunami::Rupture rupture = tsunami::read_rupture(file.path());
        const tsunami::Subfault& first = rupture.subfaults.front();
        fuzz::require(std::isfinite(tsunami::slip_fraction(first, first.start_s + first.rise_s / 2)));
        (void)tsunami::uplift_m(rupture, first, first.longitude_deg + 0.1, first.latitude_deg);
    } catch (const Error& error) {
        fuzz::require(error.code() == ErrorCode::format);
    }
    return 0;
}
