#include "seafloor.hpp"

#include <hdf5.h>

#include <unistd.h>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <hakobi/error.hpp>

namespace hakobi::tsunami {
namespace {

// Closes an HDF5 identifier at the end of its scope.
class Handle {
  public:
    Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
    ~Handle() {
        if (id_ >= 0) close_(id_);
    }
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;
    [[nodiscard]] hid_t id() const { return id_; }
    [[nodiscard]] bool ok() const { return id_ >= 0; }

  private:
    hid_t id_;
    herr_t (*close_)(hid_t);
};

// HDF5 prints its error stack by default; here one line of our own says it.
class QuietHdf5 {
  public:
    QuietHdf5() {
        H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
        H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    }
    ~QuietHdf5() { H5Eset_auto2(H5E_DEFAULT, function_, data_); }
    QuietHdf5(const QuietHdf5&) = delete;
    QuietHdf5& operator=(const QuietHdf5&) = delete;

  private:
    H5E_auto2_t function_ = nullptr;
    void* data_ = nullptr;
};

/// The most nodes of an array of the file: 15 arc seconds of the whole Earth are 3.7e9 nodes.
constexpr hsize_t most_nodes = hsize_t{1} << 33;

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
    throw Error(ErrorCode::format, "sea floor " + path + ": " + why);
}

template <class T>
std::vector<T> read_array(hid_t file, const char* name, hid_t memory_type, H5T_class_t expected_class,
                          std::vector<hsize_t>& extents, const std::string& path) {
    const Handle dataset(H5Dopen2(file, name, H5P_DEFAULT), H5Dclose);
    if (!dataset.ok()) refuse(path, std::string("has no variable ") + name);
    const Handle type(H5Dget_type(dataset.id()), H5Tclose);
    const Handle space(H5Dget_space(dataset.id()), H5Sclose);
    if (H5Tget_class(type.id()) != expected_class ||
        H5Sget_simple_extent_ndims(space.id()) != int(extents.size())) {
        refuse(path, std::string("its variable ") + name + " has another type or shape");
    }
    H5Sget_simple_extent_dims(space.id(), extents.data(), nullptr);
    std::size_t count = 1;
    for (const hsize_t extent : extents) {
        if (extent > most_nodes / count) refuse(path, std::string("its variable ") + name + " is too large");
        count *= extent;
    }
    std::vector<T> values(count);
    if (count == 0 || H5Dread(dataset.id(), memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) < 0) {
        refuse(path, std::string("its variable ") + name + " cannot be read; the file is damaged");
    }
    return values;
}

double regular_step(const std::vector<double>& axis, const char* name, const std::string& path) {
    const double step =
        axis.size() < 2 ? 0 : (axis.back() - axis.front()) / static_cast<double>(axis.size() - 1);
    bool is_regular = step > 0;
    for (std::size_t i = 0; i < axis.size() && is_regular; ++i) {
        is_regular = std::abs(axis[i] - (axis[0] + static_cast<double>(i) * step)) < 1e-6 * step;
    }
    if (!is_regular) refuse(path, std::string("its axis ") + name + " does not ascend in equal steps");
    return step;
}

// The part that a grid line's cells take of the node line: for each cell a first node and the weights of it
// and the following nodes. The weight of a node is the integral of its hat function over the cell, divided by
// the cell's width.
struct Weights {
    std::vector<std::int64_t> first;
    std::vector<std::int64_t> begin;  ///< cell c's weights are values[begin[c]] … values[begin[c + 1] - 1]
    std::vector<double> values;
};

// The integral of the hat function max(0, 1 - |x|) from minus infinity to x.
double hat_integral(double x) {
    if (x <= -1) return 0;
    if (x >= 1) return 1;
    return x < 0 ? 0.5 * (1 + x) * (1 + x) : 1 - 0.5 * (1 - x) * (1 - x);
}

// Cells [first, first + count) of width `cell` from `edge`, nodes at `origin` + k x `step`.
Weights line_weights(double edge, double cell, std::int64_t first, std::int64_t count, double origin,
                     double step) {
    Weights weights;
    weights.begin.push_back(0);
    for (std::int64_t c = first; c < first + count; ++c) {
        const double low = (edge + static_cast<double>(c) * cell - origin) / step;
        const double high = (edge + static_cast<double>(c + 1) * cell - origin) / step;
        const auto lowest = static_cast<std::int64_t>(std::floor(low));
        const auto highest = static_cast<std::int64_t>(std::ceil(high));
        weights.first.push_back(lowest);
        for (std::int64_t k = lowest; k <= highest; ++k) {
            const auto x = static_cast<double>(k);
            weights.values.push_back((hat_integral(high - x) - hat_integral(low - x)) / (high - low));
        }
        weights.begin.push_back(static_cast<std::int64_t>(weights.values.size()));
    }
    return weights;
}

}  // namespace

double Seafloor::east_deg() const {
    return west_deg + static_cast<double>(num_columns - 1) * step_deg;
}
double Seafloor::north_deg() const {
    return south_deg + static_cast<double>(num_rows - 1) * step_deg;
}

Seafloor read_seafloor(const std::string& path) {
    if (access(path.c_str(), R_OK) != 0) {
        const int error = errno;
        throw Error(error == ENOENT || error == ENOTDIR ? ErrorCode::not_found : ErrorCode::permission,
                    "sea floor " + path + ": " + std::strerror(error));
    }
    const QuietHdf5 quiet;
    const Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
    if (!file.ok()) refuse(path, "is not a NetCDF-4 file, or is damaged");

    std::vector<hsize_t> rows(1), columns(1), both(2);
    const auto lat = read_array<double>(file.id(), "lat", H5T_NATIVE_DOUBLE, H5T_FLOAT, rows, path);
    const auto lon = read_array<double>(file.id(), "lon", H5T_NATIVE_DOUBLE, H5T_FLOAT, columns, path);
    Seafloor seafloor;
    seafloor.height_m = read_array<std::int16_t>(file.id(), "z", H5T_NATIVE_INT16, H5T_INTEGER, both, path);
    if (both[0] != rows[0] || both[1] != columns[0]) refuse(path, "z does not have the shape (lat, lon)");
    seafloor.step_deg = regular_step(lon, "lon", path);
    if (std::abs(regular_step(lat, "lat", path) - seafloor.step_deg) > 1e-6 * seafloor.step_deg) {
        refuse(path, "the steps of lat and lon differ");
    }
    seafloor.west_deg = lon.front();
    seafloor.south_deg = lat.front();
    seafloor.num_rows = static_cast<std::int64_t>(rows[0]);
    seafloor.num_columns = static_cast<std::int64_t>(columns[0]);
    return seafloor;
}

std::vector<double> cell_heights_m(const Seafloor& seafloor, const Grid& grid, std::int64_t first_row,
                                   std::int64_t num_rows, std::int64_t first_column,
                                   std::int64_t num_columns) {
    const Region& region = grid.region;
    // Both nodes beside each edge of the region are needed.
    if (region.west < seafloor.west_deg + seafloor.step_deg ||
        region.east > seafloor.east_deg() - seafloor.step_deg ||
        region.south < seafloor.south_deg + seafloor.step_deg ||
        region.north > seafloor.north_deg() - seafloor.step_deg) {
        const auto degrees = [](double value) { return std::to_string(std::lround(value)); };
        throw Error(ErrorCode::invalid_argument,
                    "the region leaves the sea floor, which covers " + degrees(seafloor.west_deg) + " to " +
                        degrees(seafloor.east_deg()) + " E, " + degrees(seafloor.south_deg) + " to " +
                        degrees(seafloor.north_deg()) + " N (less a node at each edge)");
    }
    const Weights across = line_weights(region.west, grid.cell_width_deg, first_column, num_columns,
                                        seafloor.west_deg, seafloor.step_deg);
    const Weights up = line_weights(region.south, grid.cell_height_deg, first_row, num_rows,
                                    seafloor.south_deg, seafloor.step_deg);
    std::vector<double> heights(static_cast<std::size_t>(num_rows * num_columns));
    for (std::int64_t row = 0; row < num_rows; ++row) {
        for (std::int64_t column = 0; column < num_columns; ++column) {
            double sum = 0;
            for (std::int64_t k = up.begin[row]; k < up.begin[row + 1]; ++k) {
                const std::int64_t node_row = up.first[row] + k - up.begin[row];
                const std::int16_t* line =
                    &seafloor.height_m[node_row * seafloor.num_columns + across.first[column]];
                double line_sum = 0;
                for (std::int64_t l = across.begin[column]; l < across.begin[column + 1]; ++l) {
                    line_sum += across.values[l] * *line++;
                }
                sum += up.values[k] * line_sum;
            }
            heights[static_cast<std::size_t>(row * num_columns + column)] = sum;
        }
    }
    return heights;
}

}  // namespace hakobi::tsunami
