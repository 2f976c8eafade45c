#include "output/chunk_encoder.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>

#include "base/bytes.hpp"
#include "base/guard.hpp"
#include "mpi/messages.hpp"
#include "mpi/nonblocking.hpp"
#include "mpi/wait.hpp"

namespace hakobi::output {
namespace {

constexpr std::int64_t chunks_a_round = 4;
/// Packed values of one round that a rank has on their way to others.
constexpr std::int64_t most_sent_bytes = chunks_a_round * format::ChunkGrid::most_bytes;

filter::Element element_of(format::ValueType type) {
    return type == format::ValueType::float64   ? filter::Element::float64
           : type == format::ValueType::float32 ? filter::Element::float32
                                                : filter::Element::other;
}

/// Those of a rank's blocks that have elements: the order in which both sides of a message count them.
template <class Visit>
void for_each_block(const HeldField& field, Visit visit) {
    for (const HeldBlock& held : field) {
        if (held.block.num_elements() > 0) visit(held);
    }
}

}  // namespace

/// The messages of one round.
struct ChunkEncoder::Round {
    static constexpr int received = -1;  // the owner of requests that receive
    mpi::MessagesUnderWay messages;
    std::int64_t number = 0;
    std::unique_ptr<std::byte[]> staging;  // what comes in, sender by sender
    std::vector<std::int64_t> positions;   // of each rank: where the next of its values are in `staging`
    /// Messages that go out, one behind the other; from its beginning again when all of them are gone.
    std::unique_ptr<std::byte[]> sent;
    std::int64_t used_bytes = 0;
    std::vector<std::int64_t> sent_bytes;
    std::int64_t unsent_bytes = 0;  // of messages that are not complete

    /// The memory for a message of `bytes`, at most `most_bytes`: waits for it.
    std::byte* room(std::int64_t bytes, std::int64_t most_bytes) {
        assert(bytes <= most_bytes);
        while (unsent_bytes > 0 && used_bytes + bytes > most_bytes) complete(messages.wait_some());
        if (used_bytes + bytes > most_bytes) used_bytes = 0;
        std::byte* const begin = sent.get() + used_bytes;
        used_bytes += bytes;
        return begin;
    }

    /// Until all are there, and gone. Those that this rank waits for are encoding: they get the core.
    void wait(const Comm& comm) {
        mpi::Wait wait(comm, {}, most_sleep_s);
        for (;;) {
            complete(messages.test_some());
            if (messages.empty()) return;
            wait.pause();
        }
    }

  private:
    static constexpr double most_sleep_s = 200e-6;

    void complete(std::span<const int> owners) {
        for (const int owner : owners)
            if (owner != received) unsent_bytes -= sent_bytes[static_cast<std::size_t>(owner)];
    }
};

/// Kept from step to step.
struct ChunkEncoder::Memory {
    std::array<Round, 2> rounds;           // one comes in while the other is encoded
    std::vector<std::byte> chunk;          // the one that is being put together
    std::unique_ptr<std::byte[]> encoded;  // this rank's chunks, one behind the other
    std::int64_t encoded_bytes = 0, used_bytes = 0;
};

ChunkEncoder::ChunkEncoder(const Comm& comm) : comm_(comm) {}
ChunkEncoder::~ChunkEncoder() = default;

bool ChunkEncoder::is_needed(std::span<const format::FieldDescription> fields) {
    return std::ranges::any_of(fields, format::is_chunked);
}

mpi::Agreed ChunkEncoder::encode(std::span<const format::FieldDescription> fields,
                                 std::span<const HeldField> held, bool are_blocks_new) noexcept {
    assert(held.size() == fields.size());
    if (tag_ < 0) {
        const auto kind = mpi::MessageContext::Kind::chunks;
        if (mpi::Agreed got = mpi::MessageContext::get(comm_, kind, context_); !got.status.ok()) return got;
        tag_ = context_.next_tag();
    }
    Status status;
    if (are_blocks_new) {
        status = guarded("planning the chunks", [&] { return plan(fields); });
        if (mpi::Agreed agreed = mpi::agree(comm_, status); !agreed.status.ok()) return agreed;
        share_blocks(held);
        measure_rounds();
        // All of it before the first message: others wait for those that a rank sends, and receives.
        status = guarded("encoding", [&] { take_memory(); });
        if (mpi::Agreed agreed = mpi::agree(comm_, status); !agreed.status.ok()) return agreed;
    }
    encoded_.clear();
    memory_->used_bytes = 0;
    if (rounds_.num > 0) start(memory_->rounds[0], 0, held);
    for (std::int64_t r = 0; r < rounds_.num; ++r) {
        if (r + 1 < rounds_.num) start(memory_->rounds[static_cast<std::size_t>((r + 1) % 2)], r + 1, held);
        Round& round = memory_->rounds[static_cast<std::size_t>(r % 2)];
        round.wait(comm_);
        if (status.ok()) status = guarded("encoding", [&] { return finish(round, held); });
    }
    mpi::Agreed agreed = mpi::agree(comm_, status);
    if (agreed.status.ok()) collect_sizes();
    return agreed;
}

Status ChunkEncoder::plan(std::span<const format::FieldDescription> fields) {
    fields_.assign(fields.begin(), fields.end());
    grids_ = format::chunk_grids(fields);
    chunks_ = chunks_of_ranks(grids_, comm_.size());
    std::size_t most = 0;
    for (const std::vector<ChunkId>& of_rank : chunks_) most = std::max(most, of_rank.size());
    rounds_.num = (static_cast<std::int64_t>(most) + chunks_a_round - 1) / chunks_a_round;
    return {};
}

void ChunkEncoder::share_blocks(std::span<const HeldField> held) {
    std::vector<std::int64_t> words;
    for (std::size_t f = 0; f < held.size(); ++f) {
        if (grids_[f].num_chunks() == 0) continue;
        words.push_back(0);
        const std::size_t count = words.size() - 1;
        for_each_block(held[f], [&](const HeldBlock& one) {
            ++words[count];
            words.insert(words.end(), one.block.start.begin(), one.block.start.end());
            words.insert(words.end(), one.block.count.begin(), one.block.count.end());
        });
    }
    const std::array<std::int64_t, 1> mine = {std::ssize(words)};
    const std::vector<std::int64_t> lengths = mpi::all_gather(comm_, mine);
    const std::vector<std::int64_t> all = mpi::all_gather(comm_, words, lengths);
    auto next = all.begin();
    const auto take = [&next](std::vector<std::int64_t>& numbers, std::size_t num) {
        numbers.assign(next, next + static_cast<std::ptrdiff_t>(num));
        next += static_cast<std::ptrdiff_t>(num);
    };
    blocks_.assign(lengths.size(), Blocks(held.size()));
    for (Blocks& of_rank : blocks_) {
        for (std::size_t f = 0; f < held.size(); ++f) {
            if (grids_[f].num_chunks() == 0) continue;
            of_rank[f].resize(static_cast<std::size_t>(*next++));
            for (Block& block : of_rank[f]) {
                block.global = fields_[f].global;
                take(block.start, block.global.size());
                take(block.count, block.global.size());
            }
        }
    }
}

std::span<const ChunkId> ChunkEncoder::chunks_of(int rank, std::int64_t round) const {
    const std::span<const ChunkId> all = chunks_[static_cast<std::size_t>(rank)];
    const auto from = std::min(all.size(), static_cast<std::size_t>(round * chunks_a_round));
    return all.subspan(from, std::min(all.size() - from, static_cast<std::size_t>(chunks_a_round)));
}

std::int64_t ChunkEncoder::message_bytes(int from, int to, std::int64_t round) const {
    std::int64_t bytes = 0;
    for (const ChunkId& chunk : chunks_of(to, round)) {
        for (const Block& block : blocks_[static_cast<std::size_t>(from)][chunk.field]) {
            bytes += part_in_chunk(block, grids_[chunk.field], chunk.index).num_elements() *
                     format::bytes_of(fields_[chunk.field].type);
        }
    }
    return bytes;
}

void ChunkEncoder::measure_rounds() {
    const int me = comm_.rank();
    rounds_.most_received_bytes = rounds_.most_sent_bytes = 0;
    for (std::int64_t number = 0; number < rounds_.num; ++number) {
        std::int64_t received = 0, sent = 0, longest = 0;
        for (int other = 0; other < comm_.size(); ++other) {
            if (other == me) continue;
            received += message_bytes(other, me, number);
            const std::int64_t bytes = message_bytes(me, other, number);
            sent += bytes;
            longest = std::max(longest, bytes);
        }
        rounds_.most_received_bytes = std::max(rounds_.most_received_bytes, received);
        rounds_.most_sent_bytes =
            std::max(rounds_.most_sent_bytes, std::min(sent, std::max(most_sent_bytes, longest)));
    }
}

void ChunkEncoder::take_memory() {
    // Not cleared: the system gives pages that are new, one fault each, only where something is written.
    const auto room = [](std::int64_t bytes) {
        return std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes));
    };
    memory_.reset();
    memory_ = std::make_unique<Memory>();
    for (Round& round : memory_->rounds) {
        round.messages = mpi::MessagesUnderWay(context_);
        round.staging = room(rounds_.most_received_bytes);
        round.sent = room(rounds_.most_sent_bytes);
    }
    std::int64_t chunk_bytes = 0;
    for (const format::ChunkGrid& grid : grids_) chunk_bytes = std::max(chunk_bytes, grid.chunk_bytes());
    memory_->chunk.resize(static_cast<std::size_t>(chunk_bytes));
    for (const ChunkId& chunk : chunks_[static_cast<std::size_t>(comm_.rank())])
        memory_->encoded_bytes += filter::most_encoded_bytes(grids_[chunk.field].chunk_bytes());
    memory_->encoded = room(memory_->encoded_bytes);
}

void ChunkEncoder::start(Round& round, std::int64_t number, std::span<const HeldField> held) {
    round.number = number;
    round.unsent_bytes = round.used_bytes = 0;
    round.sent_bytes.clear();
    const int me = comm_.rank(), num_ranks = comm_.size();
    round.positions.assign(static_cast<std::size_t>(num_ranks), 0);
    std::vector<std::int64_t> lengths(static_cast<std::size_t>(num_ranks), 0);
    std::int64_t total_bytes = 0;
    for (int from = 0; from < num_ranks; ++from) {
        if (from == me) continue;
        round.positions[static_cast<std::size_t>(from)] = total_bytes;
        lengths[static_cast<std::size_t>(from)] = message_bytes(from, me, number);
        total_bytes += lengths[static_cast<std::size_t>(from)];
    }
    assert(total_bytes <= rounds_.most_received_bytes);
    const std::span staging(round.staging.get(), static_cast<std::size_t>(total_bytes));
    for (int from = 0; from < num_ranks; ++from) {
        const auto bytes = static_cast<std::size_t>(lengths[static_cast<std::size_t>(from)]);
        const auto position = static_cast<std::size_t>(round.positions[static_cast<std::size_t>(from)]);
        if (bytes > 0) round.messages.receive(staging.subspan(position, bytes), from, tag_, Round::received);
    }
    for (int i = 1; i < num_ranks; ++i) {
        const int to = (me + i) % num_ranks;  // not all to the same rank at the same time
        const std::int64_t bytes = message_bytes(me, to, number);
        if (bytes == 0) continue;
        std::byte* const begin = round.room(bytes, rounds_.most_sent_bytes);
        std::byte* at = begin;
        round.sent_bytes.push_back(bytes);
        round.unsent_bytes += bytes;
        for (const ChunkId& chunk : chunks_of(to, number)) {
            const std::int64_t element_bytes = format::bytes_of(fields_[chunk.field].type);
            for_each_block(held[chunk.field], [&](const HeldBlock& one) {
                const Block part = part_in_chunk(one.block, grids_[chunk.field], chunk.index);
                if (part.num_elements() == 0) return;
                run_copy(copy_to_packed(one, part, element_bytes), one.first, at);
                at += part.num_elements() * element_bytes;
            });
        }
        round.messages.send({begin, static_cast<std::size_t>(bytes)}, to, tag_,
                            static_cast<int>(round.sent_bytes.size()) - 1);
    }
}

Status ChunkEncoder::finish(Round& round, std::span<const HeldField> held) {
    for (const ChunkId& chunk : chunks_of(comm_.rank(), round.number)) {
        if (Status status = encode_chunk(chunk, round, held); !status.ok()) return status;
    }
    return {};
}

Status ChunkEncoder::encode_chunk(const ChunkId& chunk, Round& round, std::span<const HeldField> held) {
    const format::FieldDescription& field = fields_[chunk.field];
    const format::ChunkGrid& grid = grids_[chunk.field];
    const std::int64_t element_bytes = format::bytes_of(field.type);
    const std::span<std::byte> values =
        std::span(memory_->chunk).first(static_cast<std::size_t>(grid.chunk_bytes()));
    std::memset(values.data(), 0, values.size());
    for (std::size_t rank = 0; rank < blocks_.size(); ++rank) {
        if (static_cast<int>(rank) == comm_.rank()) {
            for_each_block(held[chunk.field], [&](const HeldBlock& one) {
                const Block part = part_in_chunk(one.block, grid, chunk.index);
                if (part.num_elements() == 0) return;
                run_copy(copy_to_chunk(one, part, grid, chunk.index, element_bytes), one.first,
                         values.data());
            });
            continue;
        }
        for (const Block& block : blocks_[rank][chunk.field]) {
            const Block part = part_in_chunk(block, grid, chunk.index);
            if (part.num_elements() == 0) continue;
            run_copy(copy_packed_to_chunk(part, grid, chunk.index, element_bytes),
                     round.staging.get() + round.positions[rank], values.data());
            round.positions[rank] += part.num_elements() * element_bytes;
        }
    }
    const auto room = std::span(memory_->encoded.get(), static_cast<std::size_t>(memory_->encoded_bytes))
                          .subspan(static_cast<std::size_t>(memory_->used_bytes));
    Result<filter::Encoded> encoded = coder_.encode(field.filters, element_of(field.type), element_bytes,
                                                    values, room, format::address_of(field.fill_value));
    if (!encoded.ok()) return encoded.status();
    memory_->used_bytes += std::ssize(encoded.value().bytes);
    encoded_.push_back(encoded.value());
    return {};
}

void ChunkEncoder::collect_sizes() {
    ByteWriter writer;
    for (const filter::Encoded& encoded : encoded_)
        writer.put(format::StoredChunk{std::ssize(encoded.bytes), encoded.skipped});
    const std::vector<std::vector<std::byte>> all = mpi::gather(comm_, writer.take(), 0);
    stored_.clear();
    if (comm_.rank() != 0) return;
    for (const format::ChunkGrid& grid : grids_)
        stored_.emplace_back(static_cast<std::size_t>(grid.num_chunks()));
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
        ByteReader reader(all[rank]);
        for (const ChunkId& chunk : chunks_[rank])
            stored_[chunk.field][static_cast<std::size_t>(chunk.index)] = reader.get<format::StoredChunk>();
    }
}

Part ChunkEncoder::part_of(std::size_t field, std::span<const std::int64_t> offsets_bytes) const {
    const std::vector<ChunkId>& mine = chunks_[static_cast<std::size_t>(comm_.rank())];
    std::vector<std::pair<std::int64_t, std::size_t>> placed;
    for (std::size_t i = 0; i < mine.size(); ++i) {
        if (mine[i].field == field)
            placed.emplace_back(offsets_bytes[static_cast<std::size_t>(mine[i].index)], i);
    }
    std::ranges::sort(placed);
    std::vector<std::int64_t> in_file, in_memory, lengths;
    for (const auto& [offset, i] : placed) {
        const std::span<const std::byte> bytes = encoded_[i].bytes;
        in_file.push_back(offset);
        in_memory.push_back(static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(bytes.data())));
        lengths.push_back(std::ssize(bytes));
    }
    return {Region::indexed(in_file, lengths), Region::indexed(in_memory, lengths)};
}

}  // namespace hakobi::output
