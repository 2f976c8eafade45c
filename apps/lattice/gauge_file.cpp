#include "gauge_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "agree.hpp"
#include "site_codec.hpp"

// The public interface of Hakobi writes files of its own layout (hakobi/output.hpp); this one is given.
// Blocks therefore go through collective MPI-IO calls, which `hakobi run` carries by the engine.
//
//  1. Rank 0 reads the header, or composes it; all ranks learn it.
//  2. Every rank opens the file, sets a view of its block (a subarray of sites), and takes part in one
//     collective call.
//  3. At the end of each step all ranks learn of a failure on any rank, and leave together.
namespace hakobi::lattice {
namespace {

Failure failure_of_mpi(int code, const std::string& what) {
    if (code == MPI_SUCCESS) return {};
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int length = 0, mpi_class = 0;
    MPI_Error_string(code, text.data(), &length);
    MPI_Error_class(code, &mpi_class);
    ErrorCode own = ErrorCode::io;
    if (mpi_class == MPI_ERR_NO_SUCH_FILE) own = ErrorCode::not_found;
    if (mpi_class == MPI_ERR_ACCESS || mpi_class == MPI_ERR_READ_ONLY) own = ErrorCode::permission;
    if (mpi_class == MPI_ERR_NO_SPACE || mpi_class == MPI_ERR_QUOTA) own = ErrorCode::no_space;
    return {own, what + ": " + std::string(text.data(), static_cast<std::size_t>(length))};
}

// An open file with this rank's block as its view. Every member is collective and throws alike on all ranks.
class BlockFile {
  public:
    BlockFile(const Comm& comm, const std::string& path, int mode) : comm_(comm), path_(path) {
        throw_if_any_failed(
            comm,
            failure_of_mpi(MPI_File_open(comm.handle(), path.c_str(), mode, MPI_INFO_NULL, &file_), path));
    }
    BlockFile(const BlockFile&) = delete;
    BlockFile& operator=(const BlockFile&) = delete;
    /// Failures leave all ranks together: what is still open is closed by all of them.
    ~BlockFile() {
        if (file_ != MPI_FILE_NULL) MPI_File_close(&file_);
    }

    void write_on_rank_0(std::int64_t offset, const std::string& bytes) {
        int code = MPI_SUCCESS;
        if (comm_.rank() == 0 && !bytes.empty()) {
            code = MPI_File_write_at(file_, offset, bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE,
                                     MPI_STATUS_IGNORE);
        }
        throw_if_any_failed(comm_, failure_of_mpi(code, path_));
    }

    void transfer(const Geometry& geometry, const GaugeLayout& layout, std::byte* bytes, bool is_written) {
        std::array<int, num_directions> sizes, counts, starts;
        for (int mu = 0; mu < num_directions; ++mu) {
            sizes[at(3 - mu)] = static_cast<int>(geometry.global()[at(mu)]);
            counts[at(3 - mu)] = static_cast<int>(geometry.count()[at(mu)]);
            starts[at(3 - mu)] = static_cast<int>(geometry.start()[at(mu)]);
        }
        MPI_Datatype site, block;
        MPI_Type_contiguous(static_cast<int>(layout.site_bytes()), MPI_BYTE, &site);
        MPI_Type_create_subarray(num_directions, sizes.data(), counts.data(), starts.data(), MPI_ORDER_C,
                                 site, &block);
        MPI_Type_commit(&site);
        MPI_Type_commit(&block);
        Failure failure = failure_of_mpi(
            MPI_File_set_view(file_, layout.links_offset_bytes, site, block, "native", MPI_INFO_NULL), path_);
        MPI_Status status;
        const int count = static_cast<int>(geometry.num_sites());
        const int code = is_written ? MPI_File_write_all(file_, bytes, count, site, &status)
                                    : MPI_File_read_all(file_, bytes, count, site, &status);
        const Failure moved = failure_of_mpi(code, path_);
        failure.note(moved.code, moved.text);
        int got = 0;
        if (code == MPI_SUCCESS && MPI_Get_count(&status, site, &got) == MPI_SUCCESS && got != count) {
            failure.note(is_written ? ErrorCode::io : ErrorCode::format,
                         path_ + ": " + std::to_string(got) + " of " + std::to_string(count) + " sites " +
                             (is_written ? "written" : "read"));
        }
        MPI_Type_free(&block);
        MPI_Type_free(&site);
        throw_if_any_failed(comm_, failure);
    }

    void close() { throw_if_any_failed(comm_, failure_of_mpi(MPI_File_close(&file_), path_)); }

  private:
    Comm comm_;
    std::string path_;
    MPI_File file_ = MPI_FILE_NULL;
};

std::string hex(std::uint32_t value) {
    std::array<char, 16> text{};
    std::snprintf(text.data(), text.size(), "%08x", value);
    return text.data();
}

// Checksums are told from rank 0's point of view: all ranks have the same.
void check_checksums(const std::string& path, const GaugeLayout& layout, const Checksums& found) {
    if (layout.words_checksum && *layout.words_checksum != found.words) {
        std::string text =
            path + ": checksum " + hex(found.words) + ", its header says " + hex(*layout.words_checksum);
        if (*layout.words_checksum == found.words_swapped) {
            text += std::string(": its links are in ") + (layout.is_big_endian ? "little" : "big") +
                    "-endian order, its FLOATING_POINT says " + (layout.is_big_endian ? "big" : "little");
        }
        throw Error(ErrorCode::format, text);
    }
    if (layout.crc_29 && (*layout.crc_29 != found.crc_29 || *layout.crc_31 != found.crc_31)) {
        throw Error(ErrorCode::format, path + ": SciDAC checksums " + hex(found.crc_29) + " and " +
                                           hex(found.crc_31) + ", the file says " + hex(*layout.crc_29) +
                                           " and " + hex(*layout.crc_31));
    }
}

void check_number(const std::string& path, const char* what, double found,
                  const std::optional<HeaderNumber>& said, int bytes_per_real) {
    if (!said) return;
    const double rounding = bytes_per_real == 8 ? 1e-12 : 1e-6;
    const double tolerance = std::max(rounding, said->resolution);
    if (std::abs(found - said->value) <= tolerance) return;  // false for a NaN
    std::array<char, 160> text{};
    std::snprintf(text.data(), text.size(), ": %s %.12g, its header says %.12g (they may differ by %.1g)",
                  what, found, said->value, tolerance);
    throw Error(ErrorCode::format, path + text.data());
}

std::string checks_of(const GaugeLayout& layout) {
    std::string text;
    const auto add = [&text](bool is_there, const char* what) {
        if (is_there) text.append(text.empty() ? "" : ", ").append(what);
    };
    add(layout.words_checksum.has_value(), "checksum");
    add(layout.crc_29.has_value(), "SciDAC checksums");
    add(layout.plaquette.has_value(), "plaquette");
    add(layout.link_trace.has_value(), "link trace");
    add(true, "unitarity");
    return text;
}

}  // namespace

GaugeLayout read_gauge_layout(const Comm& comm, const std::string& path) {
    static_assert(std::is_trivially_copyable_v<GaugeLayout>);
    GaugeLayout layout;
    on_rank_0(comm, [&] {
        std::ifstream file(path, std::ios::binary | std::ios::ate);
        if (!file) {
            const int error = errno;
            throw Error(error == ENOENT ? ErrorCode::not_found : ErrorCode::permission,
                        path + ": " + std::strerror(error));
        }
        const std::int64_t file_bytes = file.tellg();
        // A folder opens, and has no end or one far beyond what there is.
        if (file_bytes < 0 || file.seekg(0).peek() == std::ifstream::traits_type::eof()) {
            throw Error(ErrorCode::format, path + ": nothing can be read from it");
        }
        const auto read_at = [&](std::int64_t offset, std::int64_t max_bytes) {
            std::string bytes(at(std::clamp<std::int64_t>(file_bytes - offset, 0, max_bytes)), '\0');
            file.clear();
            file.seekg(offset);
            file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
            bytes.resize(at(file.gcount()));
            return bytes;
        };
        layout = parse_gauge_file(read_at, file_bytes, path);
    });
    MPI_Bcast(&layout, sizeof layout, MPI_BYTE, 0, comm.handle());
    return layout;
}

GaugeVerdict read_gauge(const Comm& comm, const std::string& path, const GaugeLayout& layout, Gauge& gauge,
                        const AddUp& add_up) {
    const Geometry& geometry = gauge.geometry();
    std::vector<std::byte> bytes(at(geometry.num_sites() * layout.site_bytes()));
    BlockFile file(comm, path, MPI_MODE_RDONLY);
    file.transfer(geometry, layout, bytes.data(), false);
    file.close();
    check_checksums(path, layout, combine(checksums_of(bytes, layout, geometry), comm));
    decode_links(bytes, layout, gauge);
    gauge.update();
    const GaugeMeasures measures = measure(gauge, comm, add_up);
    const double unitary = layout.bytes_per_real == 8 ? 1e-9 : 1e-4;
    if (!(measures.unitarity_defect <= unitary)) {
        throw Error(ErrorCode::format,
                    path + ": links that are not in SU(3), by " + std::to_string(measures.unitarity_defect));
    }
    check_number(path, "plaquette", measures.plaquette, layout.plaquette, layout.bytes_per_real);
    check_number(path, "link trace", measures.link_trace, layout.link_trace, layout.bytes_per_real);
    return {.measures = measures, .checked = checks_of(layout)};
}

void write_gauge(const Comm& comm, const std::string& path, const Gauge& gauge, const GaugeMeasures& measures,
                 const GaugeWriteOptions& options) {
    const bool is_nersc = options.format == GaugeFormat::nersc;
    GaugeLayout layout{.format = options.format,
                       .extents = gauge.geometry().global(),
                       .num_rows = is_nersc ? options.num_rows : 3,
                       .bytes_per_real = options.bytes_per_real};
    layout.plaquette = HeaderNumber{.value = measures.plaquette};
    layout.link_trace = HeaderNumber{.value = measures.link_trace};
    std::vector<std::byte> bytes = encode_links(gauge, layout);
    const Checksums checksums = combine(checksums_of(bytes, layout, gauge.geometry()), comm);
    GaugeFrame frame;
    if (comm.rank() == 0) frame = frame_gauge_file(layout, checksums, options.provenance);
    MPI_Bcast(&layout.links_offset_bytes, 1, MPI_INT64_T, 0, comm.handle());

    const std::string part = path + ".part";
    on_rank_0(comm, [&] {  // what an earlier run left must not show through
        if (std::remove(part.c_str()) != 0 && errno != ENOENT) {
            throw Error(ErrorCode::permission, part + ": " + std::strerror(errno));
        }
    });
    try {
        BlockFile file(comm, part, MPI_MODE_CREATE | MPI_MODE_WRONLY);
        file.write_on_rank_0(0, frame.before);
        file.write_on_rank_0(layout.links_offset_bytes + layout.links_bytes(), frame.after);
        file.transfer(gauge.geometry(), layout, bytes.data(), true);
        file.close();
    } catch (const Error&) {  // on all ranks alike
        if (comm.rank() == 0) std::remove(part.c_str());
        throw;
    }
    on_rank_0(comm, [&] {
        if (std::rename(part.c_str(), path.c_str()) != 0) {
            throw Error(ErrorCode::io, path + ": " + std::strerror(errno));
        }
    });
}

}  // namespace hakobi::lattice
