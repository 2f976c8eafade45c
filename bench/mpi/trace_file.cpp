#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>

#include "replay.hpp"

namespace hakobi::bench {
namespace {

using Json = nlohmann::json;

constexpr double us = 1e-6;

TraceEvent event_of(const Json& line) {
    TraceEvent event;
    event.call = line.at(0).get<std::string>();
    event.partner = line.at(1).get<int>();
    event.tag = line.at(2).get<int>();
    event.group = line.at(3).get<int>();
    event.bytes = line.at(4).get<std::int64_t>();
    event.address = line.at(5).get<std::uint64_t>();
    event.begin_s = line.at(6).get<double>() * us;
    event.end_s = line.at(7).get<double>() * us;
    if (event.call == "sendrecv") {
        event.source = line.at(8).get<int>();
        event.receive_bytes = line.at(9).get<std::int64_t>();
        event.receive_address = line.at(10).get<std::uint64_t>();
        if (line.size() > 11) event.receive_tag = line.at(11).get<int>();
    } else if (event.call == "wait") {
        event.requests = line.at(8).get<std::vector<std::int64_t>>();
    }
    return event;
}

constexpr std::array<std::string_view, 15> calls{"send",   "receive",   "isend",   "ireceive", "sendrecv",
                                                 "wait",   "barrier",   "bcast",   "reduce",   "allreduce",
                                                 "gather", "allgather", "scatter", "alltoall", "other"};

/// What no writer of traces would have written, or this replay could not follow.
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
    trace.num_dropped = record.at("num_dropped").get<std::int64_t>();
    trace.memory_bytes = record.at("memory_bytes").get<std::int64_t>();
    const Json not_replayed = record.value("not_replayed", Json::object());
    for (const auto& [name, count] : not_replayed.items()) trace.not_replayed.push_back(name);
    const auto groups = record.at("groups").get<std::vector<std::vector<int>>>();
    const auto copies = record.value("copies", std::vector<int>(groups.size()));
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
                num_ranks = record.at("ranks").get<int>();
                for (RankTrace& trace : traces) trace.num_ranks = num_ranks;
                continue;
            }
            if (number == 1) return wrong("not a trace: made by 'hakobi run --record FILE'?");
            if (kind != "trace-rank" && kind != "trace-events") continue;
            const auto found = std::find(ranks.begin(), ranks.end(), record.at("rank").get<int>());
            if (found == ranks.end()) continue;
            const auto place = static_cast<std::size_t>(found - ranks.begin());
            if (kind == "trace-rank") num_events[place] = record.at("num_events").get<std::int64_t>();
            const std::string what =
                kind == "trace-rank" ? read_rank(record, traces[place]) : read_events(record, traces[place]);
            if (!what.empty()) return wrong(what);
        } catch (const Json::exception&) {
            return wrong("not a trace's line");
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
