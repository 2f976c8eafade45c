#include "format/hdf5/growing.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstring>
#include <new>

#include "format/alignment.hpp"
#include "format/chunks.hpp"
#include "format/hdf5/image_driver.hpp"
#include "format/hdf5/reading.hpp"
#include "region/block.hpp"
#include "storage/file.hpp"

namespace hakobi::format {
namespace {

constexpr std::int64_t most_chunk_bytes = 0xFFFFFFFF;  // HDF5's

std::int64_t rounded_up(std::int64_t bytes, std::int64_t multiple) {
    return (bytes + multiple - 1) / multiple * multiple;
}

/// Calls `visit(index, start)` for the first element of each chunk, in C order.
template <class Visit>
void for_each_chunk(std::span<const std::int64_t> global, std::span<const std::int64_t> shape, Visit visit) {
    std::vector<std::int64_t> start(global.size(), 0);
    for (std::int64_t index = 0;; ++index) {
        visit(index, start);
        std::size_t d = global.size();
        while (d-- > 0) {
            start[d] += shape[d];
            if (start[d] < global[d]) break;
            start[d] = 0;
        }
        if (d == static_cast<std::size_t>(-1)) return;
    }
}

/// Where the file ends, by its superblock.
std::int64_t read_end(hid_t file) {
    Result<storage::FilePtr> opened = storage::open_file(path_of(file), {});
    if (!opened.ok()) throw Hdf5Failure(opened.status().text());
    std::array<std::byte, GrowingHdf5::superblock_bytes> block{};
    const Result<std::int64_t> read = opened.value()->read_at(block, 0);
    constexpr std::size_t version_at = 8, end_at = 28;
    if (!read.ok() || read.value() != std::ssize(block) || block[version_at] != std::byte{2})
        throw Hdf5Failure("it was written anew by another program");
    std::uint64_t end = 0;
    for (std::size_t i = 0; i < 8; ++i) end |= std::to_integer<std::uint64_t>(block[end_at + i]) << (8 * i);
    return static_cast<std::int64_t>(end);
}

/// The filters of a data set, by HDF5's numbers.
std::vector<int> filters_of(hid_t creation) {
    std::vector<int> filters;
    for (int i = 0; i < H5Pget_nfilters(creation); ++i) {
        unsigned flags = 0;
        std::size_t num_values = 0;
        filters.push_back(H5Pget_filter2(creation, static_cast<unsigned>(i), &flags, &num_values, nullptr, 0,
                                         nullptr, nullptr));
    }
    return filters;
}

}  // namespace

std::vector<std::int64_t> plain_chunk(std::span<const std::int64_t> global, std::int64_t element_bytes) {
    std::vector<std::int64_t> shape(global.begin(), global.end());
    std::int64_t bytes = element_bytes;
    for (const std::int64_t extent : global) bytes *= extent;
    for (std::size_t d = 0; d < shape.size() && bytes > most_chunk_bytes; ++d) {
        bytes /= shape[d];
        // A divisor: no chunk reaches over the edge, and all follow each other.
        std::int64_t length = std::max<std::int64_t>(1, std::min(shape[d], most_chunk_bytes / bytes));
        while (shape[d] % length != 0) --length;
        shape[d] = length;
        bytes *= length;
    }
    assert(bytes <= most_chunk_bytes);
    return shape;
}

std::int64_t GrowingHdf5::allocate(std::int64_t bytes, std::int64_t alignment) {
    assert(bytes >= 0 && alignment > 0);
    const std::int64_t offset = rounded_up(end_bytes_, alignment);
    end_bytes_ = offset + bytes;
    return offset;
}

Status GrowingHdf5::begin(const StepDescription& first) {
    first_ = first;
    arrays_.clear();
    const std::vector<ChunkGrid> grids = chunk_grids(first.fields);
    for (std::size_t f = 0; f < first.fields.size(); ++f) {
        const FieldDescription& field = first.fields[f];
        Array& array = arrays_.emplace_back();
        array.is_filtered = grids[f].num_chunks() > 0;
        if ((field.is_static && !array.is_filtered) || field.size_bytes() == 0) continue;
        const std::vector<std::int64_t> shape =
            array.is_filtered ? grids[f].shape() : plain_chunk(field.global, bytes_of(field.type));
        array.chunk = chunk_of(field, shape);
        array.tree = ChunkTree({array.chunk.begin(), array.chunk.end()});
    }
    return {};
}

/// 1, and of the first step what it stores once.
void GrowingHdf5::place_values(const StepDescription& step, std::span<const std::vector<StoredChunk>> chunks,
                               Layout& layout) {
    const std::int64_t alignment = alignment_of(step);
    end_bytes_ = rounded_up(end_bytes_, std::max(block_bytes, alignment));
    // The indexes' full nodes go behind the values, where the rest of the metadata goes.
    struct ToAdd {
        Array* array;
        PlacedChunk chunk;
    };
    std::vector<ToAdd> to_add;
    std::size_t a = 0;
    for (std::size_t f = 0; f < step.fields.size(); ++f, ++a) {
        const FieldDescription& field = step.fields[f];
        while (a < arrays_.size() && first_.fields[a].name != field.name) ++a;
        if (a == arrays_.size()) throw Hdf5Failure("field " + field.name + " is none of the file's");
        Array& array = arrays_[a];
        layout.chunk_offsets_bytes.emplace_back();
        layout.offsets_bytes.push_back(0);
        if (array.is_filtered) {
            const ChunkGrid grid(field.global, bytes_of(field.type));
            assert(f < chunks.size() && std::ssize(chunks[f]) == grid.num_chunks());
            for (std::int64_t c = 0; c < grid.num_chunks(); ++c) {
                const StoredChunk& stored = chunks[f][static_cast<std::size_t>(c)];
                const std::int64_t offset = allocate(stored.bytes, 1);
                layout.chunk_offsets_bytes.back().push_back(offset);
                to_add.push_back({&array,
                                  {.start = start_of(field, num_steps_, grid.start_of(c)),
                                   .bytes = static_cast<std::uint32_t>(stored.bytes),
                                   .skipped = stored.skipped,
                                   .offset_bytes = offset}});
            }
            continue;
        }
        const std::int64_t bytes = field.size_bytes();
        const std::int64_t offset =
            allocate(bytes, bytes >= alignment ? std::max<std::int64_t>(8, alignment) : 8);
        layout.offsets_bytes.back() = offset;
        if (array.chunk.empty()) {
            array.offset_bytes = offset;
            continue;
        }
        const std::vector<std::int64_t> shape = plain_chunk(field.global, bytes_of(field.type));
        std::int64_t chunk_bytes = bytes_of(field.type);
        for (const std::int64_t extent : shape) chunk_bytes *= extent;
        for_each_chunk(field.global, shape, [&](std::int64_t index, const std::vector<std::int64_t>& start) {
            to_add.push_back({&array,
                              {.start = start_of(field, num_steps_, start),
                               .bytes = static_cast<std::uint32_t>(chunk_bytes),
                               .skipped = 0,
                               .offset_bytes = offset + index * chunk_bytes}});
        });
    }
    end_bytes_ = rounded_up(end_bytes_, block_bytes);
    for (const ToAdd& each : to_add) add_chunk(each.array->tree, each.chunk);
}

/// 3.
void GrowingHdf5::place_scalars(const StepDescription& step, Layout& layout) {
    const std::vector<std::uint64_t> values = scalars_of(step);
    assert(values.size() == scalars_.size());
    const std::int64_t at = num_steps_ % scalars_in_chunk;
    for (std::size_t s = 0; s < values.size(); ++s) {
        Scalars& scalars = scalars_[s];
        if (at == 0) {
            constexpr std::int64_t bytes = scalars_in_chunk * 8;
            scalars.offset_bytes = allocate(bytes, block_bytes);
            std::vector<std::uint64_t> start(scalars.chunk.size(), 0);
            start[0] = static_cast<std::uint64_t>(num_steps_);
            add_chunk(scalars.tree,
                      {.start = start, .bytes = bytes, .skipped = 0, .offset_bytes = scalars.offset_bytes});
        }
        const auto bytes = std::as_bytes(std::span(&values[s], 1));
        layout.commit.push_back({scalars.offset_bytes + 8 * at, {bytes.begin(), bytes.end()}});
    }
}

void GrowingHdf5::add_chunk(ChunkTree& tree, const PlacedChunk& chunk) {
    tree.add(
        chunk, [this](std::int64_t bytes) { return allocate(bytes, 8); }, nodes_);
}

void GrowingHdf5::give_chunks(hid_t dataset, const ChunkTree& tree, Placement& placement) {
    const PlacedChunk& first = tree.first();
    const std::vector<hsize_t> start(first.start.begin(), first.start.end());
    placement.expect(first.bytes, first.offset_bytes);
    (void)placement.take_nodes();
    check(H5Dwrite_chunk(dataset, H5P_DEFAULT, first.skipped, start.data(), first.bytes,
                         ImageDriver::somebody_elses()),
          "H5Dwrite_chunk");
    const std::vector<std::int64_t> nodes = placement.take_nodes();
    if (nodes.size() != 1) throw Hdf5Failure("the library has an index of another form");
    const auto allocate = [&](std::int64_t bytes) { return placement.allocate(bytes); };
    nodes_.push_back({nodes[0], tree.root(allocate, nodes_)});
}

void GrowingHdf5::resume(hid_t file, const StepDescription& next, std::int64_t num_steps) {
    if (Status status = begin(next); !status.ok()) throw Hdf5Failure(status.text());
    num_steps_ = num_steps;
    end_bytes_ = resumed_bytes_ = read_end(file);
}

std::int64_t GrowingHdf5::take_chunks(hid_t dataset, const std::vector<hsize_t>& shape,
                                      const FieldDescription* filtered, ChunkTree& tree) {
    const Handle creation(H5Dget_create_plist(dataset), H5Pclose, "H5Dget_create_plist");
    std::vector<hsize_t> chunk(shape.size());
    std::vector<int> filters;
    if (filtered != nullptr) {
        if (bytes_of(filtered->type) > 1) filters.push_back(H5Z_FILTER_SHUFFLE);
        filters.push_back(filter::hdf5_filter_of(filtered->filters.codec));
    }
    if (H5Pget_layout(creation) != H5D_CHUNKED ||
        H5Pget_chunk(creation, static_cast<int>(chunk.size()), chunk.data()) !=
            static_cast<int>(chunk.size()) ||
        chunk != shape || filters_of(creation) != filters)
        throw Hdf5Failure("a data set is stored in other chunks");
    const Handle space(H5Dget_space(dataset), H5Sclose, "H5Dget_space");
    hsize_t num = 0;
    check(H5Dget_num_chunks(dataset, space, &num), "H5Dget_num_chunks");
    std::vector<PlacedChunk> chunks(num);
    for (hsize_t c = 0; c < num; ++c) {
        std::vector<hsize_t> start(shape.size());
        unsigned skipped = 0;
        haddr_t offset = HADDR_UNDEF;
        hsize_t bytes = 0;
        check(H5Dget_chunk_info(dataset, space, c, start.data(), &skipped, &offset, &bytes),
              "H5Dget_chunk_info");
        chunks[c] = {.start = {start.begin(), start.end()},
                     .bytes = static_cast<std::uint32_t>(bytes),
                     .skipped = skipped,
                     .offset_bytes = static_cast<std::int64_t>(offset)};
    }
    if (chunks.empty()) throw Hdf5Failure("a data set has no values");
    std::ranges::sort(chunks, {}, &PlacedChunk::start);
    for (const PlacedChunk& each : chunks) add_chunk(tree, each);
    return chunks.back().offset_bytes;
}

Result<Layout> GrowingHdf5::append(const StepDescription& step,
                                   std::span<const std::vector<StoredChunk>> chunks) {
    if (num_steps_ == 0) {
        if (Status status = begin(step); !status.ok()) return status;
    }
    const QuietErrors quiet;
    try {
        Layout layout;
        place_values(step, chunks, layout);
        place_scalars(step, layout);
        if (num_steps_++ == 0) {
            for (const std::int64_t bytes : sizes_once()) once_.push_back(allocate(bytes, block_bytes));
        }
        SparseImage image;
        Placement placement(rounded_up(end_bytes_, block_bytes));
        build(image, placement);
        if (placement.is_any_expected()) throw Hdf5Failure("the library has put data elsewhere");
        end_bytes_ = placement.end_bytes();
        for (const Extent& node : nodes_) image.write(node.offset_bytes, node.bytes);
        nodes_.clear();
        image.set_size(end_bytes_);
        std::vector<std::byte> superblock(static_cast<std::size_t>(superblock_bytes));
        image.read(0, superblock);
        for (Extent& extent : image.extents()) {
            if (extent.offset_bytes == 0) {
                // The first block belongs to the superblock alone.
                extent.bytes.erase(extent.bytes.begin(),
                                   extent.bytes.begin() + std::min(std::ssize(extent.bytes), block_bytes));
                extent.offset_bytes = block_bytes;
            }
            if (!extent.bytes.empty()) layout.commit.push_back(std::move(extent));
        }
        layout.commit.push_back({0, std::move(superblock)});
        layout.file_bytes = end_bytes_;
        return layout;
    } catch (const Hdf5Failure& failure) {
        return Status(ErrorCode::internal, "laying out the file: " + failure.text);
    } catch (const std::bad_alloc&) {
        return Status(ErrorCode::out_of_memory, "laying out the file: no memory");
    }
}

}  // namespace hakobi::format
