// HDF5 files that a run goes on with: those of several steps, which take another one, and those that show a
// series. The first byte says which.
#include <sanitizer/lsan_interface.h>

#include "described.hpp"
#include "format/netcdf4/growing.hpp"
#include "format/netcdf4/netcdf4.hpp"
#include "format/series_format.hpp"
#include "format/vtkhdf/growing.hpp"
#include "input.hpp"

using namespace hakobi;

namespace {

/// Whatever the file says, a step is laid out behind all that is in it.
void go_on(const format::GrowingFormat& format, const std::string& path, std::int64_t file_bytes,
           const format::StepDescription& step) {
    const auto resumed = format.resume_file(path, step);
    if (!resumed.ok()) return;
    format::GrowingFile& file = *resumed.value();
    fuzz::require(file.num_steps() > 0 && file.resumed_bytes() > 0 && file.resumed_bytes() <= file_bytes);
    const Result<format::Layout> layout = file.append(step, {});
    if (!layout.ok()) return;
    for (std::size_t f = 0; f < step.fields.size(); ++f) {
        const std::int64_t begin = layout.value().offsets_bytes[f];
        fuzz::require(begin >= file.resumed_bytes() &&
                      begin + step.fields[f].size_bytes() <= layout.value().file_bytes);
    }
}

void read_series(const std::string& path, const std::string& folder) {
    const format::SeriesFormat& format = *format::netcdf4().series();
    (void)format.is_series_or_rest(path);
    const Result<format::SeriesDescription> series = format.read_series(path);
    if (!series.ok()) return;
    const format::SeriesDescription& shows = series.value();
    fuzz::require(shows.times.size() == shows.numbers.size() &&
                  shows.has.size() == shows.shown.fields.size());
    std::int64_t bytes = 0;
    for (const format::FieldDescription& field : shows.shown.fields)
        bytes += std::min<std::int64_t>(field.size_bytes(), 1 << 20);
    if (bytes < 1 << 20) (void)format.read_records(path, shows.shown.fields, std::ssize(shows.times));
    // A run that goes on makes it anew, from what it says.
    (void)format.lay_out_series(shows, folder);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const fuzz::Folder folder;
    const __lsan::ScopedDisabler hdf5_loses_memory;  // where it fails
    fuzz::Input input(data, size);
    const auto what = input.take<std::uint8_t>();
    const auto bytes = input.bytes();
    folder.write("file", bytes);
    const std::string path = folder.path_of("file");
    switch (what % 3) {
        case 0:
            go_on(format::growing_netcdf4(), path, std::ssize(bytes), fuzz::descriptions().front());
            break;
        case 1:
            go_on(format::growing_vtkhdf(), path, std::ssize(bytes), fuzz::mesh_step());
            break;
        default:
            read_series(path, folder.path_of("."));
    }
    return 0;
}
