#include "output/combination.hpp"

#include <cassert>
#include <string>

namespace hakobi::output {
namespace {

Status refused(std::string why) {
    return {ErrorCode::unsupported, std::move(why)};
}

Status check_overview(const Asked& asked) {
    if (!asked.overview) return {};
    if (asked.method->makes != Makes::step_file || asked.format->name() != "netcdf4" ||
        asked.codec != filter::Codec::none) {
        return refused("option overview: with method " + std::string(asked.method->name) + ", format " +
                       std::string(asked.format->name()) + " and compression " +
                       std::string(asked.compression) +
                       " values do not lie as they are in the step's file; run hakobi index afterwards");
    }
    return {};
}

/// Why a file cannot take several steps; "" where it can.
std::string why_one_step(const Asked& asked) {
    if (asked.format->growing() == nullptr)
        return "files of the format " + std::string(asked.format->name()) + " take one step each";
    if (asked.method->makes != Makes::step_file)
        return "the method " + std::string(asked.method->name) + " makes a file of each step's pieces";
    if (asked.overview) return "an overview is made of a file that is complete; run hakobi index afterwards";
    if (!asked.stage.empty())
        return "stage " + std::string(asked.stage) + ": a file is not carried while it grows";
    return {};
}

Status check_place(const Asked& asked) {
    const storage::PlaceLimits& place = asked.place;
    const bool is_put_whole = asked.format->store() != nullptr;
    if (place.is_on_objects && asked.stage.empty() && (is_put_whole || !place.takes_ranges)) {
        return refused(std::string(asked.prefix) + ": steps of the format " +
                       std::string(asked.format->name()) +
                       " are put there whole, over a stage: set the option stage, or HAKOBI_STAGE, to a "
                       "folder of this node that outlives a killed run");
    }
    const char* const why_system_names = asked.method->why_system_names;
    if (why_system_names != nullptr && asked.stage.empty() && place.keeps_names && !place.has_system_names) {
        return refused("method " + std::string(asked.method->name) + ": " + std::string(asked.prefix) +
                       " is no folder of a file system, and " + why_system_names);
    }
    if (is_put_whole && !place.is_on_objects && !place.has_system_names) {
        return refused("format " + std::string(asked.format->name()) + ": " + std::string(asked.prefix) +
                       " is no folder of a file system");
    }
    return {};
}

Status check_stage(const Asked& asked) {
    if (asked.stage.empty()) return {};
    const std::string stage = "stage " + std::string(asked.stage) + ": ";
    if (asked.num_nodes > 1) {
        return refused(stage + "the ranks are on " + std::to_string(asked.num_nodes) +
                       " nodes, and a stage takes the steps of one");
    }
    if (asked.method->makes != Makes::step_file) {
        return refused(stage + "the method " + std::string(asked.method->name) +
                       " writes no step's file that could be carried");
    }
    return {};
}

}  // namespace

Result<Combination> combine(const Asked& asked) {
    assert(asked.format != nullptr && asked.method != nullptr);
    assert(asked.steps_per_file >= 1 && asked.num_nodes >= 1);
    Combination chosen{.steps_per_file = asked.steps_per_file, .stage = asked.stage};
    if (asked.method->makes == Makes::nothing) {
        chosen.stage = {};
        const Status status = check_codec(*asked.format, asked.codec);
        return status.ok() ? Result<Combination>(chosen) : status;
    }
    Status status = check_overview(asked);
    if (status.ok() && asked.steps_per_file != 1) {
        const std::string why = why_one_step(asked);
        if (!why.empty() && asked.insists_on_steps) return refused("option steps_per_file: " + why);
        if (!why.empty()) chosen.steps_per_file = 1;
    }
    if (status.ok()) status = check_place(asked);
    if (status.ok()) status = check_stage(asked);
    if (status.ok()) status = check_codec(*asked.format, asked.codec);
    if (!status.ok()) return status;
    if (asked.overview && !asked.place.has_system_names) {
        return refused("output prefix '" + std::string(asked.prefix) +
                       "': overviews are made beside files, not in an object store");
    }
    return chosen;
}

Status check_codec(const format::Format& format, filter::Codec codec) {
    if (codec == filter::Codec::none || format.holds_chunks()) return {};
    return refused("files of the format " + std::string(format.name()) + " hold no compressed fields");
}

}  // namespace hakobi::output
