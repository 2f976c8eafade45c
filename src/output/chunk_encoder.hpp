#pragma once

#include <memory>
#include <span>
#include <vector>

#include "filter/codec.hpp"
#include "format/layout.hpp"
#include "mpi/agree.hpp"
#include "mpi/message_context.hpp"
#include "output/chunk_plan.hpp"

namespace hakobi::output {

/// The encode stage of a step whose fields are stored in filtered chunks: block values come in, this rank's
/// share of the chunks as they will be stored comes out, and a method writes those as it writes any other
/// bytes.
///
/// 1. Where blocks are new, every rank is told everybody's: the rest of the plan (chunk_plan.hpp) each works
///    out by itself.
/// 2. In rounds of a few chunks a rank, values go to the ranks that encode them, one message a round from
///    rank to rank. A round's messages are under way before the chunks of the round before are encoded.
/// 3. The ranks encode their chunks, each by itself. Elements that no block covers are zero.
/// 4. All ranks agree, and rank 0 gets the sizes: `stored`, from which the format lays the file out.
///
/// Memory, kept from step to step: two rounds' messages (16 MiB at most, both ways together), one chunk, and
/// this rank's share of the encoded step.
class ChunkEncoder {
  public:
    explicit ChunkEncoder(const Comm& comm);
    ~ChunkEncoder();
    ChunkEncoder(const ChunkEncoder&) = delete;
    ChunkEncoder& operator=(const ChunkEncoder&) = delete;

    /// Whether any of the fields is stored so. Equal descriptions on all ranks give the same everywhere.
    [[nodiscard]] static bool is_needed(std::span<const format::FieldDescription> fields);
    /// Collective; fields as agreed, `are_blocks_new` equal on all ranks. Memory behind `held` is read until
    /// it returns.
    mpi::Agreed encode(std::span<const format::FieldDescription> fields, std::span<const HeldField> held,
                       bool are_blocks_new) noexcept;
    /// Rank 0: of each field all chunks, or none of one that is not stored so.
    [[nodiscard]] const std::vector<std::vector<format::StoredChunk>>& stored() const { return stored_; }
    /// This rank's chunks of a field, when the field's chunks go to `offsets_bytes`. The memory is the
    /// encoder's, until the next `encode`.
    [[nodiscard]] Part part_of(std::size_t field, std::span<const std::int64_t> offsets_bytes) const;

  private:
    struct Round;
    struct Memory;
    using Blocks = std::vector<std::vector<Block>>;  // of one rank: of each field

    void share_blocks(std::span<const HeldField> held);
    Status plan(std::span<const format::FieldDescription> fields);
    [[nodiscard]] std::span<const ChunkId> chunks_of(int rank, std::int64_t round) const;
    /// Bytes that `from` has of the chunks that `to` encodes in a round.
    [[nodiscard]] std::int64_t message_bytes(int from, int to, std::int64_t round) const;
    void measure_rounds();
    void take_memory();
    void start(Round& round, std::int64_t number, std::span<const HeldField> held);
    Status finish(Round& round, std::span<const HeldField> held);
    Status encode_chunk(const ChunkId& chunk, Round& round, std::span<const HeldField> held);
    void collect_sizes();

    Comm comm_;
    mpi::MessageContext context_;
    int tag_ = -1;
    std::vector<format::FieldDescription> fields_;
    std::vector<format::ChunkGrid> grids_;
    std::vector<Blocks> blocks_;                // of every rank, those with elements
    std::vector<std::vector<ChunkId>> chunks_;  // of every rank
    struct Rounds {
        std::int64_t num = 0;
        std::int64_t most_received_bytes = 0, most_sent_bytes = 0;  ///< this rank's in one of them
    } rounds_;
    std::unique_ptr<Memory> memory_;
    filter::Coder coder_;
    std::vector<filter::Encoded> encoded_;  // this rank's, in the order of its chunks
    std::vector<std::vector<format::StoredChunk>> stored_;
};

}  // namespace hakobi::output
