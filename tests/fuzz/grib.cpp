// A GRIB message, taken apart without ecCodes.
#include "format/grib/message.hpp"
#include "format/grib/split.hpp"
#include "input.hpp"

using namespace hakobi;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto bytes = fuzz::Input(data, size).bytes();
    const Result<std::int64_t> length = format::grib::message_length(bytes);
    if (length.ok()) fuzz::require(length.value() > 0);
    const Result<format::grib::Message> message = format::grib::read_message(bytes);
    if (message.ok()) fuzz::require(message.value().edition == 1 || message.value().edition == 2);
    const auto fields = format::grib::split_message(bytes);
    if (fields.ok()) {
        for (const auto& field : fields.value()) fuzz::require(format::grib::check_whole(field).ok());
    }
    return 0;
}
