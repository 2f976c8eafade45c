#pragma once

#include <hdf5.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "format/growing_file.hpp"
#include "format/hdf5/chunk_tree.hpp"
#include "format/hdf5/hdf5.hpp"
#include "format/hdf5/placement.hpp"
#include "format/hdf5/reading.hpp"
#include "format/hdf5/sparse_image.hpp"

namespace hakobi::format {

/// The attribute of the root group of a file that takes several steps.
inline constexpr const char* steps_mark = "hakobi_steps";

/// A growing file that is an HDF5 file. For each step:
///
///  1. Its values lie together behind all that is in the file: of each field one chunk, or the filtered
///     chunks that it has.
///  2. Behind them is all metadata anew, as many as a file of one step has, by the HDF5 library. It makes the
///     data sets as long as the steps so far, and is told of one chunk of each; the indexes are ours
///     (chunk_tree.hpp): they share nodes with those of the steps before.
///  3. Static fields, coordinates and full nodes are where the first metadata had them. Numbers that each
///     step has one of (its time) are in chunks of `scalars_in_chunk`: a step's goes to where no data set
///     reaches yet.
///  4. Last comes the superblock, 48 bytes at the file's beginning: it leads to the metadata of 2, and says
///     where the file ends.
///
/// So a reader that has the file open goes on seeing the steps that it had when it was opened. Blocks of
/// `block_bytes` hold what rank 0 writes or values, never both: nodes with caches of blocks do not overwrite
/// each other's.
class GrowingHdf5 : public GrowingFile {
  public:
    static constexpr std::int64_t scalars_in_chunk = 512, block_bytes = 4096, superblock_bytes = 48;

    [[nodiscard]] Result<Layout> append(const StepDescription& step,
                                        std::span<const std::vector<StoredChunk>> chunks) final;
    [[nodiscard]] std::int64_t num_steps() const final { return num_steps_; }
    [[nodiscard]] std::int64_t resumed_bytes() const final { return resumed_bytes_; }

  protected:
    /// One field of the first step, in its order.
    struct Array {
        std::vector<hsize_t>
            chunk;  ///< shape; empty of static fields that are not in chunks, and of those without elements
        bool is_filtered = false;
        ChunkTree tree{{}};
        std::int64_t offset_bytes = 0;  ///< without chunks: where it is
    };
    /// Numbers of 8 bytes, one a step.
    struct Scalars {
        std::vector<hsize_t> chunk = {scalars_in_chunk};
        ChunkTree tree{{scalars_in_chunk}};
        std::int64_t offset_bytes = 0;  ///< of its last chunk
    };

    /// The shape of a chunk of the field, whose chunks have `shape` within a step.
    [[nodiscard]] virtual std::vector<hsize_t> chunk_of(const FieldDescription& field,
                                                        std::vector<std::int64_t> shape) const = 0;
    /// Where a chunk begins that begins at `start` in the step's array.
    [[nodiscard]] virtual std::vector<std::uint64_t> start_of(const FieldDescription& field,
                                                              std::int64_t step_in_file,
                                                              std::vector<std::int64_t> start) const = 0;
    /// One value for each of `scalars_`, which it makes of the first step.
    [[nodiscard]] virtual std::vector<std::uint64_t> scalars_of(const StepDescription& step) = 0;
    /// The sizes of what else is stored once, in the order of `once_`, where the places are.
    [[nodiscard]] virtual std::vector<std::int64_t> sizes_once() const { return {}; }
    /// 2. The first call writes what is stored once.
    virtual void build(SparseImage& image, Placement& placement) = 0;

    /// Gives a data set, made by Builder::create_in_chunks, the chunks of a tree.
    void give_chunks(hid_t dataset, const ChunkTree& tree, Placement& placement);

    /// Adds a chunk that the file has to a tree.
    void add_chunk(ChunkTree& tree, const PlacedChunk& chunk);
    // For a file that has steps already. Throws Hdf5Failure, which says why, for a file that we would not
    // have made.
    /// Begins with what it has: where it ends, by its superblock, and its steps.
    void resume(hid_t file, const StepDescription& next, std::int64_t num_steps);
    /// Adds a data set's chunks, which must be of that shape and filtered as the field says, to a tree.
    /// Returns where the last one is.
    std::int64_t take_chunks(hid_t dataset, const std::vector<hsize_t>& shape,
                             const FieldDescription* filtered, ChunkTree& tree);
    /// The same of the fields, each in the data set that `open` returns.
    template <class Open>
    void take_fields(Open open) {
        for (std::size_t f = 0; f < first_.fields.size(); ++f) {
            const FieldDescription& field = first_.fields[f];
            if (field.size_bytes() == 0) continue;
            const Handle dataset = open(field);
            Array& array = arrays_[f];
            if (array.chunk.empty()) {
                array.offset_bytes = offset_of(dataset);
            } else {
                (void)take_chunks(dataset, array.chunk, array.is_filtered ? &field : nullptr, array.tree);
            }
        }
    }

    [[nodiscard]] bool is_first() const { return num_steps_ == 1; }  // in `build`
    /// Takes the fields and shapes of the first step. dimensions_of's errors.
    Status begin(const StepDescription& first);

    StepDescription first_;
    std::vector<Array> arrays_;
    std::vector<Scalars> scalars_;
    std::vector<std::int64_t> once_;
    std::int64_t num_steps_ = 0;
    std::int64_t end_bytes_ = block_bytes;  // the first block is the superblock's
    std::int64_t resumed_bytes_ = 0;

  private:
    void place_values(const StepDescription& step, std::span<const std::vector<StoredChunk>> chunks,
                      Layout& layout);
    void place_scalars(const StepDescription& step, Layout& layout);
    [[nodiscard]] std::int64_t allocate(std::int64_t bytes, std::int64_t alignment);

    std::vector<Extent>
        nodes_;  // that are not in the file yet: full ones, and those of the step that is appended
};

/// The shape of the chunks in which a step's array without filters is stored: all of it, but that a chunk has
/// less than 4 GiB. They lie in the order of the array, one behind the other. Pure.
[[nodiscard]] std::vector<std::int64_t> plain_chunk(std::span<const std::int64_t> global,
                                                    std::int64_t element_bytes);

/// The file at `path`, which a reader found to say `found`, goes on with steps like `next`. `Growing`: what
/// grows the format's files, with resume(file, found, next). `difference(next, found)`: what keeps it from
/// going on, in words, or "". Returns invalid_argument for such a file, and the reader's and with_file's
/// errors. Local.
template <class Growing, class Difference>
Result<std::unique_ptr<GrowingFile>> resume_growing(const std::string& path, const char* kind,
                                                    const Result<FoundStep>& found,
                                                    const StepDescription& next,
                                                    const Difference& difference) {
    if (!found.ok()) return found.status();
    std::string differs = found.value().times.empty() ? "it was not made to take several steps"
                                                      : difference(next, found.value());
    auto growing = std::make_unique<Growing>();
    if (differs.empty()) {
        Status status = with_file(path, kind, [&](hid_t file) {
            try {
                growing->resume(file, found.value(), next);
            } catch (const Hdf5Failure& failure) {
                differs = failure.text;  // another program has rewritten it, which is no damage
            }
        });
        if (!status.ok()) return status;
    }
    if (differs.empty()) return std::unique_ptr<GrowingFile>(std::move(growing));
    return Status(ErrorCode::invalid_argument, path + " takes no more: " + differs);
}

}  // namespace hakobi::format
