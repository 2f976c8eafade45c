#include "format/hdf5/chunk_reader.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "filter/codec.hpp"
#include "filter/shuffle.hpp"
#include "format/hdf5/hdf5.hpp"
#include "storage/file.hpp"

namespace hakobi::format {
namespace {

/// A data set's filters, as far as they are ours: shuffle, then a codec; the place of each in HDF5's filter
/// mask, or -1.
struct Pipeline {
    int shuffle = -1, codec = -1;
    filter::Codec kind = filter::Codec::none;
};

/// No pipeline where one of the filters is another, or the order.
Result<std::optional<Pipeline>> pipeline_of(hid_t creation, const std::string& what) {
    Pipeline pipeline;
    bool is_ours = true;
    const int num = check(H5Pget_nfilters(creation), "H5Pget_nfilters");
    for (int i = 0; i < num; ++i) {
        unsigned flags = 0;
        std::size_t num_values = 0;
        std::array<char, 80> name{};
        const H5Z_filter_t id = check(H5Pget_filter2(creation, static_cast<unsigned>(i), &flags, &num_values,
                                                     nullptr, name.size() - 1, name.data(), nullptr),
                                      "H5Pget_filter2");
        if (id == H5Z_FILTER_SHUFFLE && i == 0) {
            pipeline.shuffle = i;
        } else if (pipeline.codec < 0 && id == filter::hdf5_filter_of(filter::Codec::deflate)) {
            pipeline.codec = i;
            pipeline.kind = filter::Codec::deflate;
        } else if (pipeline.codec < 0 && id == filter::hdf5_filter_of(filter::Codec::zstd)) {
            pipeline.codec = i;
            pipeline.kind = filter::Codec::zstd;
        } else {
            is_ours = false;
            if (H5Zfilter_avail(id) <= 0) {
                return Status(
                    ErrorCode::unsupported,
                    what + ": its values need HDF5's filter " + std::to_string(id) +
                        (name[0] != '\0' ? " (" + std::string(name.data()) + ")" : "") +
                        ", which is not installed: set HDF5_PLUGIN_PATH to the folder of its plugin");
            }
        }
    }
    if (!is_ours) return std::optional<Pipeline>();
    return std::optional<Pipeline>(pipeline);
}

/// Whether something stands before HDF5's part of the file: versions of the library differ in what a chunk's
/// address counts from.
bool has_user_block(hid_t dataset) {
    const Handle file(H5Iget_file_id(dataset), H5Fclose, "H5Iget_file_id");
    const Handle creation(H5Fget_create_plist(file), H5Pclose, "H5Fget_create_plist");
    hsize_t bytes = 0;
    check(H5Pget_userblock(creation, &bytes), "H5Pget_userblock");
    return bytes > 0;
}

/// A chunk's elements become those of the block that lie in it, row by row.
class Destination {
  public:
    Destination(std::span<const hsize_t> start, std::span<const hsize_t> count,
                std::span<const hsize_t> chunk, std::size_t element_bytes, std::span<std::byte> values)
        : start_(start), count_(count), chunk_(chunk), element_bytes_(element_bytes), values_(values) {}

    void take(std::span<const hsize_t> chunk_start, std::span<const std::byte> from) {
        const std::size_t num_dims = start_.size();
        std::vector<hsize_t> begin(num_dims), end(num_dims);
        for (std::size_t d = 0; d < num_dims; ++d) {
            begin[d] = std::max(start_[d], chunk_start[d]);
            end[d] = std::min(start_[d] + count_[d], chunk_start[d] + chunk_[d]);
        }
        const std::size_t row_bytes = (end.back() - begin.back()) * element_bytes_;
        std::vector<hsize_t> at = begin;
        for (;;) {
            std::size_t source = 0, target = 0;
            for (std::size_t d = 0; d < num_dims; ++d) {
                source = source * chunk_[d] + (at[d] - chunk_start[d]);
                target = target * count_[d] + (at[d] - start_[d]);
            }
            std::memcpy(values_.data() + target * element_bytes_, from.data() + source * element_bytes_,
                        row_bytes);
            std::size_t d = num_dims - 1;
            while (d > 0 && ++at[d - 1] == end[d - 1]) {
                at[d - 1] = begin[d - 1];
                --d;
            }
            if (d == 0) return;
        }
    }

  private:
    std::span<const hsize_t> start_, count_, chunk_;
    std::size_t element_bytes_;
    std::span<std::byte> values_;
};

/// One process's chunks of one data set.
class Chunks {
  public:
    Chunks(hid_t dataset, storage::File& file, const Pipeline& pipeline, std::size_t chunk_bytes,
           std::size_t element_bytes)
        : dataset_(dataset),
          file_(file),
          pipeline_(pipeline),
          element_bytes_(element_bytes),
          values_(chunk_bytes),
          shuffled_(pipeline.shuffle >= 0 ? chunk_bytes : 0) {}

    void fill(hid_t creation, hid_t native_type) {
        std::vector<std::byte> element(element_bytes_);
        check(H5Pget_fill_value(creation, native_type, element.data()), "H5Pget_fill_value");
        fill_.resize(values_.size());
        for (std::size_t at = 0; at < fill_.size(); at += element_bytes_)
            std::memcpy(fill_.data() + at, element.data(), element_bytes_);
    }

    /// The chunk's elements; valid until the next call.
    Result<std::span<const std::byte>> read(std::span<const hsize_t> chunk_start) {
        unsigned mask = 0;
        haddr_t address = HADDR_UNDEF;
        hsize_t bytes = 0;
        check(H5Dget_chunk_info_by_coord(dataset_, chunk_start.data(), &mask, &address, &bytes),
              "H5Dget_chunk_info_by_coord");
        if (address == HADDR_UNDEF) return std::span<const std::byte>(fill_);
        const auto is_applied = [mask](int i) { return i >= 0 && (mask >> i & 1U) == 0; };
        const bool is_shuffled = is_applied(pipeline_.shuffle), is_packed = is_applied(pipeline_.codec);
        if (!is_packed && bytes != values_.size())
            return Status(ErrorCode::format, file_.path() + ": a chunk has another size than its data set's");
        std::span<std::byte> unpacked = is_shuffled ? shuffled_ : values_;
        if (is_packed) packed_.resize(bytes);
        const std::span<std::byte> stored = is_packed ? std::span(packed_) : unpacked;
        Result<std::int64_t> read = file_.read_at(stored, static_cast<std::int64_t>(address));
        if (!read.ok()) return read.status();
        if (read.value() != std::ssize(stored))
            return Status(ErrorCode::format, file_.path() + ": the file ends within a chunk");
        if (is_packed) {
            Status status = coder_.unpack(pipeline_.kind, packed_, unpacked);
            if (!status.ok()) return Status(status.code(), file_.path() + ": " + status.text());
        }
        if (is_shuffled) filter::unshuffle(shuffled_, static_cast<std::int64_t>(element_bytes_), values_);
        return std::span<const std::byte>(values_);
    }

  private:
    hid_t dataset_;
    storage::File& file_;
    Pipeline pipeline_;
    std::size_t element_bytes_;
    std::vector<std::byte> values_, shuffled_, packed_, fill_;
    filter::Coder coder_;
};

}  // namespace

std::optional<Status> read_chunks(hid_t dataset, const std::string& path, hid_t native_type,
                                  std::span<const hsize_t> start, std::span<const hsize_t> count,
                                  std::span<std::byte> values) {
    const Handle creation(H5Dget_create_plist(dataset), H5Pclose, "H5Dget_create_plist");
    if (H5Pget_layout(creation) != H5D_CHUNKED) return std::nullopt;
    if (has_user_block(dataset)) return std::nullopt;
    std::string name(static_cast<std::size_t>(check(H5Iget_name(dataset, nullptr, 0), "H5Iget_name")), '\0');
    H5Iget_name(dataset, name.data(), name.size() + 1);
    Result<std::optional<Pipeline>> pipeline = pipeline_of(creation, path + ": " + name.substr(1));
    if (!pipeline.ok()) return pipeline.status();
    const Handle type(H5Dget_type(dataset), H5Tclose, "H5Dget_type");
    if (!pipeline.value() || check(H5Tequal(type, native_type), "H5Tequal") == 0) return std::nullopt;
    std::vector<hsize_t> chunk(start.size());
    check(H5Pget_chunk(creation, static_cast<int>(chunk.size()), chunk.data()), "H5Pget_chunk");
    const std::size_t element_bytes = H5Tget_size(type);
    constexpr std::size_t most_bytes = 0xffff'ffff;  // of a chunk in HDF5
    std::size_t chunk_bytes = element_bytes;
    for (const hsize_t length : chunk) {
        if (length == 0 || length > most_bytes / chunk_bytes)
            return Status(ErrorCode::format, path + ": chunks of an impossible size");
        chunk_bytes *= length;
    }
    Result<storage::FilePtr> file = storage::open_file(path, {});
    if (!file.ok()) return file.status();
    Chunks chunks(dataset, *file.value(), *pipeline.value(), chunk_bytes, element_bytes);
    chunks.fill(creation, native_type);
    Destination destination(start, count, chunk, element_bytes, values);
    std::vector<hsize_t> first(chunk.size());
    for (std::size_t d = 0; d < chunk.size(); ++d) first[d] = start[d] / chunk[d] * chunk[d];
    for (std::vector<hsize_t> at = first;;) {
        Result<std::span<const std::byte>> read = chunks.read(at);
        if (!read.ok()) return read.status();
        destination.take(at, read.value());
        std::size_t d = chunk.size();
        while (d > 0 && (at[d - 1] += chunk[d - 1]) >= start[d - 1] + count[d - 1]) {
            at[d - 1] = first[d - 1];
            --d;
        }
        if (d == 0) return Status();
    }
}

}  // namespace hakobi::format
