#include "output/naming.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdio>
#include <functional>
#include <utility>

#include "base/guard.hpp"
#include "io/new_file.hpp"
#include "mpi/messages.hpp"
#include "output/hidden_steps.hpp"
#include "series/receipts.hpp"
#include "series/step_file.hpp"
#include "series/step_overview.hpp"
#include "storage/file.hpp"

namespace hakobi::output {

Status Naming::make_file(const series::Step& step) {
    if (!setup_.writes_step_file()) return {};
    if (step.step_in_file > 0) {
        Status status = series::make_longer(step.part_path, step.layout.file_bytes);
        return status.ok() ? commits_.leave(step) : status;
    }
    if (Status in_the_way = series::check_free(step.path); !in_the_way.ok()) return in_the_way;
    const bool is_made = io::make_with_layout(
        {step.part_path, setup_.comm.num_nodes(), step.layout.file_bytes}, setup_.layout_options());
    const std::span<const format::Extent> metadata = step.layout.metadata;
    Status made = series::create_step(step.part_path, step.layout,
                                      setup_.method->writes_metadata() ? metadata.first(0) : metadata,
                                      step.description, is_made);
    if (made.ok()) parts_.push_back(step.part_path);
    return made.ok() ? commits_.leave(step) : made;
}

Status Naming::finish_file(const series::Step& step, series::FileState& state, bool was_hidden) {
    return guarded("finishing the step", [&] {
        if (step.step_in_file >= 0) return go_on(step, state);
        // Receipts go first: an overview is made of the values.
        Status status =
            was_hidden ? series::advance(series::names_of(step), state, series::FileState::cut) : Status();
        const std::string source = was_hidden ? series::whole_path(step.part_path) : step.part_path;
        if (status.ok() && setup_.options.overview) write_overview(step, source);
        if (status.ok()) status = series::finish_step(source, step.path, setup_.options.sync);
        if (status.ok()) state = *series::next(state, series::Event::name);
        return status;
    });
}

Status Naming::go_on(const series::Step& step, series::FileState& state) {
    if (step.step_in_file < 0)
        return series::advance(series::names_of(step), state, series::FileState::named);
    Status status = commits_.commit(step);
    if (status.ok()) state = series::FileState::named;
    return status;
}

/// It has nothing that the step has not: the step goes on without it.
void Naming::write_overview(const series::Step& step, const std::string& source) {
    const Status status = guarded("making the overview of " + step.path,
                                  [&] { return series::write_overview(step, source, setup_.options.sync); });
    if (status.ok() || std::exchange(is_warned_, true)) return;
    std::fprintf(
        stderr,
        "hakobi: %s is whole, but has no overview (%s); of later steps this is not said again; hakobi "
        "index makes what is missing\n",
        step.path.c_str(), status.text().c_str());
}

void Naming::has_name(const series::Step& step) noexcept {
    std::erase(parts_, step.part_path);
    series_.show(step, setup_.options.sync);
}

mpi::Agreed Naming::finish(const series::Step& step) noexcept {
    if (!setup_.writes_step_file()) return {};
    assert(!is_finishing_);
    series::FileState state = series::FileState::stored;
    mpi::Agreed agreed =
        mpi::agree(setup_.comm, setup_.is_rank_0() ? finish_file(step, state, false) : Status());
    if (agreed.status.ok()) has_name(step);
    return agreed;
}

void Naming::name(const series::Step& stored) noexcept {
    if (!setup_.writes_step_file()) return;
    assert(stored_.empty() || stored_.back().step.number <= stored.number);
    is_name_open_ = true;
    stored_.push_back({.step = stored});
    if (!setup_.is_rank_0() || !named_.ok()) return;
    named_ = finish_file(stored_.back().step, stored_.back().state, true);
    if (named_.ok()) has_name(stored);
}

mpi::Agreed Naming::agree_on_names() noexcept {
    if (!std::exchange(is_name_open_, false)) return {};
    mpi::Agreed agreed = mpi::agree(setup_.comm, named_);
    if (agreed.status.ok()) drop_oldest(stored_.size());
    return agreed;
}

Status Naming::take_unagreed() noexcept {
    if (!std::exchange(is_name_open_, false)) return {};
    num_taken_ = stored_.size();
    return named_;
}

void Naming::agreed_on_taken() noexcept {
    drop_oldest(std::exchange(num_taken_, 0));
}

void Naming::drop_oldest(std::size_t num) noexcept {
    num = std::min(num, stored_.size());
    stored_.erase(stored_.begin(), stored_.begin() + static_cast<std::ptrdiff_t>(num));
}

std::size_t Naming::num_named() const noexcept {
    const auto first = std::ranges::find_if_not(stored_, &Stored::has_name);
    assert(std::none_of(first, stored_.end(), std::mem_fn(&Stored::has_name)));
    return static_cast<std::size_t>(first - stored_.begin());
}

void Naming::start_finishing(const series::Step& stored) noexcept {
    if (!setup_.writes_step_file()) return;
    assert(!is_finishing_ && stored_.empty());
    is_finishing_ = true;
    stored_.push_back({.step = stored});
    if (setup_.is_rank_0())
        work_.start([this] { return finish_file(stored_.back().step, stored_.back().state, true); });
}

mpi::Agreed Naming::end_finishing() noexcept {
    if (!std::exchange(is_finishing_, false)) return {};
    mpi::Agreed agreed = mpi::agree(setup_.comm, work_.wait());
    if (!agreed.status.ok()) return agreed;
    has_name(stored_.back().step);
    drop_oldest(1);
    return agreed;
}

void Naming::settle() noexcept {
    const bool was_finishing = std::exchange(is_finishing_, false);
    is_name_open_ = false;
    if (setup_.is_rank_0()) {
        if (was_finishing && work_.wait().ok()) has_name(stored_.back().step);
        name_again();
    }
    std::array<std::int64_t, 2> most = {static_cast<std::int64_t>(num_named()), is_refused_ ? 1 : 0};
    mpi::all_max(setup_.comm, most);  // of the others they are 0
    drop_oldest(static_cast<std::size_t>(most[0]));
    is_refused_ = most[1] != 0;
}

void Naming::name_again() noexcept {
    // Bytes that have failed to reach stable storage once may not be there even if a second try succeeds.
    if (setup_.options.sync) return;
    for (std::size_t i = num_named(); i < stored_.size(); ++i) {
        const Status status =
            guarded("finishing the step", [&] { return go_on(stored_[i].step, stored_[i].state); });
        is_refused_ = status.code() == ErrorCode::invalid_argument;
        if (!status.ok()) return;
        has_name(stored_[i].step);
    }
}

bool Naming::keeps(const series::Step& step) const {
    return !setup_.options.sync && !is_refused_ && series::has_receipts(step) &&
           (step.step_in_file < 0 || commits_.is_left(step));
}

Naming::Unnamed Naming::unnamed() const {
    Unnamed names;
    for (const Stored& each : stored_) add_name(keeps(each.step) ? names.kept : names.lost, each.step);
    return names;
}

void Naming::discard() noexcept {
    is_finishing_ = false;
    (void)work_.wait();
    for (const Stored& each : stored_) {
        if (!keeps(each.step)) continue;
        std::erase(parts_, each.step.part_path);
        if (each.step.step_in_file >= 0) commits_.keep(each.step);
    }
    // The youngest first, as series::remove_parts does.
    commits_.discard();
    for (; !parts_.empty(); parts_.pop_back()) {
        storage::discard_file(parts_.back());
        storage::discard_file(series::whole_path(parts_.back()));
    }
}

}  // namespace hakobi::output
