// The life of a step, the same for every method; each point is an agreement of all ranks:
//
//  0. Of a format with meshes only: all ranks put the same of the mesh, and know where their parts of it begin. A mesh that
//  later steps share is then written as a file of its own, by 1 to 6, before the step that links to it.
//  1. Described: nobody made a mistake in put, all ranks put the same fields at the same time
//  (agreement.hpp).
//  2. Disjoint: no element has two owners, and those without one get the fill value. Only looked at when a block is new.
//  3. Encoded: the chunks of fields that are stored in such are as they will be stored, each on one rank (chunk_encoder.hpp).
//  4. Laid out: rank 0 has made the file under its temporary name (series.hpp), with everything in it but the values, as the
//  format says (format.hpp), and every rank knows where its values go.
//  5. Written: all values are in the file. Hidden: they are copied and on their way; end_step returns, and 6 comes in a
//  later call, when all ranks have stored theirs: steps are finished in their order.
//  6. Finished: rank 0 has made its overview where one is asked for, synced and renamed it, and shows it (series_view.hpp). Of a hidden step with an overview
//  this is done while the ranks go on, and agreed on in a later call; without one it is done at once, and agreed on with the next
//  step's description or at close: no step behind one whose name has failed gets a name.
//
// From create to close rank 0 holds the prefix's lock. An error at any point: steps before it are finished, rank 0 removes the
// temporary files of it and of those behind it, the error names those that end_step had accepted, and the object is failed on all
// ranks. Without a close, steps between 5 and 6 are finished all the same: unclosed.hpp says how.
#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "base/bytes.hpp"
#include "base/clock.hpp"
#include "base/guard.hpp"
#include "mpi/messages.hpp"
#include "output/agreement.hpp"
#include "output/output_impl.hpp"
#include "output/uncovered.hpp"
#include "series/receipts.hpp"
#include "series/step_file.hpp"

namespace hakobi {

using series::Step;

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

void Output::Impl::discard_parts() noexcept {
    (void)behind.wait();
    for (const std::string& part : parts_made) storage::discard_file(part);
    parts_made.clear();
}

void Output::Impl::add(format::FieldDescription field, output::HeldBlock block) {
    std::vector<format::FieldDescription>& fields = step.description.fields;
    const auto before = std::ranges::find(fields, field.name, &format::FieldDescription::name);
    const bool has_part = !field.global.empty() || (is_rank_0() && block.first != nullptr);  // of a scalar
    if (before == fields.end()) {
        fields.push_back(std::move(field));
        held.emplace_back();
        if (has_part) held.back().push_back(std::move(block));
    } else if (field.place != format::Place::grid) {
        put_status.keep_first(
            {ErrorCode::invalid_argument, "field " + field.name + " was put before in this step"});
    } else if (*before == field) {
        if (has_part) held[static_cast<std::size_t>(before - fields.begin())].push_back(std::move(block));
    } else {
        put_status.keep_first(
            {ErrorCode::invalid_argument,
             "field " + field.name + " was put before with another type, array, name or attributes"});
    }
}

Status Output::Impl::check_fields() const {
    if (step.description.fields == fields_before) return {};
    Status status = format::check_description(step.description);
    return status.ok() ? format->check(step.description) : status;
}

Status Output::Impl::add_statics() {
    std::vector<format::FieldDescription>& fields = step.description.fields;
    for (std::size_t f = 0; f < fields.size(); ++f) {
        if (!fields[f].is_static) continue;
        output::StaticField kept{.description = fields[f], .held = {}, .values = {}};
        kept.values.resize(held[f].size());
        for (std::size_t b = 0; b < held[f].size(); ++b)
            kept.held.push_back(output::copied(held[f][b], format::bytes_of(fields[f].type), kept.values[b]));
        held[f] = kept.held;
        const auto same = [&](const output::StaticField& one) {
            return one.description.name == fields[f].name;
        };
        const auto before = std::ranges::find_if(statics, same);
        if (before == statics.end()) {
            statics.push_back(std::move(kept));
        } else {
            *before = std::move(kept);
        }
    }
    for (const output::StaticField& kept : statics) {
        const std::string& name = kept.description.name;
        const auto put = std::ranges::find(fields, name, &format::FieldDescription::name);
        if (put == fields.end()) {
            fields.push_back(kept.description);
            held.push_back(kept.held);
        } else if (!put->is_static) {
            return {ErrorCode::invalid_argument,
                    "field " + name + " is static in an earlier step, but not here"};
        }
    }
    return {};
}

void Output::Impl::add_fill() {
    fill_rows.clear();
    for (std::size_t f = 0; f < uncovered.size(); ++f) {
        for (const Block& block : uncovered[f]) {
            const Block mine = output::share_of(block, comm.size(), comm.rank());
            if (mine.num_elements() == 0) continue;
            std::visit(
                [&](const auto& value) {
                    const auto bytes = std::as_bytes(std::span(&value, 1));
                    // Its rows keep their places when the list of them grows.
                    held[f].push_back(output::filled(mine, bytes, fill_rows.emplace_back()));
                },
                *step.description.fields[f].fill_value);
        }
    }
}

void Output::Impl::begin_call() noexcept {
    if (draining.empty()) gaps.clear();
    gaps.emplace_back(returned_s, now_s());
}

mpi::Agreed Output::Impl::run_step() noexcept {
    begin_call();
    if (mpi::Agreed agreed = finish_draining(method->most_draining() - 1); !agreed.status.ok()) return agreed;
    if (std::exchange(is_name_open, false)) put_status.keep_first(std::as_const(named));
    mpi::Agreed agreed = format->holds_meshes() ? write_mesh() : mpi::Agreed();
    if (agreed.status.ok() && mesh.needs_file()) {
        // What fails while it drains is not waited for again.
        if (mpi::Agreed drained = finish_draining(method->most_draining() - 1); !drained.status.ok())
            return drained;
    }
    if (agreed.status.ok()) agreed = write_step();
    if (agreed.status.ok()) return agreed;
    mpi::Agreed earlier = finish_draining(0);
    if (earlier.status.ok()) earlier = finish_behind();
    if (earlier.status.ok()) earlier = agree_on_names();
    return earlier.status.ok() ? agreed : earlier;
}

mpi::Agreed Output::Impl::write_step() noexcept {
    put_status.keep_first(guarded("end_step", [&] { return check_fields(); }));
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
        // The parts of a mesh neither overlap nor leave gaps, and nobody gathers all ranks'.
        if (format->holds_meshes()) {
            uncovered.assign(step.description.fields.size(), {});
        } else if (are_blocks_new) {
            mpi::Agreed agreed = output::agree_on_blocks(comm, step.description.fields, held, uncovered);
            if (!agreed.status.ok()) return agreed;
        }
        blocks_before = std::move(blocks);
    }
    const Status filled = guarded("filling what nobody put", [&] { add_fill(); });
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
        if (mpi::Agreed agreed = lay_out(has_chunks, filled); !agreed.status.ok()) return agreed;
    }
    if (is_rank_0()) view.expect(step.number, step.description);
    {
        Stopwatch stopwatch(times.values_s);
        if (mpi::Agreed agreed = method->write(step); !agreed.status.ok()) return agreed;
        if (has_chunks) encoder->release();
    }
    if (method->num_draining() > static_cast<int>(draining.size())) {
        draining.push_back({names_of_step(), now_s()});
        note_unnamed();
        return {};
    }
    return finish_step(step);
}

mpi::Agreed Output::Impl::finish_draining(int most_left) noexcept {
    if (draining.empty()) return {};
    int num_finished = std::max(0, static_cast<int>(draining.size()) - most_left);
    if (most_left > 0) {
        Stopwatch stopwatch(times.values_s);
        std::int64_t least_drained[] = {-method->num_drained()};  // of the ranks: the maximum of the negative
        mpi::all_max(comm, least_drained);
        num_finished = std::max(num_finished, static_cast<int>(-least_drained[0]));
    }
    mpi::Agreed agreed;
    while (num_finished-- > 0 && agreed.status.ok()) agreed = finish_oldest();
    return agreed;
}

mpi::Agreed Output::Impl::finish_oldest() noexcept {
    const Draining& oldest = draining.front();
    double stored_s = 0;
    mpi::Agreed agreed;
    {
        Stopwatch stopwatch(times.values_s);
        agreed = method->wait(stored_s);
    }
    // Steps are stored one after the other, and what happens during a call is not hidden.
    const double from_s = std::max(oldest.returned_s, last_stored_s);
    for (const auto& [begin_s, end_s] : gaps)
        times.hidden_s += std::max(0.0, std::min(stored_s, end_s) - std::max(from_s, begin_s));
    last_stored_s = std::max(last_stored_s, stored_s);
    if (agreed.status.ok() && options.overview) {
        agreed = finish_later(oldest.names);
    } else if (agreed.status.ok()) {
        name_stored(oldest.names);
    }
    if (!agreed.status.ok()) return agreed;
    draining.pop_front();
    note_unnamed();
    return agreed;
}

void Output::Impl::note_unnamed() noexcept {
    const bool is_any = is_behind || !draining.empty();
    if (!is_rank_0() || !is_any) return last_words.set_steps(0, -1);
    last_words.set_steps(is_behind ? number_behind : draining.front().names.number,
                         draining.empty() ? number_behind : draining.back().names.number);
}

series::Step Output::Impl::names_of_step() const {
    Step names{.run = step.run, .number = step.number, .path = step.path, .part_path = step.part_path};
    names.layout.file_bytes = step.layout.file_bytes;
    if (!options.overview || !is_rank_0()) return names;
    names.description = step.description;
    names.layout.offsets_bytes = step.layout.offsets_bytes;
    names.layout.chunk_offsets_bytes = step.layout.chunk_offsets_bytes;
    return names;
}

mpi::Agreed Output::Impl::finish_later(const Step& stored) noexcept {
    if (mpi::Agreed agreed = finish_behind(); !agreed.status.ok()) return agreed;
    is_behind = true;
    if (is_rank_0()) {
        part_behind = stored.part_path;
        number_behind = stored.number;
        behind.start([stored, sync = options.sync] {
            Status status = series::cut_receipts(stored.part_path, stored.layout.file_bytes);
            if (status.ok()) status = output::write_overview(stored, sync);
            return status.ok() ? series::finish_file(stored.part_path, stored.path, sync) : status;
        });
    }
    return {};
}

mpi::Agreed Output::Impl::finish_behind() noexcept {
    if (!std::exchange(is_behind, false)) return {};
    Stopwatch stopwatch(times.finish_s);
    const Status status = behind.wait();
    if (status.ok()) std::erase(parts_made, part_behind);
    mpi::Agreed agreed = mpi::agree(comm, status);
    if (!agreed.status.ok()) return agreed;
    show(number_behind);
    note_unnamed();
    return agreed;
}

void Output::Impl::name_stored(const Step& stored) noexcept {
    Stopwatch stopwatch(times.finish_s);
    if (!method->writes_step_file()) return;
    is_name_open = true;
    if (!is_rank_0()) return;
    if (!named.ok()) {
        named = {named.code(),
                 named.text() + "; step " + std::to_string(stored.number) + " behind it is lost with it"};
        return;
    }
    named = guarded("finishing the step", [&] {
        const Status cut = series::cut_receipts(stored.part_path, stored.layout.file_bytes);
        return cut.ok() ? series::finish_file(stored.part_path, stored.path, options.sync) : cut;
    });
    if (!named.ok()) return;
    std::erase(parts_made, stored.part_path);
    show(stored.number);
}

mpi::Agreed Output::Impl::agree_on_names() noexcept {
    if (!std::exchange(is_name_open, false)) return {};
    return mpi::agree(comm, named);
}

mpi::Agreed Output::Impl::finish_step(const Step& finished) noexcept {
    if (mpi::Agreed agreed = finish_behind(); !agreed.status.ok()) return agreed;
    Stopwatch stopwatch(times.finish_s);
    if (!method->writes_step_file()) return {};
    Status status;
    if (is_rank_0()) {
        status = guarded("finishing the step", [&] {
            Status made = options.overview ? output::write_overview(finished, options.sync) : Status();
            if (!made.ok()) return made;
            return series::finish_file(finished.part_path, finished.path, options.sync);
        });
        if (status.ok()) std::erase(parts_made, finished.part_path);
    }
    mpi::Agreed agreed = mpi::agree(comm, status);
    if (agreed.status.ok()) show(finished.number);
    return agreed;
}

void Output::Impl::show(std::int64_t number) noexcept {
    if (!is_rank_0()) return;
    view.complete(number);
    view.write_now_and_then(options.sync);
}

mpi::Agreed Output::Impl::lay_out(bool has_chunks, Status status) noexcept {
    const bool is_layout_new = has_chunks || step.description.fields != fields_before;
    if (is_rank_0() && status.ok()) {
        status = guarded("laying out the step", [&]() -> Status {
            if (!step.path.ends_with(series::mesh_suffix)) {  // the step itself comes next
                if (Status differs = resumed.check(step.description); !differs.ok()) return differs;
                resumed = {};
            }
            if (is_layout_new) {
                const auto chunks = has_chunks ? std::span(encoder->stored())
                                               : std::span<const std::vector<format::StoredChunk>>();
                Result<format::Layout> layout = format->lay_out(step.description, chunks);
                if (!layout.ok()) return layout.status();
                step.layout = std::move(layout).value();
            }
            format::set_time(step.layout, step.description.time);
            if (!method->writes_step_file()) return {};
            if (Status in_the_way = series::check_free(step.path); !in_the_way.ok()) return in_the_way;
            Status made = series::create_file(step.part_path, step.layout.metadata, step.layout.file_bytes);
            if (made.ok()) parts_made.push_back(step.part_path);
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
    begin_call();
    mpi::Agreed agreed = finish_draining(0);
    if (agreed.status.ok()) agreed = finish_behind();
    if (agreed.status.ok()) agreed = agree_on_names();
    if (!agreed.status.ok()) fail(agreed);
    if (mpi::Agreed closed = method->close(times); agreed.status.ok()) agreed = closed;
    end_series();
    Status status;
    if (is_open) {
        status = {ErrorCode::invalid_argument, "close: the step of time " +
                                                   std::to_string(step.description.time) +
                                                   " was not ended (end_step): its fields are not written"};
    }
    const mpi::Agreed ended = mpi::agree(comm, status);
    share_times();
    return agreed.status.ok() ? ended : agreed;
}

void Output::Impl::end_series() noexcept {
    if (is_rank_0()) {
        if (!method->writes_step_file()) view.complete_found();
        view.write(options.sync);
    }
    lock.release();
    series::remove_unclosed(*this);
    last_words.forget();
}

void Output::Impl::fail(mpi::Agreed& agreed) noexcept {
    std::string lost;
    for (const Draining& accepted : draining)
        lost += (lost.empty() ? "" : ", ") + accepted.names.path.substr(accepted.names.path.rfind('/') + 1);
    if (!lost.empty())
        agreed.status = {agreed.status.code(),
                         agreed.status.text() + "; lost of what end_step had accepted: " + lost};
    failure = agreed.status;
    is_behind = false;
    for (const Draining& step_behind : draining) method->abandon(step_behind.names);
    draining.clear();
    series::remove_unclosed(*this);
    last_words.forget();
    method->abandon(step);
    discard_parts();
}

void Output::Impl::share_times() noexcept {
    times.run_s = now_s() - created_s;
    times.cpu_s = io_threads_cpu_s() - created_cpu_s;
    const auto in_us = [](double seconds) { return static_cast<std::int64_t>(seconds * 1e6); };
    const double in_calls_s =
        times.layout_s + times.encode_s + times.values_s + times.finish_s + times.gather_s;
    std::int64_t most_us[] = {in_us(times.run_s), in_us(in_calls_s), in_us(times.hidden_s)};
    mpi::all_max(comm, most_us);
    if (!method->writes()) return;
    const double run_s = 1e-6 * static_cast<double>(most_us[0]);
    const double calls_s = 1e-6 * static_cast<double>(most_us[1]);
    const double unhidden_s = calls_s + 1e-6 * static_cast<double>(most_us[2]);
    std::array<char, 160> text{};
    int length = std::snprintf(text.data(), text.size(), "; the run waited %.2f of %.2f s for it (%.1f %%)",
                               calls_s, run_s, 100 * calls_s / run_s);
    if (hiding.is_on)
        std::snprintf(text.data() + length, text.size() - static_cast<std::size_t>(length),
                      ", unhidden it would have waited %.2f s (%.1f %%)", unhidden_s,
                      100 * unhidden_s / (run_s + unhidden_s - calls_s));
    waited_text = text.data();
}

}  // namespace hakobi
