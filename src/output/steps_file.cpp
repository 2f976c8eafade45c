#include "output/steps_file.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdio>
#include <utility>

#include "base/guard.hpp"
#include "mpi/messages.hpp"
#include "series/series.hpp"
#include "series/step_file.hpp"

namespace hakobi::output {
namespace {

/// In an order that does not depend on where a static field was put.
std::vector<format::FieldDescription> sorted(std::vector<format::FieldDescription> fields) {
    const auto statics = std::ranges::stable_partition(
        fields, [](const format::FieldDescription& field) { return !field.is_static; });
    std::ranges::sort(statics, {}, &format::FieldDescription::name);
    return fields;
}

}  // namespace

/// Rank 0 goes on with the file at path_, if that takes the step.
Status StepsFile::resume(const Setup& setup, const series::Step& step) {
    const auto begin_new = [&](const std::string& why) {
        std::fprintf(stderr, "hakobi: %s: step %lld begins a new file: %s\n", setup.prefix.c_str(),
                     static_cast<long long>(step.number), why.c_str());
        return Status();
    };
    if (series::has_other_names(path_))
        return begin_new(path_ + " has further names (hard links), which go on showing what they show");
    Result<std::unique_ptr<format::GrowingFile>> found =
        setup.format->growing()->resume_file(path_, step.description);
    const ErrorCode code = found.status().code();
    if (!found.ok() && code != ErrorCode::invalid_argument && code != ErrorCode::unsupported)
        return found.status();
    if (!found.ok()) return begin_new(found.status().text());
    // Zeros are not written: what stayed there would be read in their place.
    if (Status status = series::cut_file(path_, found.value()->resumed_bytes()); !status.ok()) return status;
    growing_ = std::move(found).value();
    num_steps_ = growing_->num_steps();
    return {};
}

Status StepsFile::begin(const Setup& setup, const series::Step& step) {
    num_steps_ = 0;
    path_ = series::step_path(setup.prefix, step.number, setup.format->extension());
    part_path_ = series::part_path(path_, series::token(step.run, step.number));
    has_name_ = false;
    if (setup.is_rank_0()) growing_ = setup.format->growing()->begin_file();
    return {};
}

mpi::Agreed StepsFile::choose(const Setup& setup, const OwnSeries& series, series::Step& step,
                              bool are_statics_new, Status& local) noexcept {
    std::vector<format::FieldDescription> fields;
    local.keep_first(guarded("choosing the step's file", [&] { fields = sorted(step.description.fields); }));
    if (!std::exchange(is_resumed_, true) && series.last_file() >= 0) {
        path_ = part_path_ = series::step_path(setup.prefix, series.last_file(), setup.format->extension());
        if (setup.is_rank_0() && local.ok())
            local = guarded("resuming " + path_, [&] { return resume(setup, step); });
        if (mpi::Agreed agreed = mpi::agree(setup.comm, local); !agreed.status.ok()) return agreed;
        std::array<std::int64_t, 1> num = {num_steps_};
        mpi::all_max(setup.comm, num);
        num_steps_ = num[0];
        has_name_ = num_steps_ > 0;
        fields_ = fields;
        are_statics_new = false;
    }
    const bool takes =
        num_steps_ > 0 && num_steps_ < most_steps_ && !are_statics_new && std::ranges::equal(fields_, fields);
    if (!takes) local.keep_first(guarded("beginning a file", [&] { return begin(setup, step); }));
    fields_ = std::move(fields);
    step.path = path_;
    step.part_path = has_name_ ? path_ : part_path_;
    assert(num_steps_ < most_steps_);
    step.step_in_file = num_steps_++;
    return {};
}

void StepsFile::has_step(const series::Step& step) noexcept {
    if (step.step_in_file == 0 && step.path == path_) has_name_ = true;
}

}  // namespace hakobi::output
