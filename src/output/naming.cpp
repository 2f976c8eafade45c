#include "output/naming.hpp"

#include <utility>

#include "base/guard.hpp"
#include "io/new_file.hpp"
#include "series/receipts.hpp"
#include "series/step_file.hpp"
#include "series/step_overview.hpp"
#include "storage/file.hpp"

namespace hakobi::output {

Status Naming::make_file(const series::Step& step) {
    if (!setup_.method->writes_step_file()) return {};
    if (step.step_in_file > 0) return series::make_longer(step.part_path, step.layout.file_bytes);
    if (Status in_the_way = series::check_free(step.path); !in_the_way.ok()) return in_the_way;
    const bool is_made = io::make_with_layout(
        {step.part_path, setup_.comm.num_nodes(), step.layout.file_bytes}, setup_.layout_options());
    const std::span<const format::Extent> metadata = step.layout.metadata;
    Status made = series::create_step(step.part_path, step.layout,
                                      setup_.method->writes_metadata() ? metadata.first(0) : metadata,
                                      step.description, is_made);
    if (made.ok()) parts_.push_back(step.part_path);
    return made;
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
    return {};
}

Status Naming::finish_file(const series::Step& step, bool was_hidden) {
    return guarded("finishing the step", [&] {
        if (step.step_in_file >= 0) return commit(step);
        const bool sync = setup_.options.sync;
        const std::string source = was_hidden ? series::whole_path(step.part_path) : step.part_path;
        Status status = was_hidden ? series::call_whole(step.part_path, step.layout.file_bytes) : Status();
        if (status.ok() && setup_.options.overview) status = series::write_overview(step, source, sync);
        return status.ok() ? series::finish_step(source, step.path, sync) : status;
    });
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
    if (!setup_.is_rank_0()) return;
    if (!named_.ok()) {
        named_ = {named_.code(),
                  named_.text() + "; step " + std::to_string(stored.number) + " after it is lost with it"};
        return;
    }
    named_ = finish_file(stored, true);
    if (named_.ok()) has_name(stored);
}

mpi::Agreed Naming::agree_on_names() noexcept {
    if (!std::exchange(is_name_open_, false)) return {};
    return mpi::agree(setup_.comm, named_);
}

Status Naming::take_unagreed() noexcept {
    return std::exchange(is_name_open_, false) ? named_ : Status();
}

void Naming::start_finishing(const series::Step& stored) noexcept {
    is_finishing_ = true;
    if (!setup_.is_rank_0()) return;
    finishing_ = stored;
    work_.start([this] { return finish_file(finishing_, true); });
}

mpi::Agreed Naming::end_finishing() noexcept {
    if (!std::exchange(is_finishing_, false)) return {};
    mpi::Agreed agreed = mpi::agree(setup_.comm, work_.wait());
    if (agreed.status.ok()) has_name(finishing_);
    return agreed;
}

void Naming::discard() noexcept {
    is_finishing_ = false;
    (void)work_.wait();
    for (const std::string& part : parts_) {
        storage::discard_file(part);
        storage::discard_file(series::whole_path(part));
    }
    parts_.clear();
    // What a step that was not committed has left behind the others; what stays, a run that resumes cuts.
    if (!committed_.begins.empty())
        (void)guarded("cutting", [&] {
            return series::cut_file(committed_.path, committed_.file_bytes, committed_.begins);
        });
}

}  // namespace hakobi::output
