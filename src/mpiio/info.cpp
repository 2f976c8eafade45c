#include "mpiio/info.hpp"

#include <cstddef>
#include <string>

namespace hakobi::mpiio {

Hints info_entries(MPI_Info info, bool (*wants)(std::string_view)) {
    Hints hints;
    if (info == MPI_INFO_NULL) return hints;
    int num_keys = 0;
    PMPI_Info_get_nkeys(info, &num_keys);
    for (int i = 0; i < num_keys; ++i) {
        char key[MPI_MAX_INFO_KEY + 1] = "";
        PMPI_Info_get_nthkey(info, i, key);
        int length = 0, is_set = 0;
        PMPI_Info_get_valuelen(info, key, &length, &is_set);
        if (is_set == 0 || (wants != nullptr && !wants(key))) continue;
        std::string value(static_cast<std::size_t>(length) + 1, '\0');
        PMPI_Info_get(info, key, length, value.data(), &is_set);
        value.resize(static_cast<std::size_t>(length));
        hints[key] = value;
    }
    return hints;
}

void overlay_info(MPI_Info over, MPI_Info info) {
    const Hints has = info_entries(info);
    for (const auto& [name, value] : info_entries(over)) {
        if (has.contains(name)) PMPI_Info_set(info, name.c_str(), value.c_str());
    }
}

void set_in_info(MPI_Info over, MPI_Info info) {
    for (const auto& [name, value] : info_entries(over)) PMPI_Info_set(info, name.c_str(), value.c_str());
}

}  // namespace hakobi::mpiio
