// Writes a few good inputs of every target to <folder>/<target>/: `fuzz_seeds FOLDER`.
#include <hdf5.h>
#include <hdf5_hl.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iostream>
#include <map>

#include "described.hpp"
#include "format/netcdf4/netcdf4.hpp"
#include "format/vtkhdf/vtkhdf.hpp"
#include "gauge_format.hpp"
#include "output/held_field.hpp"
#include "region/region.hpp"
#include "seeds.hpp"
#include "series/piece.hpp"
#include "storage/lustre_layout.hpp"
#include "store/consolidated.hpp"
#include "store/format.hpp"
#include "store/schema.hpp"

using namespace hakobi;
namespace fs = std::filesystem;

namespace {

using fuzz::Bytes, fuzz::Seeds, fuzz::content_of;

void add_steps(Seeds& seeds) {
    for (const format::StepDescription& description : fuzz::descriptions()) {
        const Bytes encoded = format::encode_step(description);
        seeds.add("step", encoded);
        for (const int num_ranks : {1, 2}) {
            ByteWriter writer;
            writer.put(static_cast<std::int8_t>(num_ranks));
            writer.put(static_cast<std::uint16_t>(encoded.size()));
            Bytes input = writer.take();
            input.insert(input.end(), encoded.begin(), encoded.end());
            for (int rank = 0; rank < num_ranks; ++rank) {
                for (const format::FieldDescription& one : description.fields) {
                    input.push_back(std::byte{0});
                    const Block block = split(one.global, num_ranks, rank);
                    for (std::size_t d = 0; d < block.global.size(); ++d) {
                        input.push_back(static_cast<std::byte>(block.start[d]));
                        input.push_back(static_cast<std::byte>(block.count[d]));
                    }
                }
            }
            seeds.add("gather", input);
        }
    }
}

void add_pieces(Seeds& seeds, const fs::path& folder) {
    for (const format::StepDescription& description : fuzz::descriptions()) {
        series::PieceHeader header{.rank = 1, .num_ranks = 2};
        series::Step step;
        step.description = description;
        step.layout = format::netcdf4().lay_out(description).value();
        std::vector<Bytes> values;
        for (std::size_t f = 0; f < description.fields.size(); ++f) {
            const format::FieldDescription& one = description.fields[f];
            const std::int64_t element_bytes = format::bytes_of(one.type);
            const Block block = split(one.global, 2, 0);
            values.emplace_back(static_cast<std::size_t>(block.num_elements() * element_bytes));
            step.parts.push_back(output::part_of(
                {{block, values.back().data(), output::packed_strides(block.count, element_bytes)}},
                element_bytes, step.layout.offsets_bytes[f]));
            header.regions.push_back(step.parts.back().file);
        }
        seeds.add("piece", series::encode_header(header));
        const std::string path = folder / "seed.piece";
        if (!series::write_piece(path, step, 0, 2, false).ok())
            throw std::runtime_error("cannot write " + path);
        seeds.add("piece", content_of(path));
        fs::remove(path);
    }
}

void add_regions(Seeds& seeds) {
    const Region rows = Region::strided(3, 4, 20, Region::contiguous(0, 5));
    const Region list =
        Region::indexed(std::vector<std::int64_t>{0, 30, 50}, std::vector<std::int64_t>{4, 8, 2});
    const std::vector<Region::Part> parts{{0, rows}, {100, list}, {90, rows}};
    for (const Region& region : {rows, list, Region::concatenated(parts),
                                 Region::strided(0, 3, 1000, Region::concatenated(parts))}) {
        std::vector<std::int64_t> words;
        region.to_words(words);
        Bytes input(2);
        for (const std::int64_t word : words) {
            if (word >= -128 && word < 127) {
                input.push_back(static_cast<std::byte>(word));
                continue;
            }
            input.push_back(std::byte{127});
            const auto raw = std::as_bytes(std::span(&word, 1));
            input.insert(input.end(), raw.begin(), raw.end());
        }
        seeds.add("region", input);
    }
}

void add_gauge(Seeds& seeds) {
    lattice::GaugeLayout layout{.format = lattice::GaugeFormat::ildg, .extents = {1, 1, 1, 2}};
    const lattice::GaugeFrame frame = lattice::frame_gauge_file(layout, {}, {"a", "b"});
    seeds.add("gauge",
              frame.before + std::string(static_cast<std::size_t>(layout.links_bytes()), 'x') + frame.after);
}

void add_store(Seeds& seeds) {
    const auto chosen = [](char what, const Bytes& bytes) {
        Bytes input{static_cast<std::byte>(what)};
        input.insert(input.end(), bytes.begin(), bytes.end());
        return input;
    };
    seeds.add("store", chosen(0, store::encode_header({.id = 7, .writer = "a", .host = "b"})));
    seeds.add("store", chosen(2, store::encode_wipe({{.id = 7, .offsets = {0, 100}}})));
    seeds.add("store", chosen(3, store::encode_consolidated(store::Catalogue())));
}

void add_texts(Seeds& seeds) {
    for (const char* name : {"weather", "flow", "lattice"}) {
        seeds.add("store", "\4" + std::string(store::shipped_schema(name)));
    }
    seeds.add("store", "\5param=t/u,levelist=500/to/850/by/50,step=0/to/24/by/6,date=-1,number=*");
    seeds.add("hints", "cb_nodes=4;cb_buffer_size=4M;cb_config_list=*:2;striping_unit=1M;hakobi_depth=2");
    seeds.add("hints", "hakobi_access=uring;hakobi_shuffle=never;hakobi_direct_io=true;hakobi_profile=1");
    seeds.add("hints", "hakobi_async_budget=1G;romio_cb_write=enable;hakobi_deph=3");
    seeds.add("hints", "rank=1,operation=write,nth=3,error=ENOSPC,path=run.nc");
    seeds.add("hints", "servers=4,bandwidth=500,latency=2ms,stripe=1M");
    seeds.add("hints", "hypercrossbar:16,16,10");
    seeds.add("hints", "striping_factor=-1;start_iodevice=3;overstriping_ratio=2;hakobi_layout=folder");
    seeds.add("layout", "stripe_unit=1048576 stripe_count=3 object_size=4194304 pool=cephfs_data");
    // Also what Lustre gives: a plain one, and one of two parts.
    const auto plain = storage::lustre::request_of({.num_stripes = 2, .stripe_bytes = 1 << 20}, {});
    seeds.add("layout", plain);
    ByteWriter composite;
    for (const std::uint32_t word : {0x0BD60BD0U, 0U, 0U, 0x00020000U, 0U, 0U, 0U, 0U}) composite.put(word);
    for (const std::int64_t begin : {0, 1 << 22}) {
        composite.put(std::array<std::uint32_t, 2>{1, 0});
        composite.put(std::array<std::int64_t, 2>{begin, begin == 0 ? 1 << 22 : storage::Layout::no_end});
        composite.put(std::array<std::uint32_t, 6>{32 + 2 * 48, 32, 0, 0, 0, 0});
    }
    Bytes whole = composite.take();
    whole.insert(whole.end(), plain.begin(), plain.end());
    seeds.add("layout", whole);
    seeds.add("store",
              "\4step: Step;\n[ class, stream=oper/wave [ type, levtype [ step, levelist?, param ]]]");
    seeds.add("store", "\5param=t/u,levelist=500/850,step=0/to/24/by/6,date=-1,number=*");
    seeds.add(
        "gauge",
        "BEGIN_HEADER\nHDR_VERSION = 1.0\nDATATYPE = 4D_SU3_GAUGE\nDIMENSION_1 = 1\nDIMENSION_2 = 1\n"
        "DIMENSION_3 = 1\nDIMENSION_4 = 2\nLINK_TRACE = -1.5e-3\nPLAQUETTE  = 0.5938\nCHECKSUM = 89abcdef\n"
        "FLOATING_POINT = IEEE32\nEND_HEADER\n" +
            std::string(2 * 4 * 2 * 6 * 4, 'x'));
    seeds.add("grib", std::string_view("GRIB\0\0\x0c\1"
                                       "7777",
                                       12));
    seeds.add("grib", std::string_view("GRIB\0\0\0\2\0\0\0\0\0\0\0\x14"
                                       "7777",
                                       20));
    seeds.add(
        "trace",
        "{\"kind\": \"trace\", \"ranks\": 2}\n"
        "{\"kind\": \"trace-rank\", \"rank\": 0, \"num_events\": 3, \"num_dropped\": 0, \"memory_bytes\": 9, "
        "\"groups\": [[0, 1]], \"copies\": [0], \"not_replayed\": {\"put\": 1}}\n"
        "{\"kind\": \"trace-events\", \"rank\": 0, \"events\": [[\"isend\", 1, 5, 0, 8, 65536, 1.0, 2.0], "
        "[\"wait\", -2, -1, -1, 0, 0, 3.0, 4.0, [0]], [\"sendrecv\", 1, 5, 0, 8, 65536, 5, 6, 1, 8, 70000, "
        "5]]}\n"
        "{\"kind\": \"trace-rank\", \"rank\": 1, \"num_events\": 2, \"num_dropped\": 0, \"memory_bytes\": 9, "
        "\"groups\": [[0, 1]]}\n"
        "{\"kind\": \"trace-events\", \"rank\": 1, \"events\": [[\"receive\", 0, 5, 0, 8, 65536, 1.0, 2.0], "
        "[\"allreduce\", -2, -1, 0, 8, 65536, 3.0, 4.0]]}\n");
    seeds.add("tsunami",
              "{\"gauges\": [{\"name\": \"21413\", \"longitude\": 152.1, \"latitude\": 30.5, "
              "\"arrival_minutes\": 78, \"first_crest_minutes\": 83.5}]}");
    seeds.add(
        "tsunami",
        "{\"length_km\": 25, \"width_km\": 20, \"subfaults\": "
        "[[143.2, 38.1, 10, 12.5, 88, 198, 10, 5, 12, 20], [143, 38, 20, 2, 88, 198, 10, 15, 12, 20]]}");
    seeds.add("sparse_image",
              std::string_view("\0\0\0\4\0abcd\1\3\0\0\0\2\0\0\10\0\0\x0e\x10\x06\0abcdef", 31));
}

/// As apps/tsunami/data/clip_seafloor.py writes it, but small and neither compressed nor with a checksum,
/// which no change of the input would pass.
void add_seafloor(Seeds& seeds, const fs::path& folder) {
    const std::string path = folder / "seed.nc";
    const std::vector<double> lat{30, 31, 32}, lon{140, 141, 142, 143};
    const std::vector<short> heights{-5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6};
    const hsize_t rows = lat.size(), columns = lon.size(), both[] = {rows, columns};
    const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const bool is_made = H5LTmake_dataset_double(file, "lat", 1, &rows, lat.data()) >= 0 &&
                         H5LTmake_dataset_double(file, "lon", 1, &columns, lon.data()) >= 0 &&
                         H5LTmake_dataset_short(file, "z", 2, both, heights.data()) >= 0;
    if (H5Fclose(file) < 0 || !is_made) throw std::runtime_error("cannot write " + path);
    seeds.add("seafloor", content_of(path));
    fs::remove(path);
}

/// A step's file, all of whose values are zero but those that are given for a field's name.
Bytes file_of(const format::Format& format, const format::StepDescription& step,
              const std::map<std::string, Bytes>& values = {}) {
    const format::Layout layout = format.lay_out(step).value();
    Bytes file(static_cast<std::size_t>(layout.file_bytes));
    const auto put = [&](std::int64_t offset_bytes, const Bytes& bytes) {
        std::ranges::copy(bytes, file.begin() + offset_bytes);
    };
    for (const format::Extent& extent : layout.metadata) put(extent.offset_bytes, extent.bytes);
    for (std::size_t f = 0; f < step.fields.size(); ++f) {
        if (const auto its = values.find(step.fields[f].name); its != values.end())
            put(layout.offsets_bytes[f], its->second);
    }
    return file;
}

/// One triangle and a field on its points.
Bytes mesh_file() {
    return file_of(format::vtkhdf(), fuzz::mesh_step(), fuzz::mesh_values());
}

/// As others write them: HDF5's first format or that of 1.8, scales, a text of any length, packed chunks, a
/// virtual data set.
void make_foreign(const std::string& path, H5F_libver_t version) {
    const hsize_t both[] = {3, 4};
    const double values[12] = {1, 2, 3};
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS), creation = H5Pcreate(H5P_DATASET_CREATE);
    const hid_t shown = H5Pcreate(H5P_DATASET_CREATE), text = H5Tcopy(H5T_C_S1);
    const hid_t space = H5Screate_simple(2, both, nullptr), scalar = H5Screate(H5S_SCALAR);
    bool is_made = H5Pset_libver_bounds(access, version, H5F_LIBVER_V110) >= 0 &&
                   H5Pset_chunk(creation, 2, both) >= 0 && H5Pset_deflate(creation, 1) >= 0 &&
                   H5Pset_virtual(shown, space, ".", "eta", space) >= 0 &&
                   H5Tset_size(text, H5T_VARIABLE) >= 0;
    const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access);
    is_made = is_made && H5LTmake_dataset_double(file, "eta", 2, both, values) >= 0;
    const hid_t eta = H5Dopen2(file, "eta", H5P_DEFAULT);
    for (const unsigned d : {0U, 1U}) {
        const char* const name = d == 0 ? "y" : "x";
        is_made = is_made && H5LTmake_dataset_double(file, name, 1, &both[d], values) >= 0;
        const hid_t scale = H5Dopen2(file, name, H5P_DEFAULT);
        is_made = is_made && H5DSset_scale(scale, name) >= 0 && H5DSattach_scale(eta, scale, d) >= 0;
        H5Dclose(scale);
    }
    const char* const title = "of any length";
    const hid_t note = H5Acreate2(file, "title", text, scalar, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t packed =
        H5Dcreate2(file, "packed", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    const hid_t other = H5Dcreate2(file, "shown", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, shown, H5P_DEFAULT);
    is_made = is_made && H5Awrite(note, text, &title) >= 0 && other >= 0 &&
              H5Dwrite(packed, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0;
    for (const hid_t dataset : {eta, packed, other}) H5Dclose(dataset);
    for (const hid_t list : {access, creation, shown}) H5Pclose(list);
    for (const hid_t each : {space, scalar}) H5Sclose(each);
    H5Aclose(note);
    H5Tclose(text);
    if (H5Fclose(file) < 0 || !is_made) throw std::runtime_error("cannot write " + path);
}

void add_readings(Seeds& seeds, const fs::path& folder) {
    for (const format::StepDescription& description : fuzz::descriptions())
        seeds.add("reading", file_of(format::netcdf4(), description));
    seeds.add("reading", mesh_file());
    const std::string path = folder / "seed.h5";
    for (const H5F_libver_t version : {H5F_LIBVER_EARLIEST, H5F_LIBVER_V18, H5F_LIBVER_V110}) {
        make_foreign(path, version);
        seeds.add("reading", content_of(path));
    }
    fs::remove(path);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::cerr << "usage: fuzz_seeds FOLDER\n";
        return 2;
    }
    try {
        Seeds seeds(argv[1]);
        fs::create_directories(argv[1]);
        add_steps(seeds);
        add_pieces(seeds, argv[1]);
        add_regions(seeds);
        add_texts(seeds);
        add_gauge(seeds);
        add_store(seeds);
        add_seafloor(seeds, argv[1]);
        add_readings(seeds, argv[1]);
        fuzz::add_seeds_of_series(seeds);
    } catch (const std::exception& error) {
        std::cerr << "fuzz_seeds: " << error.what() << "\n";
        return 1;
    }
    return 0;
}
