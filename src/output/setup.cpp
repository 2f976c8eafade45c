#include "output/setup.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/bytes.hpp"
#include "format/registry.hpp"
#include "mpi/messages.hpp"
#include "output/agreement.hpp"
#include "output/combination.hpp"
#include "output/registry.hpp"
#include "storage/file.hpp"

namespace hakobi::output {
namespace {

constexpr std::int64_t least_buffer_bytes = 4096;
constexpr std::int64_t least_hidden_bytes = 1 << 20;

/// The value of the option, or else of the environment; 0 where neither has one.
Result<std::int64_t> steps_of_a_file(std::int64_t asked) {
    if (asked < 0) {
        return Status(ErrorCode::invalid_argument,
                      "steps_per_file is " + std::to_string(asked) + ": a file takes one step at least");
    }
    if (asked != 0) return asked;
    const char* const given = std::getenv("HAKOBI_STEPS_PER_FILE");
    const std::string_view value = given != nullptr ? given : "";
    if (value.empty()) return 0;
    if (value == "all") return all_steps;
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc() || end != value.data() + value.size() || number < 1) {
        return Status(ErrorCode::invalid_argument, "HAKOBI_STEPS_PER_FILE is '" + std::string(value) +
                                                       "': give a number of steps, or all");
    }
    return number;
}

/// The type that fields of float64 have in files: of the option, or else of the environment.
Result<std::optional<format::Packing>> packing_of(const std::string& asked) {
    const char* const given = std::getenv("HAKOBI_STORE_AS");
    const std::string text = !asked.empty() || given == nullptr ? asked : given;
    Result<std::optional<format::Packing>> packing = format::parse_packing(text);
    const std::string whose = asked.empty() ? "HAKOBI_STORE_AS: " : "";
    if (!packing.ok()) return Status(packing.status().code(), whose + packing.status().text());
    if (packing.value() && packing.value()->is_scaled())
        return Status(
            ErrorCode::invalid_argument,
            whose + "store_as '" + text + "': a range is a field's own: an output's is float32 or float64");
    return packing;
}

std::vector<std::byte> encode_options(std::string_view prefix, const OutputOptions& options,
                                      const StageOptions& stage, std::int64_t steps_per_file,
                                      const std::optional<format::Packing>& packing) {
    ByteWriter writer;
    writer.put_text(std::string(prefix));
    writer.put_text(options.method);
    writer.put_text(options.format);
    writer.put_text(options.compression);
    writer.put(options.significant_bits);
    writer.put(options.sync);
    writer.put(options.hidden.on ? static_cast<int>(*options.hidden.on) : -1);
    writer.put(options.hidden.bytes);
    writer.put(options.writer_stride);
    writer.put(options.buffer_bytes);
    writer.put(options.per_process.keep_pieces);
    writer.put(options.if_exists);
    writer.put(options.overview);
    writer.put_text(stage.folder);
    writer.put(std::array{stage.bytes, stage.bytes_s, stage.patience_s});
    writer.put(std::array{options.steps_per_file, steps_per_file});
    writer.put(packing ? 1 + static_cast<int>(packing->saturates) : 0);
    for (const auto& [name, value] : options.hints) {
        writer.put_text(name);
        writer.put_text(value);
    }
    return writer.take();
}

/// Takes what the older names say for the newer ones.
Status take_older(OutputOptions& options) {
    const auto differ = [](const char* newer, const char* older) {
        return Status(ErrorCode::invalid_argument, std::string("options ") + newer + " and " + older +
                                                       " are given, and differ: " + older +
                                                       " is its older name");
    };
    OutputOptions::Hidden& hidden = options.hidden;
    if (options.asynchronous && hidden.on.value_or(*options.asynchronous) != *options.asynchronous)
        return differ("hidden.on", "asynchronous");
    if (options.asynchronous) hidden.on = options.asynchronous;
    const std::int64_t bytes = options.asynchronous_bytes;
    if (bytes != 0 && hidden.bytes != 0 && bytes != hidden.bytes)
        return differ("hidden.bytes", "asynchronous_bytes");
    if (bytes != 0) hidden.bytes = bytes;
    options.per_process.keep_pieces = options.per_process.keep_pieces || options.keep_pieces;
    return {};
}

Status check_options(std::string_view prefix, const OutputOptions& options) {
    if (prefix.empty() || prefix.back() == '/') {
        return {ErrorCode::invalid_argument,
                "output prefix '" + std::string(prefix) + "' does not end in a file name"};
    }
    // NetCDF's library takes it for Windows' slash.
    if (prefix.substr(prefix.rfind('/') + 1).find('\\') != std::string_view::npos) {
        return {
            ErrorCode::invalid_argument,
            "output prefix '" + std::string(prefix) +
                "' has a backslash in its file name, and NetCDF opens no such file: use another character"};
    }
    if (Status status = storage::check_address(std::string(prefix)); !status.ok()) return status;
    if (options.buffer_bytes < least_buffer_bytes) {
        return {ErrorCode::invalid_argument, "buffer_bytes is " + std::to_string(options.buffer_bytes) +
                                                 ": the least is " + std::to_string(least_buffer_bytes)};
    }
    if (options.hidden.bytes != 0 && options.hidden.bytes < least_hidden_bytes) {
        return {ErrorCode::invalid_argument, "hidden.bytes (asynchronous_bytes) is " +
                                                 std::to_string(options.hidden.bytes) + ": the least is " +
                                                 std::to_string(least_hidden_bytes)};
    }
    if (options.if_exists > IfExists::resume) {
        return {
            ErrorCode::invalid_argument,
            "if_exists is " + std::to_string(static_cast<int>(options.if_exists)) + ": no value of IfExists"};
    }
    return {};
}

}  // namespace

Status Setup::find() {
    if (Status status = take_older(options); !status.ok()) return status;
    if (Status status = check_options(prefix, options); !status.ok()) return status;
    place = storage::limits_of(prefix);
    Result<StageOptions> asked_stage = take_stage_options(options.stage, options.hints);
    if (!asked_stage.ok()) return asked_stage.status();
    stage = std::move(asked_stage).value();
    if (Status status = storage::check_address(stage->folder); !status.ok()) return status;
    Result<const format::Format*> found = format::find_format(options.format);
    if (!found.ok()) return found.status();
    format = found.value();
    if (Status status = format::check_description(description(), format->rules()); !status.ok())
        return status;
    Result<const MethodEntry*> known = find_method(options.method);
    if (!known.ok()) return known.status();
    entry = known.value();
    Result<std::optional<bool>> asked = asked_hidden(options);
    if (!asked.ok()) return asked.status();
    options.hidden.on = asked.value();
    const Result<std::int64_t> steps = steps_of_a_file(options.steps_per_file);
    if (!steps.ok()) return steps.status();
    steps_per_file = std::max<std::int64_t>(1, steps.value());
    Result<std::optional<format::Packing>> packed = packing_of(options.store_as);
    if (!packed.ok()) return packed.status();
    packing = packed.value();
    if (options.hidden.on.value_or(false) && entry->why_not_hidden != nullptr) {
        return {ErrorCode::invalid_argument, "method " + std::string(entry->name) +
                                                 " does not support hidden output: " + entry->why_not_hidden};
    }
    return {};
}

format::StepDescription Setup::description() const {
    format::StepDescription description{.title = options.title,
                                        .time_units = options.time_units,
                                        .time = 0,
                                        .axes = options.axes,
                                        .fields = {},
                                        .attributes = options.attributes,
                                        .calendar = options.calendar};
    std::vector<Axis>& axes = description.axes;
    const auto time = std::ranges::find(axes, "time", &Axis::name);
    if (time == axes.end() || !time->values.empty() || !time->units.empty() || !time->standard_name.empty())
        return description;
    description.time_attributes = std::move(time->attributes);
    axes.erase(time);
    return description;
}

mpi::Agreed Setup::agree(const Status& local) const {
    if (StepAgreement found = agree_on_step(comm, local, description(), false); !found.error.status.ok()) {
        return found.error;
    }
    std::vector<std::byte> first =
        encode_options(prefix, options, stage.value_or(StageOptions()), steps_per_file, packing);
    const std::vector<std::byte> mine = first;
    mpi::broadcast(comm, first, 0);
    if (mine == first) return mpi::agree(comm, {});
    return mpi::agree(comm,
                      {ErrorCode::invalid_argument,
                       "Output::create: prefix, options or HAKOBI_ variables that stand for them on rank " +
                           std::to_string(comm.rank()) + " differ from rank 0's"});
}

Status Setup::make_method() {
    if (!entry->takes_library_hints) {
        std::vector<std::string> warnings;
        const Result<io::EngineOptions> read = io::engine_options(options.hints, warnings);
        if (!read.ok()) return read.status();
        for (const std::string& warning : warnings)
            if (is_rank_0()) std::fprintf(stderr, "hakobi: %s\n", warning.c_str());
    }
    Result<std::unique_ptr<Method>> made = entry->make({comm, options, hidden});
    if (!made.ok()) return made.status();
    method = std::move(made).value();
    Result<filter::Filters> parsed = filter::parse_filters(options.compression, options.significant_bits);
    if (!parsed.ok()) return parsed.status();
    filters = parsed.value();
    const Result<Combination> combined = combine({.format = format,
                                                  .method = entry,
                                                  .prefix = prefix,
                                                  .place = place,
                                                  .steps_per_file = steps_per_file,
                                                  .insists_on_steps = options.steps_per_file != 0,
                                                  .compression = options.compression,
                                                  .codec = filters.codec,
                                                  .overview = options.overview,
                                                  .stage = stage->folder,
                                                  .num_nodes = comm.num_nodes()});
    if (!combined.ok()) return combined.status();
    steps_per_file = combined.value().steps_per_file;
    if (combined.value().stage.empty()) stage.reset();
    return {};
}

io::EngineOptions Setup::layout_options() const {
    std::vector<std::string> warnings;
    const Result<io::EngineOptions> read = io::engine_options(options.hints, warnings);
    return read.ok() ? read.value() : io::EngineOptions();
}

std::string Setup::text() const {
    std::string text(method->name().empty() ? entry->name : method->name());
    if (const std::string why = method->why(); !why.empty()) text += " (auto: " + why + ")";
    if (hidden.is_on && !method->is_hidden()) return text + ", not hidden: that is cheaper";
    if (!writes()) return text + ": nothing is written";
    if (const std::int64_t num = steps_per_file; num > 1)
        text += ", " + (num == all_steps ? "all" : std::to_string(num)) + " steps in one file";
    if (packing) text += ", float64 stored as float32";
    if (!hidden.is_on) return text + ", not hidden: " + hidden.why_not;
    return text + ", hidden: steps are stored while the program goes on, with copies of at most " +
           std::to_string(hidden.node_bytes >> 20) + " MiB on a node";
}

}  // namespace hakobi::output
