#include "report.hpp"

#include <cstdio>

#include "mpi/agree.hpp"

namespace hakobi::bench {
namespace {

/// The slowest floor that was right, or the fastest rival; null where there is none.
const measure::Measurement* chosen(Role role, const DeviceCase& made,
                                   const std::vector<measure::Measurement>& measurements,
                                   const std::vector<bool>& is_right) {
    const measure::Measurement* best = nullptr;
    for (std::size_t i = 0; i < measurements.size(); ++i) {
        if (made.entrants[i].role != role || !is_right[i]) continue;
        const double median = measurements[i].summary.median;
        if (best == nullptr ||
            (role == Role::floor ? median > best->summary.median : median < best->summary.median))
            best = &measurements[i];
    }
    return best;
}

std::string ratio_text(const measure::Comparison& comparison) {
    char text[64];
    std::snprintf(text, sizeof text, "  %6.3f [%.3f, %.3f]", comparison.ratio, comparison.ci_low,
                  comparison.ci_high);
    return text;
}

std::string time_text(double time_s) {
    char text[32];
    if (time_s < 1e-3) {
        std::snprintf(text, sizeof text, "%9.1f us", 1e6 * time_s);
    } else if (time_s < 1) {
        std::snprintf(text, sizeof text, "%9.2f ms", 1e3 * time_s);
    } else {
        std::snprintf(text, sizeof text, "%9.3f s ", time_s);
    }
    return text;
}

}  // namespace

std::string_view to_string(Role role) {
    return role == Role::floor ? "floor" : role == Role::ours ? "ours" : "rival";
}

DeviceReport::DeviceReport(const Comm& comm, const std::string& json_path) : comm_(comm) {
    auto writer = measure::RecordWriter::open(comm.rank() == 0 ? json_path : "");
    mpi::agree_or_throw(comm, writer.ok() ? Status() : writer.status());
    writer_ = std::make_unique<measure::RecordWriter>(std::move(writer).value());
}

void DeviceReport::say(const std::string& line) const {
    if (comm_.rank() != 0) return;
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
}

void DeviceReport::write(const measure::Record& record) {
    mpi::agree_or_throw(comm_, comm_.rank() == 0 ? writer_->write(record) : Status());
}

void DeviceReport::add(const DeviceCase& made, const std::vector<measure::Measurement>& measurements,
                       const std::vector<bool>& is_right) {
    const measure::Measurement* const floor = chosen(Role::floor, made, measurements, is_right);
    const measure::Measurement* const rival = chosen(Role::rival, made, measurements, is_right);
    say("\n" + made.text);
    say(std::string("contender                    median        ±      GB/s   speed of the ") +
        (made.is_run ? "run without" : "floor") + (rival != nullptr ? "       over the best rival" : ""));
    for (std::size_t i = 0; i < measurements.size(); ++i) {
        const measure::Measurement& m = measurements[i];
        const NamedEntrant& named = made.entrants[i];
        const double gb_s = static_cast<double>(named.bytes) / m.summary.median / 1e9;
        const auto head = [&](const char* kind) {
            measure::Record record;
            record["kind"] = kind;
            record["benchmark"] = "device";
            record["ranks"] = comm_.size();
            record.update(made.facts);
            record["contender"] = m.name;
            record["role"] = to_string(named.role);
            record["counted_bytes"] = named.bytes;
            return record;
        };
        measure::Record record = head("measurement");
        record["verified"] = bool{is_right[i]};
        record["gb_s"] = gb_s;
        record.update(measure::to_record(m));
        write(record);
        measure::Record summary = head("summary");
        summary["is_correct"] = bool{is_right[i]};
        summary["median_s"] = m.summary.median;
        summary["spread"] = m.summary.spread();
        summary["gb_s"] = gb_s;
        summary["wide"] = m.wide;
        std::string line;
        const auto compare = [&](const measure::Measurement* with, const char* name) {
            if (with == nullptr || with == &m) {
                if (with != nullptr)
                    line += std::string("  the ") + (with == floor ? "floor               " : "best rival");
                return;
            }
            const auto comparison = measure::compare_interleaved(with->samples, m.samples);
            summary[name] = comparison.ratio;
            summary[std::string(name) + "_ci_low"] = comparison.ci_low;
            summary[std::string(name) + "_ci_high"] = comparison.ci_high;
            line += ratio_text(comparison);
        };
        compare(floor, "of_floor");
        if (named.role != Role::floor) compare(rival, "speedup");
        summaries_.push_back(summary);
        char begin[96];
        std::snprintf(begin, sizeof begin, "%-23s %s  %5.1f %%  %8.3f", m.name.c_str(),
                      time_text(m.summary.median).c_str(), 100 * m.summary.relative_spread(), gb_s);
        say(begin + line + (is_right[i] ? "" : "  WRONG DATA") + (m.wide ? "  wide" : ""));
        if (named.role == Role::ours) is_all_right_ = is_all_right_ && is_right[i];
    }
}

void DeviceReport::end() {
    for (const measure::Record& summary : summaries_) write(summary);
}

}  // namespace hakobi::bench
