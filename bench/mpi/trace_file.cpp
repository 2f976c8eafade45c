#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>
#include <utility>

#include "replay.hpp"

namespace hakobi::bench {
namespace {

using Json = nlohmann::json;

constexpr double us = 1e-6;

/// Thrown inside this file only, for a number that is not one of its kind.
struct NotWhole {};

/// A whole number that is written as such and fits T: the library would convert any number to any type.
template <class T>
T whole(const Json& value) {
    if (value.is_number_unsigned() && std::in_range<T>(value.get<std::uint64_t>()))
        return static_cast<T>(value.get<std::uint64_t>());
    if (value.is_number_integer() && !value.is_number_unsigned() &&
        std::in_range<T>(value.get<std::int64_t>()))
        return static_cast<T>(value.get<std::int64_t>());
    throw NotWhole();
}

template <class T>
std::vector<T> all_whole(const Json& list) {
    std::vector<T> values;
    for (const Json& value : list) values.push_back(whole<T>(value));
    return values;
}

TraceEvent event_of(const Json& line) {
    TraceEvent event;
    event.call = line.at(0).get<std::string>();
    event.partner = whole<int>(line.at(1));
    event.tag = whole<int>(line.at(2));
    event.group = whole<int>(line.at(3));
    event.bytes = whole<std::int64_t>(line.at(4));
    event.address = whole<std::uint64_t>(line.at(5));
    event.begin_s = line.at(6).get<double>() * us;
    event.end_s = line.at(7).get<double>() * us;
    if (event.call == "sendrecv") {
        event.source = whole<int>(line.at(8));
        event.receive_bytes = whole<std::int64_t>(line.at(9));
        event.receive_address = whole<std::uint64_t>(line.at(10));
        if (line.size() > 11) event.receive_tag = whole<int>(line.at(11));
    } else if (event.call == "wait") {
        event.requests = all_whole<std::int64_t>(line.at(8));
    }
    return event;
}

constexpr std::array<std::string_view, 15> calls{"send",   "receive",   "isend",   "ireceive", "sendrecv",
                                                 "wait",   "barrier",   "bcast",   "reduce",   "allreduce",
                                                 "gather", "allgather", "scatter", "alltoall", "other"};

/// False for an event that no writer of traces would have written, or that this replay could not follow.
bool is_consistent(const TraceEvent& event, std::size_t number, const RankTrace& trace) {
    const bool is_partner_known = event.partner >= -2 && event.partner < trace.num_ranks &&
                                  event.source >= -2 && event.source < trace.num_ranks;
    const bool is_group_known = event.call == "wait" || event.call == "other" ||
                                (event.group >= 0 && event.group < static_cast<int>(trace.groups.size()));
    const bool is_made = std::all_of(event.requests.begin(), event.requests.end(), [&](std::int64_t request) {
        if (request < 0 || request >= static_cast<std::int64_t>(number)) return false;
        const std::string& call = trace.events[static_cast<std::size_t>(request)].call;
        return call == "isend" || call == "ireceive";
    });
    const bool is_call_known = std::find(calls.begin(), calls.end(), event.call) != calls.end();
    return is_call_known && is_partner_known && is_group_known && is_made && event.bytes >= 0 &&
           event.receive_bytes >= 0 && event.bytes < INT32_MAX && event.receive_bytes < INT32_MAX &&
           event.end_s >= event.begin_s;
}

/// Takes a line with a rank's part; what is wrong with it, or "".
std::string read_rank(const Json& record, RankTrace& trace) {
    trace.num_dropped = whole<std::int64_t>(record.at("num_dropped"));
    trace.memory_bytes = whole<std::int64_t>(record.at("memory_bytes"));
    if (trace.memory_bytes < 0) return "a program of less than no memory";
    const Json not_replayed = record.value("not_replayed", Json::object());
    for (const auto& [name, count] : not_replayed.items()) trace.not_replayed.push_back(name);
    std::vector<std::vector<int>> groups;
    for (const Json& group : record.at("groups")) groups.push_back(all_whole<int>(group));
    const auto given = record.find("copies");
    const auto copies = given == record.end() ? std::vector<int>(groups.size()) : all_whole<int>(*given);
    if (copies.size() != groups.size()) return "not as many copies as groups";
    trace.groups.clear();
    for (std::size_t index = 0; index < groups.size(); ++index) {
        for (int member : groups[index]) {
            if (member < 0 || member >= trace.num_ranks) return "a communicator of unknown ranks";
        }
        trace.groups.push_back({.ranks = groups[index], .copy = copies[index]});
    }
    return "";
}

std::string read_events(const Json& record, RankTrace& trace) {
    for (const Json& event : record.at("events")) {
        const std::size_t number = trace.events.size();
        trace.events.push_back(event_of(event));
        if (!is_consistent(trace.events.back(), number, trace))
            return "event " + std::to_string(number) + " makes no sense";
    }
    return "";
}

}  // namespace

Result<std::vector<RankTrace>> read_traces(const std::string& path, const std::vector<int>& ranks) {
    // A FIFO without a writer would keep all ranks waiting.
    if (std::error_code error;
        std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error))
        return Status(ErrorCode::invalid_argument, path + " is no regular file, as a trace is");
    errno = 0;
    std::ifstream file(path);
    if (!file) return status_of_errno(errno != 0 ? errno : EIO, "cannot read", path);
    int num_ranks = 0;
    std::vector<RankTrace> traces(ranks.size());
    std::vector<std::int64_t> num_events(ranks.size(), -1);
    std::int64_t number = 0;
    for (std::string line; std::getline(file, line);) {
        ++number;
        const auto wrong = [&](const std::string& what) {
            return Status(ErrorCode::format, path + ":" + std::to_string(number) + ": " + what);
        };
        try {
            const Json record = Json::parse(line);
            const std::string kind = record.value("kind", "");
            if (kind == "trace") {
                num_ranks = whole<int>(record.at("ranks"));
                for (RankTrace& trace : traces) trace.num_ranks = num_ranks;
                continue;
            }
            if (number == 1) return wrong("not a trace: made by 'hakobi run --record FILE'?");
            if (kind != "trace-rank" && kind != "trace-events") continue;
            const auto found = std::find(ranks.begin(), ranks.end(), whole<int>(record.at("rank")));
            if (found == ranks.end()) continue;
            const auto place = static_cast<std::size_t>(found - ranks.begin());
            if (kind == "trace-rank") num_events[place] = whole<std::int64_t>(record.at("num_events"));
            const std::string what =
                kind == "trace-rank" ? read_rank(record, traces[place]) : read_events(record, traces[place]);
            if (!what.empty()) return wrong(what);
        } catch (const Json::exception&) {
            return wrong("not a trace's line");
        } catch (const NotWhole&) {
            return wrong("a number that is not whole, or too large");
        }
    }
    if (number == 0) return Status(ErrorCode::format, path + " is empty");
    for (std::size_t place = 0; place < ranks.size(); ++place) {
        if (ranks[place] < num_ranks &&
            num_events[place] != static_cast<std::int64_t>(traces[place].events.size())) {
            return Status(ErrorCode::format,
                          path + ": rank " + std::to_string(ranks[place]) + "'s events are not all there");
        }
    }
    return traces;
}

Result<RankTrace> read_trace(const std::string& path, int rank) {
    auto read = read_traces(path, {rank});
    if (!read.ok()) return read.status();
    std::vector<RankTrace> traces = std::move(read).value();
    return std::move(traces.front());
}

AddressMap::AddressMap(const std::vector<TraceEvent>& events) {
    constexpr std::uint64_t first_page = 4096;  // null and MPI_IN_PLACE (1 or -1) are no places
    const auto add = [&](std::uint64_t address, std::int64_t bytes) {
        if (bytes <= 0 || address < first_page || address > UINT64_MAX / 2) return;
        regions_.push_back({address, address + static_cast<std::uint64_t>(bytes), 0});
    };
    for (const TraceEvent& event : events) {
        add(event.address, event.bytes);
        add(event.receive_address, event.receive_bytes);
    }
    std::sort(regions_.begin(), regions_.end(),
              [](const Region& a, const Region& b) { return a.begin < b.begin; });
    std::vector<Region> merged;
    for (const Region& region : regions_) {
        // Within a page they are neighbours, and stay so.
        if (!merged.empty() && region.begin <= merged.back().end + first_page) {
            merged.back().end = std::max(merged.back().end, region.end);
        } else {
            merged.push_back(region);
        }
    }
    for (Region& region : merged) {
        const auto misalignment = static_cast<std::int64_t>(region.begin % first_page);
        region.offset = size_bytes_ + misalignment;
        const auto length = static_cast<std::int64_t>(region.end - region.begin) + misalignment;
        size_bytes_ += (length + 4095) / 4096 * 4096 + 4096;
    }
    regions_ = std::move(merged);
}

std::int64_t AddressMap::offset(std::uint64_t address) const {
    const auto after =
        std::upper_bound(regions_.begin(), regions_.end(), address,
                         [](std::uint64_t value, const Region& region) { return value < region.begin; });
    if (after == regions_.begin() || address >= std::prev(after)->end) return 0;
    return std::prev(after)->offset + static_cast<std::int64_t>(address - std::prev(after)->begin);
}

}  // namespace hakobi::bench
