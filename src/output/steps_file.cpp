#include "output/steps_file.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdio>
#include <utility>

#include "base/guard.hpp"
#include "filter/round.hpp"
#include "format/attributes.hpp"
#include "format/chunks.hpp"
#include "format/found_step.hpp"
#include "mpi/messages.hpp"
#include "output/held_field.hpp"
#include "series/series.hpp"
#include "series/step_file.hpp"

namespace hakobi::output {
namespace {

/// In an order that does not depend on where a static field was put.
std::vector<format::FieldDescription> sorted(std::vector<format::FieldDescription> fields) {
    std::ranges::stable_sort(fields, {}, [](const format::FieldDescription& field) {
        return std::pair(field.is_static, field.is_static ? field.name : std::string());
    });
    return fields;
}

/// A mesh has a checksum.
bool is_static(const format::FieldDescription& field) {
    return field.is_static && field.place == format::Place::grid;
}

/// As filter::Coder::encode does.
void round_as_stored(const format::FieldDescription& field, std::span<std::byte> values) {
    const int bits = format::bits_kept(field);
    const void* const kept = format::address_of(field.fill_value);
    const auto round = [&]<class T>(T) {
        if (bits > 0)
            filter::round_bits(std::span(reinterpret_cast<T*>(values.data()), values.size() / sizeof(T)),
                               bits, static_cast<const T*>(kept));
    };
    if (field.type == format::ValueType::float64) round(double());
    if (field.type == format::ValueType::float32) round(float());
}

/// Whether a file that says `found` has what this rank puts of the step's static fields.
Result<bool> has_statics(const Setup& setup, const StepDraft& draft, const std::string& path,
                         const format::FoundStep& found) {
    for (std::size_t f = 0; f < draft.fields().size(); ++f) {
        const format::FieldDescription& field = draft.fields()[f];
        const bool is_scalar = field.global.empty();
        if (!is_static(field) || (is_scalar && !setup.is_rank_0())) continue;
        const auto at = std::ranges::find_if(found.fields, [&](const format::FoundField& one) {
            return one.shown.name == field.name && one.shown.on == On::grid && !one.is_of_mesh;
        });
        if (at == found.fields.end()) return false;
        const std::int64_t element_bytes = format::bytes_of(field.type);
        for (const HeldBlock& held : draft.held()[f]) {
            const auto bytes = static_cast<std::size_t>(num_values_of(held.block) * element_bytes);
            if (bytes == 0) continue;
            std::vector<std::byte> put(bytes), there(bytes);
            (void)copied(held, element_bytes, put.data());
            round_as_stored(field, put);
            Status read = setup.format->read_values(path, *at, is_scalar ? Block() : held.block, there, 0);
            if (!read.ok()) return read;
            if (put != there) return false;
        }
    }
    return true;
}

}  // namespace

void StepsFile::say_new(const Setup& setup, const series::Step& step, const std::string& why) {
    std::fprintf(stderr, "hakobi: %s: step %lld begins a new file: %s\n", setup.prefix.c_str(),
                 static_cast<long long>(step.number), why.c_str());
}

/// Rank 0 goes on with the file at path_, if that takes the step.
Status StepsFile::resume(const Setup& setup, const series::Step& step) {
    const auto begin_new = [&](const std::string& why) {
        say_new(setup, step, why);
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
    // The run that gave it its name was killed, perhaps before the name was stable.
    if (Status status = setup.options.sync ? series::sync_named(path_) : Status(); !status.ok())
        return status;
    growing_ = std::move(found).value();
    num_steps_ = growing_->num_steps();
    return {};
}

/// Static fields are in the file once: one that is put with other values needs a new file.
mpi::Agreed StepsFile::compare_statics(const Setup& setup, StepDraft& draft) noexcept {
    if (std::ranges::none_of(draft.fields(), is_static)) return {};
    std::vector<std::byte> encoded;
    Status status = guarded("reading " + path_, [&]() -> Status {
        if (!setup.is_rank_0()) return {};
        const Result<format::FoundStep> found = setup.format->read(path_);
        if (found.ok()) encoded = format::encode_found(found.value());
        return found.status();
    });
    if (mpi::Agreed agreed = mpi::agree(setup.comm, status); !agreed.status.ok()) return agreed;
    mpi::broadcast(setup.comm, encoded, 0);
    std::array<std::int64_t, 1> differs = {0};
    status = guarded("reading " + path_, [&]() -> Status {
        const Result<format::FoundStep> found = format::decode_found(encoded);
        if (!found.ok()) return found.status();
        const Result<bool> same = has_statics(setup, draft, path_, found.value());
        differs[0] = same.ok() && same.value() ? 0 : 1;
        return same.status();
    });
    if (mpi::Agreed agreed = mpi::agree(setup.comm, status); !agreed.status.ok()) return agreed;
    mpi::all_max(setup.comm, differs);
    if (differs[0] == 0) return {};
    if (setup.is_rank_0()) say_new(setup, draft.step(), path_ + " has static fields with other values");
    growing_.reset();
    num_steps_ = 0;
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

mpi::Agreed StepsFile::choose(const Setup& setup, const OwnSeries& series, StepDraft& draft,
                              bool are_statics_new, Status& local) noexcept {
    series::Step& step = draft.step();
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
        if (mpi::Agreed agreed = num_steps_ > 0 ? compare_statics(setup, draft) : mpi::Agreed();
            !agreed.status.ok())
            return agreed;
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
