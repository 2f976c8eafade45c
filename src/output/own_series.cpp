#include "output/own_series.hpp"

#include <cassert>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "base/bytes.hpp"
#include "base/classic_locale.hpp"
#include "base/guard.hpp"
#include "mpi/messages.hpp"
#include "series/series.hpp"
#include "series/step_file.hpp"
#include "storage/file.hpp"
#include "storage/joined.hpp"
#include "storage/place.hpp"

namespace hakobi::output {
namespace {

/// The paths of steps that arrive in a thread, whatever the program's working directory is meanwhile.
std::string absolute(const std::string& path) {
    std::error_code error;
    const std::string whole = std::filesystem::absolute(path, error).string();
    return error ? path : whole;
}

}  // namespace

mpi::Agreed OwnSeries::claim(const Setup& setup, Status local) noexcept {
    prefix_ = setup.prefix;
    format_ = setup.format;
    is_rank_0_ = setup.is_rank_0();
    if (is_rank_0_ && local.ok()) local = guarded("Output::create", [&] { return claim_here(setup); });
    if (mpi::Agreed agreed = mpi::agree(setup.comm, local); !agreed.status.ok()) {
        give_stage_up();
        return agreed;
    }
    ByteWriter writer;
    writer.put(run_);
    writer.put(next_step_);
    writer.put(last_file_);
    std::vector<std::byte> bytes = writer.take();
    mpi::broadcast(setup.comm, bytes, 0);
    ByteReader reader(bytes);
    run_ = reader.get<series::RunId>();
    next_step_ = reader.get<std::int64_t>();
    last_file_ = reader.get<std::int64_t>();
    written_.prefix = setup.stage ? series::Stage::prefix_on(absolute(setup.stage->folder),
                                                             storage::lasting_path(prefix_), run_)
                                  : prefix_;
    written_.place = storage::open_place_of(written_.prefix).place;
    if (!setup.stage) return {};
    if (is_rank_0_ && !staging_) local = guarded("Output::create", [&] { return make_stage(setup); });
    return mpi::agree(setup.comm, local);
}

Status OwnSeries::make_stage(const Setup& setup) {
    const std::string place = storage::lasting_path(prefix_);
    Result<std::unique_ptr<Staging>> made = Staging::make(
        *setup.stage, setup.place.is_on_objects ? place : absolute(place), run_, setup.options.sync);
    if (made.ok()) staging_ = std::move(made).value();
    return made.status();
}

void OwnSeries::give_stage_up() noexcept {
    if (staging_) staging_->give_up();
    staging_.reset();
}

Status OwnSeries::claim_here(const Setup& setup) {
    run_ = series::random_run_id();
    if (!setup.writes()) return {};
    if (!setup.stage || !setup.place.is_on_objects) return claim_steps(setup, series::Holding::lock);
    Status status = series::take_stage(prefix_, setup.options.if_exists);
    if (status.ok()) status = make_stage(setup);
    if (status.ok()) status = claim_steps(setup, series::Holding::marker);
    if (!status.ok()) give_stage_up();
    return status;
}

Status OwnSeries::claim_steps(const Setup& setup, series::Holding holding) {
    Result<series::Claim> claimed = series::claim_series(
        prefix_, format_->extension(), setup.options.if_exists, setup.options.buffer_bytes, holding);
    if (!claimed.ok()) return claimed.status();
    series::Claim& claim = claimed.value();
    lock_ = std::move(claim.lock);
    next_step_ = claim.next_step();
    if (!claim.earlier.empty() && claim.earlier.back().num_steps < setup.steps_per_file)
        last_file_ = claim.earlier.back().step;
    view_ = series::SeriesView(prefix_, *setup.format, claim.earlier);
    Result<series::Resumed> last = series::Resumed::read(*setup.format, std::move(claim.earlier));
    if (!last.ok()) return last.status();
    before_.resumed = std::move(last).value();
    times_.last = before_.resumed.last_time();
    if (format_->store() == nullptr) return {};
    Result<std::unique_ptr<format::StoredFields>> fields =
        format_->store()->fields_in(prefix_ + std::string(format_->extension()));
    if (!fields.ok()) return fields.status();
    before_.stored = std::move(fields).value();
    return {};
}

void OwnSeries::name_next(series::Step& step) const {
    assert(written_.place != nullptr);
    step.run = run_;
    step.number = next_step_;
    step.place = written_.place;
    step.path = series::step_path(written_.prefix, next_step_, format_->extension());
    step.part_path = series::part_path(step.path, series::token(run_, next_step_));
    if (format_->store() != nullptr) step.part_path.insert(0, storage::joined_scheme);
}

void OwnSeries::watch_time(double time) {
    const double before = std::exchange(times_.last, time);
    if (time >= before || times_.are_told) return;
    times_.are_told = true;
    const ClassicLocale classic;
    std::fprintf(stderr,
                 "hakobi: warning: %s: step %lld has the time %g, and the step before it %g: times go back, "
                 "and readers that expect them in order find other steps\n",
                 prefix_.c_str(), static_cast<long long>(next_step_), time, before);
}

Status OwnSeries::check(const format::StepDescription& step) {
    watch_time(step.time);
    if (Status differs = before_.resumed.check(step); !differs.ok()) return differs;
    if (before_.stored) {
        if (Status differs = before_.stored->take(step); !differs.ok()) return differs;
    }
    before_.resumed = {};
    return {};
}

void OwnSeries::expect(const series::Step& step) {
    if (is_rank_0_) view_.expect(step.number, step.path, step.description);
}

Status OwnSeries::make_room(const Comm& comm, const series::Step& step) {
    return staging_ ? staging_->make_room(comm, step) : Status();
}

void OwnSeries::show(const series::Step& step, bool sync) noexcept {
    if (!is_rank_0_) return;
    if (staging_) {
        staging_->carry(step);
        return show_arrived(sync);
    }
    view_.complete(step.number);
    view_.write_now_and_then(sync);
}

void OwnSeries::show_arrived(bool sync) noexcept {
    for (const std::int64_t number : staging_->take_arrived()) view_.complete(number);
    view_.write_now_and_then(sync);
}

Status OwnSeries::carrying() const noexcept {
    return staging_ ? staging_->state().ended : Status();
}

std::int64_t OwnSeries::first_staged() const noexcept {
    return staging_ ? staging_->state().oldest : -1;
}

std::int64_t OwnSeries::last_staged() const noexcept {
    return staging_ ? staging_->state().youngest : -1;
}

std::string OwnSeries::text() const {
    return staging_ ? staging_->text() : "";
}

mpi::Agreed OwnSeries::arrive(const Setup& setup) noexcept {
    if (!setup.stage) return {};
    Status status;
    if (staging_) {
        status = staging_->arrive(setup.comm);
        show_arrived(setup.options.sync);
    }
    return mpi::agree(setup.comm, status);
}

void OwnSeries::end(const Setup& setup) noexcept {
    if (is_rank_0_) {
        if (!setup.writes_step_file()) view_.complete_found();
        view_.write(setup.options.sync);
    }
    staging_.reset();
    lock_.release();
}

}  // namespace hakobi::output
