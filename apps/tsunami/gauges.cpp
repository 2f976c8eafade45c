#include "gauges.hpp"

#include <cmath>
#include <fstream>
#include <hakobi/error.hpp>
#include <nlohmann/json.hpp>

namespace hakobi::tsunami {
namespace {

std::size_t index(std::int64_t i) {
    return static_cast<std::size_t>(i);
}

}  // namespace

std::vector<Gauge> read_gauges(const std::string& path) {
    std::ifstream file(path);
    if (!file) throw Error(ErrorCode::not_found, "gauges " + path + ": cannot be opened");
    std::vector<Gauge> gauges;
    try {
        const auto list = nlohmann::json::parse(file);
        for (const auto& entry : list.at("gauges")) {
            Gauge gauge{.name = entry.at("name"),
                        .longitude_deg = entry.at("longitude"),
                        .latitude_deg = entry.at("latitude")};
            gauge.observed_arrival_min = entry.value("arrival_minutes", gauge.observed_arrival_min);
            gauge.observed_crest_min = entry.value("first_crest_minutes", gauge.observed_crest_min);
            gauges.push_back(std::move(gauge));
        }
    } catch (const nlohmann::json::exception& error) {
        throw Error(ErrorCode::format, "gauges " + path + ": " + error.what());
    }
    return gauges;
}

std::optional<double> arrival_s(std::span<const Sample> record, const FirstWaveRule& rule) {
    for (std::size_t i = 1; i < record.size(); ++i) {
        const auto [t0, eta0] = record[i - 1];
        const auto [t1, eta1] = record[i];
        if (t0 < rule.from_s || eta0 >= rule.threshold_m || eta1 < rule.threshold_m) continue;
        return t0 + (rule.threshold_m - eta0) / (eta1 - eta0) * (t1 - t0);
    }
    return std::nullopt;
}

std::optional<Sample> first_crest(std::span<const Sample> record, const FirstWaveRule& rule) {
    for (std::size_t i = 0; i < record.size(); ++i) {
        const Sample& candidate = record[i];
        if (candidate.time_s < rule.from_s || candidate.eta_m < rule.threshold_m) continue;
        if (record.back().time_s < candidate.time_s + rule.window_s) return std::nullopt;
        std::size_t later = i + 1;
        while (record[later].time_s <= candidate.time_s + rule.window_s &&
               record[later].eta_m <= candidate.eta_m && later + 1 < record.size()) {
            ++later;
        }
        if (record[later].time_s > candidate.time_s + rule.window_s ||
            record[later].eta_m <= candidate.eta_m) {
            return candidate;
        }
        i = later - 1;  // the higher sample is the next candidate
    }
    return std::nullopt;
}

GaugeRecorder::GaugeRecorder(std::vector<Gauge> gauges, const Grid& grid, const Block& block)
    : gauges_(std::move(gauges)) {
    for (int g = 0; g < static_cast<int>(gauges_.size()); ++g) {
        const Gauge& gauge = gauges_[index(g)];
        double x = (gauge.longitude_deg - grid.longitude_deg(0)) / grid.cell_width_deg;
        if (x < 0) x += 360 / grid.cell_width_deg;  // longitudes may be given from -180 on
        const double y = (gauge.latitude_deg - grid.latitude_deg(0)) / grid.cell_height_deg;
        if (x < 0 || y < 0 || x >= static_cast<double>(grid.num_columns - 1) ||
            y >= static_cast<double>(grid.num_rows - 1)) {
            continue;
        }
        const double fx = x - std::floor(x);
        const double fy = y - std::floor(y);
        for (int corner = 0; corner < 4; ++corner) {
            const std::int64_t row = static_cast<std::int64_t>(y) + corner / 2 - block.start[0];
            const std::int64_t column = static_cast<std::int64_t>(x) + corner % 2 - block.start[1];
            if (row < 0 || row >= block.count[0] || column < 0 || column >= block.count[1]) continue;
            const double weight = (corner / 2 != 0 ? fy : 1 - fy) * (corner % 2 != 0 ? fx : 1 - fx);
            corners_.push_back({g, corner, weight, row, column});
        }
    }
}

void GaugeRecorder::record(const Solver& solver, double time_s) {
    times_s_.push_back(time_s);
    for (const Corner& corner : corners_) {
        const bool is_wet = solver.is_wet(corner.row, corner.column);
        weighted_.push_back(is_wet ? corner.weight * solver.eta.row(corner.row)[corner.column] : 0.0);
    }
}

std::vector<std::vector<Sample>> GaugeRecorder::gather(MPI_Comm comm) const {
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    const std::size_t num_times = times_s_.size();
    std::vector<std::vector<Sample>> records(rank == 0 ? gauges_.size() : 0);
    std::vector<double> parts(4 * num_times);
    for (std::size_t g = 0; g < gauges_.size(); ++g) {
        // Each of the four corners is one rank's; the others add zeros, and the four are added in one order
        // here.
        std::fill(parts.begin(), parts.end(), 0.0);
        int num_corners = 0;
        for (std::size_t k = 0; k < corners_.size(); ++k) {
            if (corners_[k].gauge != static_cast<int>(g)) continue;
            ++num_corners;
            for (std::size_t t = 0; t < num_times; ++t) {
                parts[index(corners_[k].corner) * num_times + t] = weighted_[t * corners_.size() + k];
            }
        }
        std::vector<double> all(rank == 0 ? parts.size() : 0);
        int all_corners = 0;
        MPI_Reduce(parts.data(), all.data(), static_cast<int>(parts.size()), MPI_DOUBLE, MPI_SUM, 0, comm);
        MPI_Reduce(&num_corners, &all_corners, 1, MPI_INT, MPI_SUM, 0, comm);
        if (rank != 0 || all_corners == 0) continue;
        for (std::size_t t = 0; t < num_times; ++t) {
            records[g].push_back(
                {times_s_[t], all[t] + all[num_times + t] + all[2 * num_times + t] + all[3 * num_times + t]});
        }
    }
    return records;
}

}  // namespace hakobi::tsunami
