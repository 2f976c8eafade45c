#include "output/staging.hpp"

#include <sys/statvfs.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/classic_locale.hpp"
#include "base/clock.hpp"
#include "io/options.hpp"
#include "mpi/wait.hpp"
#include "series/step_file.hpp"
#include "storage/place.hpp"

namespace hakobi::output {
namespace {

constexpr double told_after_s = 1;  // of waiting

/// Half of what is free: others use the stage, too.
std::int64_t half_of_free(const std::string& folder) {
    struct statvfs found {};
    if (::statvfs(folder.c_str(), &found) != 0) return 0;
    return static_cast<std::int64_t>(found.f_bavail) * static_cast<std::int64_t>(found.f_frsize) / 2;
}

std::string megabytes(std::int64_t bytes) {
    return std::to_string((bytes + 999'999) / 1'000'000) + " MB";
}

std::string steps_text(std::int64_t first, std::int64_t last) {
    return first == last ? "step " + std::to_string(first)
                         : "steps " + std::to_string(first) + " to " + std::to_string(last);
}

}  // namespace

Result<StageOptions> take_stage_options(const OutputOptions::Stage& asked, Hints& hints) {
    StageOptions options;
    const auto taken = [&](const char* hint) -> std::optional<std::string> {
        const auto at = hints.find(hint);
        if (at == hints.end()) return {};
        return std::move(hints.extract(at).mapped());
    };
    const auto bad = [](std::string text) { return Status(ErrorCode::invalid_argument, std::move(text)); };
    const auto variable = [](const char* name) {
        const char* const value = std::getenv(name);
        return std::string(value == nullptr ? "" : value);
    };
    const std::optional<std::string> folder = taken("hakobi_stage");
    if (folder && !asked.folder.empty() && *folder != asked.folder)
        return bad("option stage.folder and the hint hakobi_stage are given, and differ");
    options.folder = !asked.folder.empty() ? asked.folder : folder.value_or(variable("HAKOBI_STAGE"));
    struct Number {
        const char *option, *hint, *variable;
        std::optional<std::int64_t> asked;
        std::int64_t* into;
    };
    const auto unless_0 = [](std::int64_t number) {
        return number == 0 ? std::optional<std::int64_t>() : number;
    };
    const std::array numbers = {
        Number{"bytes", "hakobi_stage_bytes", "HAKOBI_STAGE_BYTES", unless_0(asked.bytes), &options.bytes},
        Number{"bytes_s", "hakobi_stage_rate", "HAKOBI_STAGE_RATE", unless_0(asked.bytes_s),
               &options.bytes_s},
        Number{"patience_s", "hakobi_stage_patience", "HAKOBI_STAGE_PATIENCE", asked.patience_s,
               &options.patience_s},
    };
    for (const Number& number : numbers) {
        const std::optional<std::string> hint = taken(number.hint);
        const std::string value = hint.value_or(number.asked ? "" : variable(number.variable));
        const std::optional<std::int64_t> found =
            value.empty() ? number.asked.value_or(*number.into) : io::parsed_bytes(value);
        if (!found) {
            return bad(std::string(number.hint) + " (" + number.variable + "): '" + value +
                       "' is not a number such as 4000000 or 4M");
        }
        if (*found < 0 || *found != number.asked.value_or(*found)) {
            return bad(std::string("option stage.") + number.option + " is " + std::to_string(*number.asked) +
                       (*number.asked < 0 ? "" : std::string(", and the hint ") + number.hint + " differs"));
        }
        *number.into = *found;
    }
    return options;
}

Staging::Staging(series::Stage stage, StageOptions options, std::string prefix, bool sync)
    : stage_(std::move(stage)),
      options_(std::move(options)),
      prefix_(std::move(prefix)),
      carrier_(std::make_unique<series::Carrier>(
          series::Carrier::Options{.name = prefix_, .bytes_s = options_.bytes_s, .sync = sync})) {}

Result<std::unique_ptr<Staging>> Staging::make(const StageOptions& options, const std::string& prefix,
                                               const series::RunId& run, bool sync) {
    Result<series::Stage> stage = series::Stage::make(options.folder, prefix, run);
    if (!stage.ok()) return stage.status();
    StageOptions chosen = options;
    if (chosen.bytes == 0) chosen.bytes = half_of_free(options.folder);
    return std::unique_ptr<Staging>(new Staging(std::move(stage).value(), std::move(chosen), prefix, sync));
}

Status Staging::check_objects(const series::Step& step) const {
    // Files on RADOS are cut into objects; those of a store are one each.
    const storage::PlacePtr place = storage::open_place_of(prefix_).place;
    if (!place->limits().is_on_objects || (step.layout.members.empty() && place->limits().takes_ranges))
        return {};
    const Result<storage::Place::FileLimit> limit = place->file_limit();
    if (!limit.ok()) return limit.status();
    const std::int64_t most = limit.value().bytes;
    const auto refusal = [&](const std::string& what, std::int64_t bytes) {
        return Status(ErrorCode::unsupported, what + " has " + megabytes(bytes) + ", and an object of " +
                                                  limit.value().root + " has at most " + megabytes(most));
    };
    if (step.layout.members.empty() && step.layout.file_bytes > most)
        return refusal("step " + std::to_string(step.number), step.layout.file_bytes);
    for (std::size_t f = 0; f < step.layout.members.size(); ++f) {
        const std::int64_t bytes = step.layout.members[f].end - step.layout.members[f].begin;
        if (bytes > most) return refusal("field " + step.description.fields[f].name, bytes);
    }
    return {};
}

Status Staging::make_room(const Comm& comm, const series::Step& step) {
    const std::int64_t bytes = step.layout.file_bytes;
    if (Status too_large = check_objects(step); !too_large.ok()) return too_large;
    if (Status in_the_way = series::check_free(stage_.carried(step.number, step.path, bytes).to);
        !in_the_way.ok())
        return in_the_way;
    if (bytes > options_.bytes) {
        return {ErrorCode::no_space, steps_text(step.number, step.number) + " has " + megabytes(bytes) +
                                         ", and the stage " + stage_.folder() + " may hold " +
                                         megabytes(options_.bytes) + " (hakobi_stage_bytes)"};
    }
    const double from_s = now_s();
    bool is_told = false;
    mpi::Wait wait(comm);
    for (;;) {
        const series::Carrier::State state = carrier_->state();
        if (!state.ended.ok()) return state.ended;
        if (state.waiting_bytes == 0 || state.waiting_bytes + unnamed_bytes_ + bytes <= options_.bytes) break;
        if (!is_told && now_s() - from_s > told_after_s) {
            is_told = true;
            std::fprintf(stderr,
                         "hakobi: %s: the stage is full (%s): step %lld waits until step %lld has arrived\n",
                         prefix_.c_str(), megabytes(options_.bytes).c_str(),
                         static_cast<long long>(step.number), static_cast<long long>(state.oldest));
        }
        wait.pause();
    }
    waited_s_ += now_s() - from_s;
    unnamed_bytes_ += bytes;
    return {};
}

void Staging::carry(const series::Step& step) {
    unnamed_bytes_ -= step.layout.file_bytes;
    assert(unnamed_bytes_ >= 0);
    carrier_->add(stage_.carried(step.number, step.path, step.layout.file_bytes));
}

Status Staging::arrive(const Comm& comm) {
    carrier_->sprint();
    series::Carrier::State state = carrier_->state();
    const double from_s = now_s();
    mpi::Wait wait(comm);
    while (state.oldest >= 0 && state.ended.ok()) {
        const double tried_s = std::min(state.failing_s, now_s() - from_s);
        if (tried_s > static_cast<double>(options_.patience_s)) state.ended = state.failing;
        if (!state.ended.ok()) break;
        wait.pause();
        state = carrier_->state();
    }
    if (state.oldest < 0) {
        stage_.end();
        return {};
    }
    return {state.ended.code(), prefix_ + ": " + steps_text(state.oldest, state.youngest) +
                                    " of it stayed on the stage, in " + stage_.folder() + ": " +
                                    state.ended.text() + "; hakobi gather " + prefix_ +
                                    " on this node brings what is whole there to its place"};
}

std::string Staging::text() const {
    std::string text =
        "; steps go over the stage " + stage_.folder() + ", which holds at most " + megabytes(options_.bytes);
    if (options_.bytes_s > 0) text += ", at " + megabytes(options_.bytes_s) + "/s until close";
    if (waited_s_ >= told_after_s) {
        const ClassicLocale classic;
        std::array<char, 32> seconds{};
        std::snprintf(seconds.data(), seconds.size(), "%.1f", waited_s_);
        text += "; the run waited " + std::string(seconds.data()) + " s for room on it";
    }
    return text;
}

}  // namespace hakobi::output
