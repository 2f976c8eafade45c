// Texts that users give: hints, a file of them, HAKOBI_FAULT, the storage model, a network's shape.
#include <hakobi/error.hpp>
#include <hakobi/network_shape.hpp>

#include "input.hpp"
#include "io/engine.hpp"
#include "io/hints_file.hpp"
#include "storage/faulty.hpp"
#include "storage_model/service_model.hpp"

using namespace hakobi;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text = fuzz::Input(data, size).text();
    if (text.find('\0') != std::string_view::npos) return 0;  // no variable and no argument has one
    (void)storage::parse_fault(text);
    (void)io::parse_hints_file(text, "hints");
    try {
        const NetworkShape shape = NetworkShape::parse(text);
        fuzz::require(NetworkShape::parse(shape.to_string()) == shape && shape.num_nodes() >= 0);
    } catch (const Error& error) {
        fuzz::require(error.code() == ErrorCode::invalid_argument);
    }
    storage::ServiceModel model;
    if (storage::parse_service_model(text, model).empty()) {
        fuzz::require(model.num_servers >= 1 && model.limit_bytes_s() > 0 && model.latency_ns >= 0 &&
                      model.stripe_bytes > 0);
    }
    ::setenv("HAKOBI_HINTS", std::string(text).c_str(), 1);
    std::vector<std::string> warnings;
    const Result<io::EngineOptions> options = io::engine_options({}, warnings);
    if (!options.ok()) return 0;
    // Hints that were understood print themselves in words that are understood.
    ::unsetenv("HAKOBI_HINTS");
    const Hints hints = io::hints_of(options.value());
    const Result<io::EngineOptions> again = io::engine_options(hints, warnings);
    fuzz::require(again.ok() && io::hints_of(again.value()) == hints);
    return 0;
}
