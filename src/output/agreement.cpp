#include "output/agreement.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <numeric>

#include "base/bytes.hpp"
#include "base/checksum.hpp"
#include "base/guard.hpp"
#include "mpi/messages.hpp"
#include "output/uncovered.hpp"

namespace hakobi::output {
namespace {

bool intersect(const Block& a, const Block& b) {
    for (std::size_t d = 0; d < a.global.size(); ++d) {
        if (a.start[d] + a.count[d] <= b.start[d] || b.start[d] + b.count[d] <= a.start[d]) return false;
    }
    return true;
}

std::vector<std::byte> encode_blocks(std::span<const HeldField> held) {
    ByteWriter writer;
    for (const HeldField& field : held) {
        writer.put(static_cast<std::int64_t>(field.size()));
        for (const HeldBlock& one : field) {
            for (const std::int64_t start : one.block.start) writer.put(start);
            for (const std::int64_t count : one.block.count) writer.put(count);
        }
    }
    return writer.take();
}

struct OwnedBlocks {
    std::vector<Block> blocks;
    std::vector<int> ranks;  ///< one a block
};

/// All ranks' blocks of the next field.
OwnedBlocks next_blocks(const format::FieldDescription& field, std::span<ByteReader> readers) {
    const std::size_t num_dims = field.global.size();
    OwnedBlocks owned;
    for (std::size_t rank = 0; rank < readers.size(); ++rank) {
        for (auto rest = readers[rank].get<std::int64_t>(); rest > 0; --rest) {
            Block block{field.global, {}, {}};
            for (std::size_t d = 0; d < num_dims; ++d)
                block.start.push_back(readers[rank].get<std::int64_t>());
            for (std::size_t d = 0; d < num_dims; ++d)
                block.count.push_back(readers[rank].get<std::int64_t>());
            owned.blocks.push_back(std::move(block));
            owned.ranks.push_back(static_cast<int>(rank));
        }
    }
    return owned;
}

Status check_overlap(const format::FieldDescription& field, const OwnedBlocks& owned) {
    const auto pair = find_overlap(owned.blocks);
    if (!pair) return {};
    const int first = owned.ranks[static_cast<std::size_t>(pair->first)];
    const int second = owned.ranks[static_cast<std::size_t>(pair->second)];
    const std::string whose =
        first == second ? "two blocks of rank " + std::to_string(first)
                        : "the blocks of ranks " + std::to_string(first) + " and " + std::to_string(second);
    return {ErrorCode::invalid_argument, "field " + field.name + ": " + whose + " overlap"};
}

std::vector<std::byte> encode(const std::vector<std::vector<Block>>& uncovered) {
    ByteWriter writer;
    for (const std::vector<Block>& of_field : uncovered) {
        writer.put(std::ssize(of_field));
        for (const Block& block : of_field) {
            writer.put_all(block.start);
            writer.put_all(block.count);
        }
    }
    return writer.take();
}

std::vector<std::vector<Block>> decode(std::span<const std::byte> bytes,
                                       std::span<const format::FieldDescription> fields) {
    ByteReader reader(bytes);
    std::vector<std::vector<Block>> uncovered(fields.size());
    for (std::size_t f = 0; f < fields.size(); ++f) {
        for (auto rest = reader.get<std::int64_t>(); rest > 0; --rest) {
            std::vector<std::int64_t> start = reader.get_all<std::int64_t>();
            uncovered[f].push_back({fields[f].global, std::move(start), reader.get_all<std::int64_t>()});
        }
    }
    return uncovered;
}

}  // namespace

std::optional<std::pair<int, int>> find_overlap(std::span<const Block> blocks) {
    if (blocks.size() > 1 && blocks[0].global.empty()) return std::pair(0, 1);
    // A sweep along the slowest dimension: a block is compared with those that have not ended where it
    // begins.
    std::vector<int> order;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        if (blocks[i].num_elements() > 0) order.push_back(static_cast<int>(i));
    }
    const auto block = [&](int i) -> const Block& { return blocks[static_cast<std::size_t>(i)]; };
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return block(a).start[0] < block(b).start[0]; });
    std::vector<int> active;
    for (const int i : order) {
        std::erase_if(active,
                      [&](int a) { return block(a).start[0] + block(a).count[0] <= block(i).start[0]; });
        for (const int a : active) {
            if (intersect(block(a), block(i))) return std::minmax(a, i);
        }
        active.push_back(i);
    }
    return std::nullopt;
}

StepAgreement agree_on_step(const Comm& comm, const Status& local, const format::StepDescription& description,
                            bool are_blocks_new, bool are_statics_new) {
    std::vector<std::byte> encoded = format::encode_step(description);
    // The largest value and the largest complement are the same value's exactly when all values are equal.
    const auto mine = static_cast<std::int64_t>(checksum_of(encoded));
    std::array<std::int64_t, 5> most = {static_cast<int>(local.code()), mine, ~mine, are_blocks_new ? 1 : 0,
                                        are_statics_new ? 1 : 0};
    mpi::all_max(comm, most);
    if (most[0] != 0) return {.error = mpi::agree(comm, local)};
    if (most[1] == ~most[2])
        return {.error = {}, .are_blocks_new = most[3] != 0, .are_statics_new = most[4] != 0};
    mpi::broadcast(comm, encoded, 0);
    Status status = guarded("comparing the step's descriptions", [&]() -> Status {
        Result<format::StepDescription> first = format::decode_step(encoded);
        if (!first.ok()) return first.status();
        const std::string text = format::difference(description, first.value());
        if (text.empty()) return {};
        return {ErrorCode::invalid_argument,
                "rank " + std::to_string(comm.rank()) + ": " + text + " as on rank 0"};
    });
    return {.error = mpi::agree(comm, status)};
}

mpi::Agreed agree_on_blocks(const Comm& comm, std::span<const format::FieldDescription> fields,
                            std::span<const HeldField> held, std::vector<std::vector<Block>>& uncovered) {
    assert(held.size() == fields.size());
    const std::vector<std::vector<std::byte>> encoded = mpi::gather(comm, encode_blocks(held), 0);
    const auto has_fill = [](const format::FieldDescription& field) { return field.fill_value.has_value(); };
    std::vector<std::byte> rest;
    Status status;
    if (comm.rank() == 0) {
        status = guarded("comparing blocks", [&]() -> Status {
            std::vector<ByteReader> readers(encoded.begin(), encoded.end());
            std::vector<std::vector<Block>> found;
            for (const format::FieldDescription& field : fields) {
                const OwnedBlocks owned = next_blocks(field, readers);
                if (Status overlap = check_overlap(field, owned); !overlap.ok()) return overlap;
                found.push_back(has_fill(field) && !field.global.empty()
                                    ? output::uncovered(field.global, owned.blocks)
                                    : std::vector<Block>());
            }
            rest = encode(found);
            return {};
        });
    }
    if (mpi::Agreed agreed = mpi::agree(comm, status); !agreed.status.ok()) return agreed;
    if (std::ranges::any_of(fields, has_fill)) mpi::broadcast(comm, rest, 0);
    status = guarded("comparing blocks", [&] {
        uncovered.assign(fields.size(), {});
        if (!rest.empty()) uncovered = decode(rest, fields);
    });
    return mpi::agree(comm, status);
}

void share_layout(const Comm& comm, format::Layout& layout) {
    ByteWriter writer;
    writer.put(layout.file_bytes);
    writer.put_all(layout.offsets_bytes);
    writer.put_all(layout.members);
    for (const std::vector<std::int64_t>& offsets : layout.chunk_offsets_bytes) writer.put_all(offsets);
    std::vector<std::byte> bytes = writer.take();
    mpi::broadcast(comm, bytes, 0);
    ByteReader reader(bytes);
    layout.file_bytes = reader.get<std::int64_t>();
    layout.offsets_bytes = reader.get_all<std::int64_t>();
    layout.members = reader.get_all<storage::Member>();
    layout.chunk_offsets_bytes.resize(layout.offsets_bytes.size());
    for (std::vector<std::int64_t>& offsets : layout.chunk_offsets_bytes)
        offsets = reader.get_all<std::int64_t>();
}

}  // namespace hakobi::output
