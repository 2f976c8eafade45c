// The tsunami's sea floor, an HDF5 file of somebody else's.
#include "seafloor.hpp"

#include <hakobi/error.hpp>

#include "input.hpp"

using namespace hakobi;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const fuzz::FileOf file(fuzz::Input(data, size).bytes());
    try {
        const tsunami::Seafloor floor = tsunami::read_seafloor(file.path());
        fuzz::require(floor.step_deg > 0 && std::ssize(floor.height_m) == floor.num_rows * floor.num_columns);
    } catch (const Error& error) {
        fuzz::require(error.code() == ErrorCode::format);
    }
    return 0;
}
