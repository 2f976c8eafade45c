// The life of a step, the same for every method; each point is an agreement of all ranks:
//
//  1. Described: nobody made a mistake in put, all ranks put the same fields at the same time
//  (agreement.hpp).
//  2. Disjoint: no element has two owners. Only looked at when a block is new.
//  3. Encoded: the chunks of fields that are stored in such are as they will be stored, each on one rank (chunk_encoder.hpp).
//  4. Laid out: rank 0 has made the file under its temporary name (series.hpp), with everything in it but the values, as the
//  format says (format.hpp), and every rank knows where its values go.
//  5. Written: all values are in the file (asynchronous: they are on their way, and 6 waits for the next
//  end_step).
//  6. Finished: rank 0 has synced and renamed it.
//
// From create to close rank 0 holds the prefix's lock. An error at any point: rank 0 removes the temporary file, and the object is failed on all ranks.
#include <algorithm>

#include "base/bytes.hpp"
#include "base/clock.hpp"
#include "base/guard.hpp"
#include "mpi/messages.hpp"
#include "output/agreement.hpp"
#include "output/output_impl.hpp"
#include "output/step_file.hpp"

namespace hakobi {

using output::Step;

namespace {

/// Adds the time from its making to its end to a phase.
class Stopwatch {
  public:
    explicit Stopwatch(double& seconds) : seconds_(seconds), start_s_(now_s()) {}
    ~Stopwatch() { seconds_ += now_s() - start_s_; }
    Stopwatch(const Stopwatch&) = delete;
    Stopwatch& operator=(const Stopwatch&) = delete;

  private:
    double& seconds_;
    double start_s_;
};

}  // namespace

void Output::Impl::discard_part() noexcept {
    if (!part_made.empty()) output::discard_file(part_made);
    part_made.clear();
}

void Output::Impl::add(format::FieldDescription field, output::HeldBlock block) {
    std::vector<format::FieldDescription>& fields = step.description.fields;
    const auto before = std::ranges::find(fields, field.name, &format::FieldDescription::name);
    if (before == fields.end()) {
        fields.push_back(std::move(field));
        held.push_back({std::move(block)});
    } else if (*before == field) {
        held[static_cast<std::size_t>(before - fields.begin())].push_back(std::move(block));
    } else {
        put_status.keep_first(
            {ErrorCode::invalid_argument,
             "field " + field.name + " was put before with another type, array, name or units"});
    }
}

mpi::Agreed Output::Impl::run_step() noexcept {
    if (is_draining) {
        if (mpi::Agreed agreed = finish_draining(); !agreed.status.ok()) return agreed;
    }
    std::vector<std::vector<Block>> blocks;
    for (const output::HeldField& field : held) {
        blocks.emplace_back();
        for (const output::HeldBlock& one : field) blocks.back().push_back(one.block);
    }
    bool are_blocks_new = false;
    // Title and axes were agreed on in create.
    const format::StepDescription put{.title = {},
                                      .time_units = {},
                                      .time = step.description.time,
                                      .axes = {},
                                      .fields = step.description.fields};
    {
        Stopwatch stopwatch(times.layout_s);
        output::StepAgreement found = output::agree_on_step(comm, put_status, put, blocks != blocks_before);
        if (!found.error.status.ok()) return found.error;
        if (!method->writes()) return {};
        are_blocks_new = found.are_blocks_new || step.description.fields != fields_before;
        if (found.are_blocks_new) {
            mpi::Agreed agreed = output::agree_no_overlap(comm, step.description.fields, held);
            if (!agreed.status.ok()) return agreed;
        }
        blocks_before = std::move(blocks);
    }
    const bool has_chunks = output::ChunkEncoder::is_needed(step.description.fields);
    step.are_regions_new = are_blocks_new || has_chunks;
    if (has_chunks) {
        Stopwatch stopwatch(times.encode_s);
        if (!encoder) encoder = std::make_unique<output::ChunkEncoder>(comm);
        mpi::Agreed agreed = encoder->encode(step.description.fields, held, are_blocks_new);
        if (!agreed.status.ok()) return agreed;
    }
    {
        Stopwatch stopwatch(times.layout_s);
        if (mpi::Agreed agreed = lay_out(has_chunks); !agreed.status.ok()) return agreed;
    }
    {
        Stopwatch stopwatch(times.values_s);
        if (mpi::Agreed agreed = method->write(step); !agreed.status.ok()) return agreed;
        if (has_chunks) encoder->release();
    }
    if (method->is_draining()) {
        is_draining = true;
        draining.path = step.path;
        draining.part_path = step.part_path;
        return {};
    }
    return finish(step);
}

mpi::Agreed Output::Impl::finish_draining() noexcept {
    is_draining = false;
    mpi::Agreed agreed;
    {
        Stopwatch stopwatch(times.values_s);
        agreed = method->wait();
    }
    return agreed.status.ok() ? finish(draining) : agreed;
}

mpi::Agreed Output::Impl::finish(const Step& finished) noexcept {
    Stopwatch stopwatch(times.finish_s);
    if (!method->writes_step_file()) return {};
    Status status;
    if (is_rank_0()) {
        status = guarded("finishing the step", [&] {
            return output::finish_file(finished.part_path, finished.path, options.sync);
        });
        if (status.ok()) part_made.clear();
    }
    return mpi::agree(comm, status);
}

mpi::Agreed Output::Impl::lay_out(bool has_chunks) noexcept {
    const bool is_layout_new = has_chunks || step.description.fields != fields_before;
    Status status;
    if (is_rank_0()) {
        status = guarded("laying out the step", [&]() -> Status {
            if (Status differs = resumed.check(step.description); !differs.ok()) return differs;
            resumed = {};
            if (is_layout_new) {
                const auto chunks = has_chunks ? std::span(encoder->stored())
                                               : std::span<const std::vector<format::StoredChunk>>();
                Result<format::Layout> layout = format->lay_out(step.description, chunks);
                if (!layout.ok()) return layout.status();
                step.layout = std::move(layout).value();
            }
            format::set_time(step.layout, step.description.time);
            if (!method->writes_step_file()) return {};
            if (Status in_the_way = output::check_free(step.path); !in_the_way.ok()) return in_the_way;
            Status made = output::create_file(step.part_path, step.layout.metadata, step.layout.file_bytes);
            if (made.ok()) part_made = step.part_path;
            return made;
        });
    }
    if (is_layout_new) {
        if (mpi::Agreed agreed = mpi::agree(comm, status); !agreed.status.ok()) return agreed;
        share_layout();
    }
    status.keep_first(guarded("preparing the step", [&] {
        place_fields();
        return method->prepare(step);
    }));
    if (mpi::Agreed agreed = mpi::agree(comm, status); !agreed.status.ok()) return agreed;
    fields_before = step.description.fields;
    return {};
}

void Output::Impl::share_layout() {
    ByteWriter writer;
    writer.put(step.layout.file_bytes);
    writer.put_all(step.layout.offsets_bytes);
    for (const std::vector<std::int64_t>& offsets : step.layout.chunk_offsets_bytes) writer.put_all(offsets);
    std::vector<std::byte> bytes = writer.take();
    mpi::broadcast(comm, bytes, 0);
    ByteReader reader(bytes);
    step.layout.file_bytes = reader.get<std::int64_t>();
    step.layout.offsets_bytes = reader.get_all<std::int64_t>();
    step.layout.chunk_offsets_bytes.resize(step.layout.offsets_bytes.size());
    for (std::vector<std::int64_t>& offsets : step.layout.chunk_offsets_bytes)
        offsets = reader.get_all<std::int64_t>();
}

void Output::Impl::place_fields() {
    step.parts.clear();
    for (std::size_t f = 0; f < held.size(); ++f) {
        if (format::is_chunked(step.description.fields[f])) {
            step.parts.push_back(encoder->part_of(f, step.layout.chunk_offsets_bytes[f]));
            continue;
        }
        step.parts.push_back(output::part_of(held[f], format::bytes_of(step.description.fields[f].type),
                                             step.layout.offsets_bytes[f]));
    }
}

mpi::Agreed Output::Impl::run_close() noexcept {
    mpi::Agreed agreed;
    if (is_draining) {
        agreed = finish_draining();
        if (!agreed.status.ok()) fail(agreed, draining);
    }
    if (mpi::Agreed closed = method->close(times); agreed.status.ok()) agreed = closed;
    lock.release();
    Status status;
    if (is_open) {
        status = {ErrorCode::invalid_argument, "close: the step of time " +
                                                   std::to_string(step.description.time) +
                                                   " was not ended (end_step): its fields are not written"};
    }
    const mpi::Agreed ended = mpi::agree(comm, status);
    return agreed.status.ok() ? ended : agreed;
}

void Output::Impl::fail(const mpi::Agreed& agreed, const Step& failed) noexcept {
    failure = agreed.status;
    method->abandon(failed);
    discard_part();
}

}  // namespace hakobi
