// A GRIB message, taken apart without ecCodes, and a file of several.
#include "format/grib/message.hpp"
#include "format/grib/messages.hpp"
#include "format/grib/split.hpp"
#include "input.hpp"

using namespace hakobi;

namespace {

/// Its messages lie one behind the other, and the file ends.
void read_file(std::span<const std::byte> bytes) {
    const fuzz::FileOf file(bytes);
    Result<format::grib::MessageFile> messages = format::grib::MessageFile::open(file.path());
    fuzz::require(messages.ok());
    for (std::int64_t at = 0;;) {
        const auto found = messages.value().next();
        if (!found.ok() || !found.value()) return;
        fuzz::require(found.value()->begin >= at && found.value()->end > found.value()->begin &&
                      found.value()->end <= std::ssize(bytes));
        at = found.value()->end;
    }
}

}  // namespace

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
    read_file(bytes);
    return 0;
}
