#include "output/commits.hpp"

#include <cassert>
#include <utility>

#include "base/guard.hpp"
#include "series/pending_commit.hpp"
#include "series/step_file.hpp"
#include "storage/file.hpp"

namespace hakobi::output {

bool Commits::is_left(const series::Step& step) const {
    return setup_.hidden.is_on && series::has_pending_commit(step);
}

Status Commits::leave(const series::Step& step) {
    if (!is_left(step)) return {};
    assert(!step.layout.commit.empty());
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
    left_.push_back(series::commit_path(step));
    laid_out_ = {.path = step.path, .begins = after};
    return {};
}

Status Commits::commit(const series::Step& step) {
    assert(step.step_in_file >= 0 && !step.layout.commit.empty());
    const bool sync = setup_.options.sync;
    const bool is_first = step.step_in_file == 0;
    if (committed_.path != step.path) committed_ = {.path = step.path, .begins = {}, .file_bytes = 0};
    const std::vector<format::Extent>& commit = step.layout.commit;
    Status status =
        series::commit_step(is_first ? step.part_path : step.path, commit, committed_.begins, sync);
    if (status.ok() && is_first) status = series::finish_file(step.part_path, step.path, sync);
    if (!status.ok()) return status;
    assert(committed_.file_bytes <= step.layout.file_bytes);
    committed_.begins = commit.back().bytes;
    committed_.file_bytes = step.layout.file_bytes;
    if (is_left(step)) {
        const std::string left = series::commit_path(step);
        storage::discard_file(left);
        std::erase(left_, left);
    }
    return {};
}

void Commits::keep(const series::Step& step) {
    assert(is_left(step));
    std::erase(left_, series::commit_path(step));
    if (committed_.path == step.path) committed_.begins.clear();  // its values are behind the end
}

void Commits::discard() noexcept {
    for (; !left_.empty(); left_.pop_back()) storage::discard_file(left_.back());
    // If this fails, a run that resumes cuts it.
    if (!committed_.begins.empty())
        (void)guarded("cutting", [&] {
            return series::cut_file(committed_.path, committed_.file_bytes, committed_.begins);
        });
}

}  // namespace hakobi::output
