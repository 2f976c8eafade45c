// The life of a step, the same for every method; each point is an agreement of all ranks:
//
//  0. With a format of meshes only: all ranks put the same of the mesh, and know where their parts of it
//     begin (mesh.hpp). A
//  mesh that later steps share is then written as a file of its own, by 1 to 6, before the step that links to
//  it.
//  1. Described: nobody made a mistake in put, all ranks put the same fields at the same time
//     (agreement.hpp).
//  2. Disjoint: no element has two owners, and those without one get the fill value. Only looked at when a
//     block is new
//  (known.hpp).
//  3. Encoded: the chunks of fields that are stored in such are as they will be stored, each on one rank
//     (chunk_encoder.hpp).
//  4. Laid out: rank 0 has made the file under its temporary name (names.hpp), with everything in it but the
//     values, as the
//  format says (format.hpp), and every rank knows where its values go. A hidden step's metadata wait for 5:
//  they would queue behind the values of the steps before.
//  5. Written: all values are in the file. Hidden: they are copied and on their way; end_step returns, and 6
//     comes in a later
//  call, when all ranks have stored theirs: steps are finished in their order (hidden_steps.hpp).
//  6. Finished: rank 0 has made its overview where one is asked for, synced and renamed it, and shows it
//     (naming.hpp says when
//  that is agreed on).
//
// From create to close rank 0 holds the prefix's lock. An error at any point: steps before it are finished,
// rank 0 removes the temporary files of it and of those after it, the error names those that end_step had
// accepted, and the object is failed on all ranks. Without a close, steps between 5 and 6 are finished all
// the same: unclosed.hpp says how.
#include "output/output_impl.hpp"

#include <algorithm>
#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/guard.hpp"
#include "format/chunks.hpp"
#include "output/agreement.hpp"

namespace hakobi {

using output::Stopwatch;

Output::Impl::~Impl() {
    series::remove_unclosed(*this);
    setup.method.reset();  // ends what is still hidden before its files go
    naming.discard();
}

void Output::Impl::create() {
    const Comm& comm = setup.comm;
    setup.agree(guarded("Output::create", [&] { return setup.find(); })).throw_if_error();
    series::finish_dropped(comm);
    setup.hidden = output::choose_hidden(comm, setup.entry->why_not_hidden, setup.options);
    own_series.claim(setup, guarded("Output::create", [&] { return setup.make_method(); })).throw_if_error();
    if (setup.steps_per_file > 1) steps_file.emplace(setup.steps_per_file);
    draft.describe();
    timing.start();
    say_how();
    series::add_unclosed(*this);
    if (setup.is_rank_0() && setup.writes() && (setup.hidden.is_on || setup.stage))
        last_words.speak_of(setup.prefix);
}

void Output::Impl::throw_if_unusable(const char* call, bool needs_step) const {
    const auto bad = [&](const char* why) {
        return Error(ErrorCode::invalid_argument, std::string(call) + why);
    };
    if (is_closed) throw bad(": the output is closed");
    if (!maker().is_this_process())
        throw bad(": this process was forked, and the output is its parent's, which alone writes it");
    if (!failure.ok()) throw Error(ErrorCode::failed, "the output has failed before: " + failure.text());
    if (needs_step && !draft.is_open()) throw bad(": no step is open (begin_step)");
}

std::string Output::Impl::text() const {
    std::string text = setup.text();
    if (const device::Device* device = draft.device(); device != nullptr && setup.writes()) {
        text += setup.method->takes_device_memory()
                    ? "; values of " + device->text() + " are copied straight to collective buffers"
                    : "; values of " + device->text() + " are copied to the host first";
    }
    return text + own_series.text() + timing.waited();
}

void Output::Impl::say_how() const {
    const char* const wanted = std::getenv("HAKOBI_EXPLAIN");
    if (!setup.is_rank_0() || wanted == nullptr || std::string_view(wanted).empty() ||
        std::string_view(wanted) == "0")
        return;
    std::fprintf(stderr, "hakobi: %s: %s\n", setup.prefix.c_str(), text().c_str());
}

mpi::Agreed Output::Impl::run_step() noexcept {
    hidden.begin_call();
    if (mpi::Agreed agreed = make_place(); !agreed.status.ok()) return agreed;
    draft.keep_mistake(naming.take_unagreed());
    draft.keep_mistake(own_series.carrying());
    output::MeshState* const mesh = draft.mesh();
    mpi::Agreed agreed = mesh != nullptr ? write_mesh(*mesh) : mpi::Agreed();
    if (agreed.status.ok() && mesh != nullptr && mesh->needs_file()) {
        // A hidden step that has failed is not waited for again.
        if (mpi::Agreed finished = make_place(); !finished.status.ok()) return finished;
    }
    if (agreed.status.ok()) agreed = write_step(steps_file ? &*steps_file : nullptr);
    if (agreed.status.ok()) {
        naming.agreed_on_taken();
        if (setup.stage) note_unnamed();
        return agreed;
    }
    mpi::Agreed earlier = finish_all();
    return earlier.status.ok() ? agreed : earlier;
}

mpi::Agreed Output::Impl::write_mesh(output::MeshState& mesh) noexcept {
    {
        Stopwatch stopwatch(timing.phases().layout_s);
        mpi::Agreed agreed = mesh.agree(setup.comm, draft.mistake());
        if (!agreed.status.ok()) return agreed;
    }
    if (mesh.needs_file()) {
        if (mpi::Agreed agreed = write_mesh_file(); !agreed.status.ok()) return agreed;
    }
    draft.keep_mistake(guarded("the mesh", [&] { draft.place_on_mesh(); }));
    return {};
}

mpi::Agreed Output::Impl::write_mesh_file() noexcept {
    assert(draft.mesh() != nullptr);
    output::StepDraft::Aside step = draft.begin_mesh_file();
    mpi::Agreed agreed = write_step(nullptr);
    if (agreed.status.ok()) draft.end_mesh_file(std::move(step));
    return agreed;
}

mpi::Agreed Output::Impl::write_step(output::StepsFile* several) noexcept {
    output::Step& step = draft.step();
    bool are_blocks_new = false, are_statics_new = false;
    if (mpi::Agreed agreed = agree_on_draft(are_blocks_new, are_statics_new); !agreed.status.ok())
        return agreed;
    if (!setup.writes()) return {};
    Status local = guarded("filling what nobody put", [&] { draft.add_fill(known.uncovered()); });
    if (setup.is_rank_0() && step.kind == series::Kind::step && local.ok())
        local = guarded("resuming", [&] { return own_series.check(step.description); });
    if (several != nullptr) {
        if (mpi::Agreed agreed = choose_file(*several, are_statics_new, local); !agreed.status.ok())
            return agreed;
        // The second step of a file has other fields than the first, which had the static ones.
        are_blocks_new = are_blocks_new || step.step_in_file < 2;
    }
    const bool has_chunks = output::ChunkEncoder::is_needed(draft.fields());
    step.are_regions_new = are_blocks_new || has_chunks || several != nullptr;
    if (has_chunks) {
        if (mpi::Agreed agreed = encode(are_blocks_new); !agreed.status.ok()) return agreed;
    }
    if (mpi::Agreed agreed = lay_out(several, has_chunks, std::move(local)); !agreed.status.ok())
        return agreed;
    if (several == nullptr) own_series.expect(step);
    {
        Stopwatch stopwatch(timing.phases().values_s);
        if (mpi::Agreed agreed = setup.method->write(step); !agreed.status.ok()) return agreed;
    }
    if (setup.method->num_hidden() > hidden.size()) {
        hidden.add(draft.names(setup.options.overview && setup.is_rank_0()));
        note_unnamed();
        return {};
    }
    if (mpi::Agreed agreed = end_finishing(); !agreed.status.ok()) return agreed;
    Stopwatch stopwatch(timing.phases().finish_s);
    mpi::Agreed agreed = naming.finish(step);
    if (agreed.status.ok() && several != nullptr) several->has_step(step);
    return agreed;
}

mpi::Agreed Output::Impl::choose_file(output::StepsFile& several, bool are_statics_new,
                                      Status& local) noexcept {
    output::Step& step = draft.step();
    if (mpi::Agreed agreed = several.choose(setup, own_series, draft, are_statics_new, local);
        !agreed.status.ok())
        return agreed;
    local.keep_first(guarded("choosing the step's file", [&] {
        own_series.expect(step);
        known.keep_layout_of(draft.fields());
        step.step_in_file > 0 ? draft.leave_statics_out() : draft.begin_steps_file();
    }));
    return {};
}

mpi::Agreed Output::Impl::agree_on_draft(bool& are_blocks_new, bool& are_statics_new) noexcept {
    Stopwatch stopwatch(timing.phases().layout_s);
    draft.keep_mistake(guarded("end_step", [&]() -> Status {
        if (!draft.mistake().ok()) return {};
        if (setup.writes()) {
            Status brought = draft.bring_to_host(!setup.method->takes_device_memory());
            if (!brought.ok()) return brought;
        }
        if (known.has_layout_of(draft.fields())) return {};
        Status status = format::check_description(draft.step().description, setup.format->rules());
        return status.ok() ? setup.format->check(draft.step().description) : status;
    }));
    output::StepAgreement found =
        known.agree_on_step(setup.comm, draft.mistake(), draft.step().description.time, draft.fields(),
                            draft.held(), draft.are_statics_new());
    if (!found.error.status.ok()) return found.error;
    if (found.are_blocks_new) {
        // All ranks have the same fields now, and had before: they find the same.
        if (Status types = known.check_types(draft.fields()); !types.ok()) return {std::move(types), 0};
    }
    if (!setup.writes()) return found.error;
    are_blocks_new = found.are_blocks_new;
    are_statics_new = found.are_statics_new;
    // The parts of a mesh neither overlap nor leave gaps, and nobody gathers all ranks'.
    if (draft.mesh() != nullptr) {
        known.keep_blocks(draft.held());
    } else if (are_blocks_new) {
        return known.agree_on_blocks(setup.comm, draft.fields(), draft.held());
    }
    return {};
}

mpi::Agreed Output::Impl::encode(bool are_blocks_new) noexcept {
    Stopwatch stopwatch(timing.phases().encode_s);
    if (!encoder) encoder = std::make_unique<output::ChunkEncoder>(setup.comm);
    return encoder->encode(draft.fields(), draft.held(), are_blocks_new);
}

mpi::Agreed Output::Impl::lay_out(output::StepsFile* several, bool has_chunks, Status local) noexcept {
    Stopwatch stopwatch(timing.phases().layout_s);
    output::Step& step = draft.step();
    const bool is_layout_new = has_chunks || several != nullptr || !known.has_layout_of(draft.fields());
    if (setup.is_rank_0() && local.ok()) {
        local = guarded("laying out the step", [&]() -> Status {
            if (is_layout_new) {
                Result<format::Layout> layout = new_layout(several, has_chunks);
                if (!layout.ok()) return layout.status();
                step.layout = std::move(layout).value();
            }
            return make_file();
        });
    }
    if (is_layout_new) {
        if (mpi::Agreed agreed = mpi::agree(setup.comm, local); !agreed.status.ok()) return agreed;
        output::share_layout(setup.comm, step.layout);
    }
    local.keep_first(guarded("preparing the step", [&] {
        draft.place_fields(encoder.get());
        return setup.method->prepare(step);
    }));
    mpi::Agreed agreed = mpi::agree(setup.comm, local);
    if (agreed.status.ok() && several == nullptr) known.keep_layout_of(draft.fields());
    return agreed;
}

Result<format::Layout> Output::Impl::new_layout(output::StepsFile* several, bool has_chunks) {
    const auto chunks =
        has_chunks ? std::span(encoder->stored()) : std::span<const std::vector<format::StoredChunk>>();
    const output::Step& step = draft.step();
    return several != nullptr ? several->append(step, chunks)
                              : setup.format->lay_out(step.description, chunks);
}

Status Output::Impl::make_file() {
    output::Step& step = draft.step();
    format::set_time(step.layout, step.description.time);
    if (Status status = own_series.make_room(setup.comm, step); !status.ok()) return status;
    return naming.make_file(step);
}

mpi::Agreed Output::Impl::make_place() noexcept {
    return finish_hidden(setup.method->most_hidden() - 1);
}

mpi::Agreed Output::Impl::finish_hidden(int most_left) noexcept {
    int num_finished = 0;
    {
        Stopwatch stopwatch(timing.phases().values_s);
        num_finished = hidden.num_to_finish(setup.comm, *setup.method, most_left);
    }
    mpi::Agreed agreed;
    while (num_finished-- > 0 && agreed.status.ok()) agreed = finish_oldest();
    return agreed;
}

mpi::Agreed Output::Impl::finish_oldest() noexcept {
    double stored_s = 0;
    mpi::Agreed agreed;
    {
        Stopwatch stopwatch(timing.phases().values_s);
        agreed = setup.method->wait(stored_s);
    }
    timing.phases().hidden_s += hidden.hidden_s(stored_s);
    if (agreed.status.ok() && setup.options.overview) agreed = end_finishing();
    if (!agreed.status.ok()) return agreed;
    if (setup.options.overview) {
        naming.start_finishing(hidden.oldest());
    } else {
        Stopwatch stopwatch(timing.phases().finish_s);
        naming.name(hidden.oldest());
    }
    if (steps_file) steps_file->has_step(hidden.oldest());
    hidden.pop_oldest();
    note_unnamed();
    return agreed;
}

mpi::Agreed Output::Impl::end_finishing() noexcept {
    if (!naming.is_finishing()) return {};
    Stopwatch stopwatch(timing.phases().finish_s);
    mpi::Agreed agreed = naming.end_finishing();
    if (agreed.status.ok()) note_unnamed();
    return agreed;
}

mpi::Agreed Output::Impl::finish_all() noexcept {
    mpi::Agreed agreed = finish_hidden(0);
    if (agreed.status.ok()) agreed = end_finishing();
    if (agreed.status.ok()) agreed = naming.agree_on_names();
    return agreed;
}

void Output::Impl::note_unnamed() noexcept {
    const bool is_any = naming.is_finishing() || !hidden.empty();
    if (!setup.is_rank_0()) return;
    const std::int64_t staged = own_series.first_staged(), last = own_series.last_staged();
    if (!is_any) return last_words.set_steps(std::max<std::int64_t>(staged, 0), last);
    const std::int64_t first = naming.is_finishing() ? naming.finishing_number() : hidden.oldest().number;
    last_words.set_steps(staged >= 0 ? staged : first,
                         hidden.empty() ? naming.finishing_number() : hidden.youngest().number);
}

mpi::Agreed Output::Impl::run_flush() noexcept {
    hidden.begin_call();
    mpi::Agreed agreed = finish_all();
    if (agreed.status.ok()) note_unnamed();
    return agreed;
}

mpi::Agreed Output::Impl::run_close() noexcept {
    hidden.begin_call();
    mpi::Agreed agreed = finish_all();
    if (!agreed.status.ok()) fail(agreed);
    if (mpi::Agreed closed = setup.method->close(timing.phases()); agreed.status.ok()) agreed = closed;
    if (mpi::Agreed arrived = own_series.arrive(setup); agreed.status.ok()) agreed = arrived;
    end_series();
    Status status;
    if (draft.is_open()) {
        status = {ErrorCode::invalid_argument, "close: the step of time " +
                                                   std::to_string(draft.step().description.time) +
                                                   " was not ended (end_step): its fields are not written"};
    }
    const mpi::Agreed ended = mpi::agree(setup.comm, status);
    draft.drop();
    timing.stop(setup.comm, setup.hidden.is_on, setup.writes());
    return agreed.status.ok() ? ended : agreed;
}

void Output::Impl::finish() noexcept {
    is_closed = true;
    Status status;
    if (has_pending()) {
        status = run_close().status;
    } else {
        status = naming.status();
        end_series();
    }
    if (setup.is_rank_0() && !status.ok())
        std::fprintf(stderr, "hakobi: %s: %s\n", setup.prefix.c_str(), status.text().c_str());
}

void Output::Impl::end_series() noexcept {
    own_series.end(setup);
    series::remove_unclosed(*this);
    last_words.forget();
}

void Output::Impl::fail(mpi::Agreed& agreed) noexcept {
    naming.settle();
    output::Naming::Unnamed unnamed = naming.unnamed();
    if (!unnamed.lost.empty() && !hidden.empty()) unnamed.lost += ", ";
    unnamed.lost += hidden.names();
    std::string text = agreed.status.text();
    if (!unnamed.lost.empty()) text += "; lost of what end_step had accepted: " + unnamed.lost;
    if (!unnamed.kept.empty()) {
        text += "; stored, and not called so until resume, Input::open or hakobi gather completes it: " +
                unnamed.kept;
    }
    agreed.status = {agreed.status.code(), std::move(text)};
    failure = agreed.status;
    setup.method->abandon(draft.step());
    hidden.abandon(*setup.method);
    series::remove_unclosed(*this);
    last_words.forget();
    naming.discard();
}

}  // namespace hakobi
