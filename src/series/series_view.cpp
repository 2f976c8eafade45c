#include "series/series_view.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cstdio>

#include "base/clock.hpp"
#include "base/guard.hpp"
#include "format/dimensions.hpp"
#include "format/found_step.hpp"
#include "format/registry.hpp"
#include "series/step_file.hpp"
#include "storage/file.hpp"

namespace hakobi::series {
namespace {

constexpr double most_share = 0.01;  // of the run's time

std::string name_of(const std::string& path) {
    return path.substr(path.rfind('/') + 1);
}

bool is_there(const std::string& path) {
    struct stat info {};
    return ::stat(storage::system_path(path).c_str(), &info) == 0;
}

bool is_alike(const format::FieldDescription& a, const format::FieldDescription& b) {
    return a.type == b.type && a.global == b.global && a.dims == b.dims && a.is_static == b.is_static;
}

/// The same fields with the names of their dimensions, also where they were left to be found.
std::vector<format::FieldDescription> with_dims(const format::StepDescription& step) {
    std::vector<format::FieldDescription> fields = step.fields;
    const Result<format::Dimensions> dimensions = format::dimensions_of(step);
    if (!dimensions.ok()) return {};
    for (std::size_t f = 0; f < fields.size(); ++f) {
        fields[f].dims.clear();
        for (const int d : dimensions.value().of_field[f])
            fields[f].dims.push_back(dimensions.value().all[static_cast<std::size_t>(d)].name);
    }
    return fields;
}

}  // namespace

SeriesView::SeriesView(std::string prefix, const format::Format& format, std::span<const Series::Entry> whole)
    : prefix_(std::move(prefix)),
      // Who opens it are other programs, which know files only.
      format_(format.shows_series() && !storage::system_path(prefix_).empty() ? &format : nullptr) {
    if (format_ == nullptr || take_earlier(whole)) return;
    series_ = {};
    has_before_.clear();
    is_written_ = whole.empty();
    for (const Series::Entry& entry : whole) {
        if (entry.extension != format.extension()) continue;
        const Result<format::FoundStep> found = format.read(entry.path);
        if (!found.ok()) {
            std::fprintf(stderr, "hakobi: %s does not show step %lld: %s\n",
                         view_path(prefix_, format.extension()).c_str(), static_cast<long long>(entry.step),
                         found.status().text().c_str());
            continue;
        }
        const format::StepDescription step = format.description_of(found.value());
        if (series_.numbers.empty()) start_with(step);
        append_all(entry, found.value(), step);
    }
}

/// Where the file of an earlier run shows the first of these steps and no others, the rest are read.
bool SeriesView::take_earlier(std::span<const Series::Entry> whole) {
    const std::string path = view_path(prefix_, format_->extension());
    if (whole.empty() || !is_there(path)) return false;
    Result<format::SeriesDescription> found = format_->read_series(path);
    if (!found.ok() || found.value().numbers.size() > whole.size()) return false;
    // Files of several steps are few: they are read again.
    if (std::ranges::any_of(whole, [](const Series::Entry& entry) { return entry.num_steps > 1; }))
        return false;
    series_ = std::move(found).value();
    for (std::size_t i = 0; i < series_.numbers.size(); ++i) {
        if (series_.numbers[i] != whole[i].step || whole[i].extension != format_->extension()) return false;
    }
    std::size_t record = 0;
    for (format::SeriesSource& source : series_.sources) {
        // Names in the file are followed where they are those that the series gives, and no others.
        const std::string step_file = name_of(whole[record].path);
        const std::string file =
            source.num_records == 1
                ? step_file
                : name_of(chapter_path(prefix_, whole[record].step, format_->extension()));
        if (!source.file.empty() && source.file != file) return false;
        if (source.file.empty()) source.file = step_file;
        record += static_cast<std::size_t>(source.num_records);
    }
    const auto is_source_whole = [&](const format::SeriesSource& source) {
        return source.num_records == 1 || format_->read_series(folder_of(prefix_) + "/" + source.file).ok();
    };
    if (!std::ranges::all_of(series_.sources, is_source_whole)) return false;
    for (const Series::Entry& entry : whole.subspan(series_.numbers.size())) {
        const Result<format::FoundStep> step = format_->read(entry.path);
        if (!step.ok()) return false;
        const format::StepDescription description = format_->description_of(step.value());
        append_all(entry, step.value(), description);
        is_written_ = false;
    }
    return true;
}

/// What a step says of the whole series; fields found before stay where they fit its axes.
void SeriesView::start_with(const format::StepDescription& step) {
    format::SeriesDescription before = std::move(series_);
    series_ = {.shown = step,
               .sources = std::move(before.sources),
               .has = {},
               .numbers = std::move(before.numbers),
               .times = std::move(before.times)};
    series_.shown.fields.clear();
    has_before_.clear();
    for (std::size_t f = 0; f < before.shown.fields.size(); ++f) {
        series_.shown.fields.push_back(std::move(before.shown.fields[f]));
        if (format::dimensions_of(series_.shown).ok()) {
            series_.has.push_back(std::move(before.has[f]));
        } else {
            series_.shown.fields.pop_back();
        }
    }
}

std::vector<bool> SeriesView::fields_of(const format::StepDescription& step) {
    if (!has_before_.empty() && step.fields == fields_before_) return has_before_;
    std::vector<bool> has(series_.shown.fields.size(), false);
    for (format::FieldDescription& field : with_dims(step)) {
        std::vector<format::FieldDescription>& shown = series_.shown.fields;
        const auto known = std::ranges::find(shown, field.name, &format::FieldDescription::name);
        if (known != shown.end()) {
            has[static_cast<std::size_t>(known - shown.begin())] = is_alike(*known, field);
            continue;
        }
        shown.push_back(std::move(field));
        if (format::dimensions_of(series_.shown).ok()) {
            series_.has.emplace_back(series_.sources.size(), false);
            has.push_back(true);
        } else {
            shown.pop_back();
        }
    }
    fields_before_ = step.fields;
    has_before_ = has;
    return has;
}

void SeriesView::append_all(const Series::Entry& entry, const format::FoundStep& found,
                            const format::StepDescription& step) {
    const std::vector<bool> has = fields_of(step);
    for (std::int64_t s = 0; s < format::num_steps_of(found); ++s) {
        append({.number = entry.step + s,
                .time = format::time_of(found, s),
                .file = name_of(entry.path),
                .has = has});
    }
}

void SeriesView::append(const Expected& step) {
    series_.numbers.push_back(step.number);
    series_.times.push_back(step.time);
    if (!series_.sources.empty() && series_.sources.back().file == step.file) {
        ++series_.sources.back().num_records;
        return;
    }
    series_.sources.push_back({.file = step.file});
    for (std::size_t f = 0; f < series_.has.size(); ++f)
        series_.has[f].push_back(f < step.has.size() && step.has[f]);
}

void SeriesView::expect(std::int64_t number, const std::string& path, const format::StepDescription& step) {
    if (format_ == nullptr) return;
    if (!std::exchange(has_run_, true)) start_with(step);
    expected_.push_back({.number = number, .time = step.time, .file = name_of(path), .has = fields_of(step)});
}

void SeriesView::complete(std::int64_t number) {
    while (!expected_.empty() && expected_.front().number <= number) {
        if (expected_.front().number == number) {
            append(expected_.front());
            is_written_ = false;
        }
        expected_.pop_front();
    }
}

void SeriesView::complete_found() {
    while (!expected_.empty()) {
        const Expected step = std::move(expected_.front());
        expected_.pop_front();
        if (!is_there(step_path(prefix_, step.number, format_->extension()))) continue;
        append(step);
        is_written_ = false;
    }
}

void SeriesView::write_now_and_then(bool sync) noexcept {
    if (!is_written_ && now_s() >= next_s_) write(sync);
}

void SeriesView::write(bool sync) noexcept {
    if (is_written_ || format_ == nullptr) return;
    const double start_s = now_s();
    const Status status = guarded("showing the series", [&] { return write_all(sync); });
    is_written_ = status.ok();
    const double end_s = now_s();
    next_s_ = end_s + (end_s - start_s) / most_share;
    if (status.ok() || std::exchange(is_warned_, true)) return;
    std::fprintf(stderr, "hakobi: %s does not show all steps, which are whole: %s\n",
                 view_path(prefix_, format_->extension()).c_str(), status.text().c_str());
}

Status SeriesView::write_all(bool sync) {
    while (const std::optional<std::size_t> first = first_of_chapter()) {
        if (Status status = write_chapter(*first, sync); !status.ok()) return status;
    }
    return write_file(series_, view_path(prefix_, format_->extension()), sync);
}

/// Where as many sources follow each other as a chapter shows, of one step each.
std::optional<std::size_t> SeriesView::first_of_chapter() const {
    std::int64_t num = 0;
    // A file that takes several steps may have one yet.
    const std::size_t end = series_.sources.size() - (is_last_growing_ && !series_.sources.empty() ? 1 : 0);
    for (std::size_t s = 0; s < end; ++s) {
        num = series_.sources[s].num_records == 1 ? num + 1 : 0;
        if (num == chapter_steps) return s + 1 - static_cast<std::size_t>(chapter_steps);
    }
    return std::nullopt;
}

Status SeriesView::write_chapter(std::size_t first_source, bool sync) {
    const auto at = static_cast<std::ptrdiff_t>(first_source);
    const auto first = series_.sources.begin() + at;
    std::int64_t record = 0;
    for (auto source = series_.sources.begin(); source != first; ++source) record += source->num_records;
    format::SeriesDescription chapter{
        .shown = series_.shown,
        .sources = {first, first + chapter_steps},
        .has = {},
        .numbers = {series_.numbers.begin() + record, series_.numbers.begin() + record + chapter_steps},
        .times = {series_.times.begin() + record, series_.times.begin() + record + chapter_steps}};
    for (const std::vector<bool>& has : series_.has)
        chapter.has.emplace_back(has.begin() + at, has.begin() + at + chapter_steps);
    const std::string path = chapter_path(prefix_, chapter.numbers.front(), format_->extension());
    if (Status status = write_file(chapter, path, sync); !status.ok()) return status;
    series_.sources.erase(first + 1, first + chapter_steps);
    series_.sources[static_cast<std::size_t>(at)] = {.file = name_of(path), .num_records = chapter_steps};
    for (std::size_t f = 0; f < series_.has.size(); ++f) {
        std::vector<bool>& has = series_.has[f];
        const bool has_any = std::ranges::find(chapter.has[f], true) != chapter.has[f].end();
        has.erase(has.begin() + at + 1, has.begin() + at + chapter_steps);
        has[static_cast<std::size_t>(at)] = has_any;
    }
    return {};
}

Status SeriesView::write_file(const format::SeriesDescription& series, const std::string& path,
                              bool sync) const {
    Result<format::Layout> layout = format_->lay_out_series(series, folder_of(storage::system_path(path)));
    if (!layout.ok()) return layout.status();
    const std::string part = part_path(path, random_run_id()[0]);
    if (Status status = create_file(part, layout.value().metadata, layout.value().file_bytes); !status.ok())
        return status;
    Discarding discarding(part);
    Status status = replace_file(part, path, sync);
    if (status.ok()) discarding.keep();
    return status;
}

void show_series(const std::string& prefix) {
    Result<Series> series = find_series(prefix);
    if (!series.ok() || series.value().files.empty()) return;
    count_steps(series.value().files);
    for (const format::Format* format : format::formats()) {
        if (format->extension() != series.value().files.back().extension) continue;
        if (!check_views(prefix, series.value()).ok()) return;
        SeriesView(prefix, *format, series.value().files).write(true);
    }
}

}  // namespace hakobi::series
