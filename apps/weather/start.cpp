#include "start.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <hakobi/error.hpp>
#include <hakobi/grib.hpp>
#include <iterator>
#include <map>
#include <numbers>

namespace hakobi::weather {
namespace {

constexpr int analysis_u = 131, analysis_v = 132, param_height = 156;

using Levels = std::map<int, std::vector<double>>;

void put(std::vector<double>& all, const std::vector<double>& field, double factor) {
    for (const double value : field) all.push_back(value * factor);
}

Analysis read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw Error(ErrorCode::not_found, path + ": cannot be opened");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    std::span<const std::byte> rest = std::as_bytes(std::span(text));
    std::map<int, Levels> found;
    Analysis analysis;
    try {
        while (!rest.empty()) {
            const auto length = static_cast<std::size_t>(grib_length(rest));
            const auto message = rest.first(std::min(length, rest.size()));
            rest = rest.subspan(message.size());
            const Key key = grib_key(message);
            const int param = std::atoi(std::string(key.get("param")).c_str());
            if (key.get("levtype") != "pl" ||
                (param != analysis_u && param != analysis_v && param != param_height))
                continue;
            analysis.num_longitudes = static_cast<int>(grib_number(message, "Ni"));
            analysis.num_latitudes = static_cast<int>(grib_number(message, "Nj"));
            analysis.date = static_cast<long>(grib_number(message, "validityDate"));
            analysis.time = static_cast<long>(grib_number(message, "validityTime"));
            std::vector<double> values = grib_values(message);
            if (values.size() != static_cast<std::size_t>(analysis.num_latitudes) *
                                     static_cast<std::size_t>(analysis.num_longitudes)) {
                throw Error(ErrorCode::format,
                            "a field that is not on a regular grid of latitudes and longitudes");
            }
            found[param][std::atoi(std::string(key.get("levelist")).c_str())] = std::move(values);
        }
    } catch (const Error& error) {
        throw Error(error.code(), path + ": " + error.what());
    }
    for (const auto& [level, u] : found[analysis_u]) {
        if (!found[analysis_v].contains(level) || !found[param_height].contains(level)) continue;
        analysis.pressure.push_back(level);
        put(analysis.u, u, 1);
        put(analysis.v, found[analysis_v][level], 1);
        put(analysis.geopotential, found[param_height][level], gravity);
    }
    if (analysis.pressure.empty()) {
        throw Error(ErrorCode::format, path + ": no pressure level has u, v and gh");
    }
    const std::size_t expected = analysis.pressure.size() * static_cast<std::size_t>(analysis.num_latitudes) *
                                 static_cast<std::size_t>(analysis.num_longitudes);
    if (analysis.u.size() != expected) throw Error(ErrorCode::format, path + ": fields on different grids");
    return analysis;
}

void broadcast(std::vector<double>& values, MPI_Comm comm) {
    auto size = static_cast<int>(values.size());
    MPI_Bcast(&size, 1, MPI_INT, 0, comm);
    values.resize(static_cast<std::size_t>(size));
    MPI_Bcast(values.data(), size, MPI_DOUBLE, 0, comm);
}

}  // namespace

Analysis read_analysis(const std::string& path, MPI_Comm comm) {
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    Analysis analysis;
    std::string text;
    int failed[2] = {0, 0};  // code, length of the text
    if (rank == 0) {
        try {
            analysis = read_file(path);
        } catch (const Error& error) {
            text = error.what();
            failed[0] = static_cast<int>(error.code());
            failed[1] = static_cast<int>(text.size());
        }
    }
    MPI_Bcast(failed, 2, MPI_INT, 0, comm);
    if (failed[0] != 0) {
        text.resize(static_cast<std::size_t>(failed[1]));
        MPI_Bcast(text.data(), failed[1], MPI_CHAR, 0, comm);
        throw Error(static_cast<ErrorCode>(failed[0]), text, 0);
    }
    long numbers[4] = {analysis.num_latitudes, analysis.num_longitudes, analysis.date, analysis.time};
    MPI_Bcast(numbers, 4, MPI_LONG, 0, comm);
    analysis.num_latitudes = static_cast<int>(numbers[0]);
    analysis.num_longitudes = static_cast<int>(numbers[1]);
    analysis.date = numbers[2];
    analysis.time = numbers[3];
    for (auto* values : {&analysis.pressure, &analysis.u, &analysis.v, &analysis.geopotential})
        broadcast(*values, comm);
    return analysis;
}

std::vector<double> level_pressures(int num_levels) {
    std::vector<double> pressure;
    for (int k = 0; k < num_levels; ++k) pressure.push_back(1000 * (k + 0.5) / num_levels);
    return pressure;
}

ShallowWater::LevelFields fields_of(const Analysis& analysis, const ShallowWater& model,
                                    std::vector<double> level_pressure) {
    return [&analysis, &model, pressures = std::move(level_pressure)](
               int level, std::span<double> u, std::span<double> v, std::span<double> geopotential) {
        const auto& at = analysis.pressure;
        const double pressure = std::clamp(pressures[static_cast<std::size_t>(level)], at.front(), at.back());
        std::size_t below = 1;
        while (below + 1 < at.size() && at[below] < pressure) ++below;
        const std::size_t above = at.size() > 1 ? below - 1 : 0;
        below = std::min(below, at.size() - 1);
        const double part =
            below == above ? 0 : std::log(pressure / at[above]) / std::log(at[below] / at[above]);
        const auto columns = static_cast<std::size_t>(analysis.num_longitudes);
        const auto rows = static_cast<std::size_t>(analysis.num_latitudes);
        const auto value = [&](const std::vector<double>& field, double y, double x) {
            const auto j = std::min(static_cast<std::size_t>(y), rows - 2),
                       i = static_cast<std::size_t>(x) % columns;
            const double down = y - static_cast<double>(j), right = x - std::floor(x);
            const auto corner = [&](std::size_t k, std::size_t dj, std::size_t di) {
                return field[(k * rows + j + dj) * columns + (i + di) % columns];
            };
            const auto plane = [&](std::size_t k) {
                return (1 - down) * ((1 - right) * corner(k, 0, 0) + right * corner(k, 0, 1)) +
                       down * ((1 - right) * corner(k, 1, 0) + right * corner(k, 1, 1));
            };
            return (1 - part) * plane(above) + part * plane(below);
        };
        const Layout& layout = model.layout();
        for (std::int64_t row = layout.band_begin(); row < layout.band_end(); ++row) {
            const double latitude = std::asin(model.grid().sin_latitude[static_cast<std::size_t>(row)]);
            const double y =
                (std::numbers::pi / 2 - latitude) / std::numbers::pi * static_cast<double>(rows - 1);
            const std::int64_t points = model.grid().points[static_cast<std::size_t>(row)];
            const std::int64_t from = layout.first_point[static_cast<std::size_t>(row - layout.band_begin())];
            for (std::int64_t i = 0; i < points; ++i) {
                const double x =
                    static_cast<double>(i) / static_cast<double>(points) * static_cast<double>(columns);
                const auto place = static_cast<std::size_t>(from + i);
                u[place] = value(analysis.u, y, x);
                v[place] = value(analysis.v, y, x);
                geopotential[place] = value(analysis.geopotential, y, x);
            }
        }
    };
}

}  // namespace hakobi::weather
