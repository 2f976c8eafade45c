#include "inputs.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <hakobi/error.hpp>

namespace hakobi::tsunami {
namespace {

// One value or array from rank 0 to all. An array's length goes first.
template <class T>
void send_to_all(MPI_Comm comm, T& value) {
    MPI_Bcast(&value, sizeof(T), MPI_BYTE, 0, comm);
}
template <class Array>
void send_array_to_all(MPI_Comm comm, Array& array) {
    std::int64_t size = static_cast<std::int64_t>(array.size());
    send_to_all(comm, size);
    array.resize(static_cast<std::size_t>(size));
    constexpr std::int64_t part = std::int64_t{1} << 28;  // bytes: a count of int would limit the array
    char* bytes = reinterpret_cast<char*>(array.data());
    const std::int64_t num_bytes = size * static_cast<std::int64_t>(sizeof(typename Array::value_type));
    for (std::int64_t at = 0; at < num_bytes; at += part) {
        MPI_Bcast(bytes + at, static_cast<int>(std::min(part, num_bytes - at)), MPI_BYTE, 0, comm);
    }
}

}  // namespace

Inputs read_inputs(const Comm& comm, const std::string& seafloor_path, const std::string& rupture_path,
                   const std::string& gauges_path, const std::string& json_path) {
    Inputs inputs;
    auto code = ErrorCode::ok;
    std::string text;
    if (comm.rank() == 0) {
        try {
            inputs.seafloor = read_seafloor(seafloor_path);
            inputs.rupture = read_rupture(rupture_path);
            if (!gauges_path.empty()) inputs.gauges = read_gauges(gauges_path);
            if (!json_path.empty() && !std::ofstream(json_path, std::ios::app)) {
                throw Error(ErrorCode::permission, "record " + json_path + ": " + std::strerror(errno));
            }
        } catch (const Error& error) {
            code = error.code();
            text = error.what();
        }
    }
    const MPI_Comm handle = comm.handle();
    send_to_all(handle, code);
    send_array_to_all(handle, text);
    if (code != ErrorCode::ok) throw Error(code, text, 0);

    Seafloor& floor = inputs.seafloor;
    send_to_all(handle, floor.west_deg);
    send_to_all(handle, floor.south_deg);
    send_to_all(handle, floor.step_deg);
    send_to_all(handle, floor.num_rows);
    send_to_all(handle, floor.num_columns);
    send_array_to_all(handle, floor.height_m);

    send_to_all(handle, inputs.rupture.length_km);
    send_to_all(handle, inputs.rupture.width_km);
    send_array_to_all(handle, inputs.rupture.subfaults);

    std::int64_t num_gauges = static_cast<std::int64_t>(inputs.gauges.size());
    send_to_all(handle, num_gauges);
    inputs.gauges.resize(static_cast<std::size_t>(num_gauges));
    for (Gauge& gauge : inputs.gauges) {
        send_array_to_all(handle, gauge.name);
        send_to_all(handle, gauge.longitude_deg);
        send_to_all(handle, gauge.latitude_deg);
        send_to_all(handle, gauge.observed_arrival_min);
        send_to_all(handle, gauge.observed_crest_min);
    }
    return inputs;
}

}  // namespace hakobi::tsunami
