#include "output/naming.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "base/guard.hpp"
#include "io/new_file.hpp"
#include "mpi/messages.hpp"
#include "output/hidden_steps.hpp"
#include "series/pending_commit.hpp"
#include "series/receipts.hpp"
#include "series/step_file.hpp"
#include "series/step_overview.hpp"
#include "storage/file.hpp"

namespace hakobi::output {

Status Naming::make_file(const series::Step& step) {
    if (!setup_.method->writes_step_file()) return {};
    if (step.step_in_file > 0) {
        Status status = series::make_longer(step.part_path, step.layout.file_bytes);
        return status.ok() ? leave_commit(step) : status;
    }
    if (Status in_the_way = series::check_free(step.path); !in_the_way.ok()) return in_the_way;
    const bool is_made = io::make_with_layout(
        {step.part_path, setup_.comm.num_nodes(), step.layout.file_bytes}, setup_.layout_options());
    const std::span<const format::Extent> metadata = step.layout.metadata;
    Status made = series::create_step(step.part_path, step.layout,
                                      setup_.method->writes_metadata() ? metadata.first(0) : metadata,
                                      step.description, is_made);
    if (made.ok()) parts_.push_back(step.part_path);
    return made.ok() ? leave_commit(step) : made;
}

Status Naming::leave_commit(const series::Step& step) {
    if (!setup_.hidden.is_on || !series::has_pending_commit(step)) return {};
    const std::vector<std::byte>& after = step.layout.commit.back().bytes;
    std::vector<std::byte> before;
    if (laid_out_.path == step.path) {
        before = laid_out_.begins;
    } else if (step.step_in_file > 0) {
        Result<std::vector<std::byte>> found = series::read_beginning(step.part_path, std::ssize(after));
        if (!found.ok()) return found.status();
        before = std::move(found).value();
    }
    if (Status status = series::leave_commit(step, before); !status.ok()) return status;
    parts_.push_back(series::commit_path(step));
    laid_out_ = {.path = step.path, .begins = after};
    return {};
}

Status Naming::commit(const series::Step& step) {
    const bool sync = setup_.options.sync;
    const bool is_first = step.step_in_file == 0;
    if (committed_.path != step.path) committed_ = {.path = step.path, .begins = {}, .file_bytes = 0};
    const std::vector<format::Extent>& commit = step.layout.commit;
    Status status =
        series::commit_step(is_first ? step.part_path : step.path, commit, committed_.begins, sync);
    if (status.ok() && is_first) status = series::finish_file(step.part_path, step.path, sync);
    if (!status.ok()) return status;
    committed_.begins = commit.back().bytes;
    committed_.file_bytes = step.layout.file_bytes;
    if (setup_.hidden.is_on && series::has_pending_commit(step)) {
        const std::string left = series::commit_path(step);
        storage::discard_file(left);
        std::erase(parts_, left);
    }
    return {};
}

Status Naming::finish_file(const series::Step& step, bool was_hidden) {
    return guarded("finishing the step", [&] {
        if (step.step_in_file >= 0) return commit(step);
        const bool sync = setup_.options.sync;
        const std::string source = was_hidden ? series::whole_path(step.part_path) : step.part_path;
        Status status = was_hidden ? series::call_whole(step.part_path, step.layout.file_bytes) : Status();
        if (status.ok() && setup_.options.overview) write_overview(step, source);
        return status.ok() ? series::finish_step(source, step.path, sync) : status;
    });
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
    if (!setup_.method->writes_step_file()) return {};
    mpi::Agreed agreed = mpi::agree(setup_.comm, setup_.is_rank_0() ? finish_file(step, false) : Status());
    if (agreed.status.ok()) has_name(step);
    return agreed;
}

void Naming::name(const series::Step& stored) noexcept {
    if (!setup_.method->writes_step_file()) return;
    is_name_open_ = true;
    stored_.push_back(stored);
    if (!setup_.is_rank_0()) return;
    if (!named_.ok()) return;
    named_ = finish_file(stored, true);
    if (!named_.ok()) return;
    has_name(stored);
    ++num_.named;
}

mpi::Agreed Naming::agree_on_names() noexcept {
    if (!std::exchange(is_name_open_, false)) return {};
    mpi::Agreed agreed = mpi::agree(setup_.comm, named_);
    if (agreed.status.ok()) drop_oldest(stored_.size());
    return agreed;
}

Status Naming::take_unagreed() noexcept {
    if (!std::exchange(is_name_open_, false)) return {};
    num_.taken = stored_.size();
    return named_;
}

void Naming::agreed_on_taken() noexcept {
    drop_oldest(std::exchange(num_.taken, 0));
}

void Naming::drop_oldest(std::size_t num) noexcept {
    num = std::min(num, stored_.size());
    stored_.erase(stored_.begin(), stored_.begin() + static_cast<std::ptrdiff_t>(num));
    num_.named -= std::min(num, num_.named);
}

void Naming::start_finishing(const series::Step& stored) noexcept {
    if (!setup_.method->writes_step_file()) return;
    is_finishing_ = true;
    stored_.push_back(stored);
    if (setup_.is_rank_0()) work_.start([this] { return finish_file(stored_.back(), true); });
}

mpi::Agreed Naming::end_finishing() noexcept {
    if (!std::exchange(is_finishing_, false)) return {};
    mpi::Agreed agreed = mpi::agree(setup_.comm, work_.wait());
    if (!agreed.status.ok()) return agreed;
    has_name(stored_.back());
    drop_oldest(1);
    return agreed;
}

void Naming::settle() noexcept {
    const bool was_finishing = std::exchange(is_finishing_, false);
    is_name_open_ = false;
    if (setup_.is_rank_0()) {
        if (was_finishing && work_.wait().ok()) {
            has_name(stored_.back());
            ++num_.named;
        }
        name_again();
    }
    std::array<std::int64_t, 1> num_named = {static_cast<std::int64_t>(num_.named)};
    mpi::all_max(setup_.comm, num_named);  // of the others it is 0
    drop_oldest(static_cast<std::size_t>(num_named[0]));
}

void Naming::name_again() noexcept {
    // Bytes that have failed to reach stable storage once may not be there even if a second try succeeds.
    if (setup_.options.sync) return;
    for (; num_.named < stored_.size(); ++num_.named) {
        const series::Step& step = stored_[num_.named];
        const Status status = guarded("finishing the step", [&] {
            if (step.step_in_file >= 0) return commit(step);
            Status whole = series::call_whole(step.part_path, step.layout.file_bytes);
            if (whole.code() == ErrorCode::not_found)
                whole = series::cut_receipts(series::whole_path(step.part_path), step.layout.file_bytes);
            return whole.ok() ? series::finish_step(series::whole_path(step.part_path), step.path, false)
                              : whole;
        });
        if (!status.ok()) return;
        has_name(step);
    }
}

bool Naming::keeps(const series::Step& step) const {
    return !setup_.options.sync &&
           (step.step_in_file < 0 || (setup_.hidden.is_on && series::has_pending_commit(step)));
}

Naming::Unnamed Naming::unnamed() const {
    Unnamed names;
    for (const series::Step& step : stored_) add_name(keeps(step) ? names.kept : names.lost, step);
    return names;
}

void Naming::discard() noexcept {
    is_finishing_ = false;
    (void)work_.wait();
    for (const series::Step& step : stored_) {
        if (!keeps(step)) continue;
        std::erase(parts_, step.part_path);
        if (step.step_in_file < 0) continue;
        std::erase(parts_, series::commit_path(step));
        if (committed_.path == step.path) committed_.begins.clear();  // its values are behind the end
    }
    for (const std::string& part : parts_) {
        storage::discard_file(part);
        storage::discard_file(series::whole_path(part));
    }
    parts_.clear();
    // Cuts the rest of a step that was not committed behind the others; if this fails, a run that resumes
    // cuts it.
    if (!committed_.begins.empty())
        (void)guarded("cutting", [&] {
            return series::cut_file(committed_.path, committed_.file_bytes, committed_.begins);
        });
}

}  // namespace hakobi::output
