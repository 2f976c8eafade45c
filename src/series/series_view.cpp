#include "series/series_view.hpp"

#include <algorithm>
#include <cassert>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/clock.hpp"
#include "base/guard.hpp"
#include "format/attributes.hpp"
#include "format/dimensions.hpp"
#include "format/found_step.hpp"
#include "format/registry.hpp"
#include "series/step_file.hpp"
#include "storage/file.hpp"
#include "storage/place.hpp"

namespace hakobi::series {
namespace {

constexpr double most_share = 0.01;  // of the run's time

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

bool is_left_out(const format::SeriesDescription& series, const std::string& name) {
    return std::ranges::find(series.left_out, name) != series.left_out.end();
}

bool is_full(std::int64_t num_records, std::int64_t record_bytes) {
    constexpr std::int64_t time_and_number_bytes = 16;
    return num_records >= SeriesView::chapter_steps &&
           num_records * (record_bytes + time_and_number_bytes) >= SeriesView::chapter_bytes;
}

/// So many records that nobody has put.
std::vector<std::byte> filled(const format::FieldDescription& field, std::int64_t num_records) {
    const auto element_bytes = static_cast<std::size_t>(format::bytes_of(field.type));
    std::vector<std::byte> values(static_cast<std::size_t>(num_records * field.num_elements()) *
                                  element_bytes);
    if (const void* const fill = format::address_of(field.fill_value); fill != nullptr) {
        for (std::size_t at = 0; at < values.size(); at += element_bytes)
            std::memcpy(values.data() + at, fill, element_bytes);
    }
    return values;
}

}  // namespace

SeriesView::SeriesView(std::string prefix, const format::Format& format, std::span<const Series::Entry> whole)
    : prefix_(std::move(prefix)),
      // Who opens it are other programs, which know files only.
      format_(format.series() != nullptr && storage::limits_of(prefix_).has_system_names ? &format
                                                                                         : nullptr) {
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
        const format::StepDescription step = format.series()->description_of(found.value());
        if (series_.numbers.empty()) start_with(step);
        append_all(entry, found.value(), step, 0);
    }
}

/// Where the file of an earlier run shows the first of these steps and no others, the rest are read.
bool SeriesView::take_earlier(std::span<const Series::Entry> whole) {
    const std::string path = view_path(prefix_, format_->extension());
    if (whole.empty() || !storage::facts_behind(path).is_there()) return false;
    Result<format::SeriesDescription> found = format_->series()->read_series(path);
    is_anew_ = true;
    if (!found.ok()) return false;
    series_ = std::move(found).value();
    is_anew_ = std::ranges::any_of(series_.sources, [&](const auto& source) { return is_chapter(source); });
    std::size_t record = 0;
    std::vector<const Series::Entry*> entry_of;  // of each record
    for (const Series::Entry& entry : whole) {
        for (std::int64_t s = 0; s < entry.num_steps && record < series_.numbers.size(); ++s, ++record) {
            if (series_.numbers[record] != entry.step + s || entry.extension != format_->extension())
                return false;
            entry_of.push_back(&entry);
        }
    }
    if (record < series_.numbers.size()) return false;
    record = 0;
    for (format::SeriesSource& source : series_.sources) {
        if (record >= entry_of.size()) return false;
        const Series::Entry& entry = *entry_of[record];
        if (source.file.empty() && entry.num_steps > 1) return false;
        if (source.file.empty()) source.file = file_name(entry.path);
        // Names in the file are followed where they are those that the series gives, and no others.
        if (source.file != file_name(entry.path) &&
            source.file != file_name(chapter_path(prefix_, series_.numbers[record], format_->extension())))
            return false;
        record += static_cast<std::size_t>(source.num_records);
    }
    std::int64_t first_record = 0;
    for (const format::SeriesSource& source : series_.sources) {
        if (is_chapter(source) && !is_chapter_whole(source, first_record)) return false;
        first_record += source.num_records;
    }
    const std::int64_t next = series_.numbers.empty() ? 0 : series_.numbers.back() + 1;
    for (const Series::Entry& entry : whole) {
        if (entry.next_step() <= next) continue;
        const Result<format::FoundStep> step = format_->read(entry.path);
        if (!step.ok()) return false;
        const format::StepDescription description = format_->series()->description_of(step.value());
        append_all(entry, step.value(), description, std::max<std::int64_t>(0, next - entry.step));
        is_written_ = false;
    }
    is_anew_ = false;
    return true;
}

bool SeriesView::is_chapter(const format::SeriesSource& source) const {
    return parse(source.file, file_name(prefix_)).kind == Kind::chapter;
}

/// It has the records that the series says, from the first on.
bool SeriesView::is_chapter_whole(const format::SeriesSource& source, std::int64_t first_record) const {
    const Result<format::SeriesDescription> found =
        format_->series()->read_series(folder_of(prefix_) + "/" + source.file);
    const auto first = series_.numbers.begin() + first_record;
    return found.ok() && std::ssize(found.value().numbers) >= source.num_records &&
           std::equal(first, first + source.num_records, found.value().numbers.begin());
}

/// Takes from a step what holds for the whole series; fields found before stay where they fit its axes.
void SeriesView::start_with(const format::StepDescription& step) {
    format::SeriesDescription before = std::move(series_);
    series_ = {.shown = step,
               .sources = std::move(before.sources),
               .has = {},
               .numbers = std::move(before.numbers),
               .times = std::move(before.times),
               .copies = {},
               .left_out = std::move(before.left_out)};
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
                            const format::StepDescription& step, std::int64_t first_in_file) {
    const std::vector<bool> has = fields_of(step);
    for (std::int64_t s = first_in_file; s < format::num_steps_of(found); ++s) {
        append({.number = entry.step + s,
                .time = format::time_of(found, s),
                .file = file_name(entry.path),
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
    assert(expected_.empty() || expected_.back().number <= number);  // equal: a mesh, and its step
    if (!std::exchange(has_run_, true)) start_with(step);
    expected_.push_back(
        {.number = number, .time = step.time, .file = file_name(path), .has = fields_of(step)});
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
        if (!storage::facts_behind(step_path(prefix_, step.number, format_->extension())).is_there())
            continue;
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

/// 5.
SeriesView::Copied SeriesView::copied_fields() const {
    const std::vector<format::FieldDescription>& fields = series_.shown.fields;
    const auto size_of = [&](std::size_t f) {
        return fields[f].num_elements() * format::bytes_of(fields[f].type);
    };
    std::vector<std::size_t> by_size;
    for (std::size_t f = 0; f < fields.size(); ++f) {
        if (!fields[f].is_static && !is_left_out(series_, fields[f].name)) by_size.push_back(f);
    }
    std::ranges::stable_sort(by_size, {}, size_of);
    Copied copied;
    for (const std::size_t f : by_size) {
        if (copied.record_bytes + size_of(f) > copied_bytes) break;
        copied.record_bytes += size_of(f);
        copied.fields.push_back(f);
    }
    return copied;
}

/// All fields of which more files would have the values, but `shown`.
void SeriesView::leave_out(std::span<const std::size_t> shown) {
    std::string names;
    for (std::size_t f = 0; f < series_.shown.fields.size(); ++f) {
        const format::FieldDescription& field = series_.shown.fields[f];
        if (field.is_static || is_left_out(series_, field.name) ||
            std::ranges::find(shown, f) != shown.end() ||
            std::ranges::find(series_.has[f], true) == series_.has[f].end())
            continue;
        series_.left_out.push_back(field.name);
        names += (names.empty() ? "" : ", ") + field.name;
    }
    if (names.empty()) return;
    std::fprintf(
        stderr,
        "hakobi: %s shows %s no longer: more than %zu files have the values, and programs may not have so "
        "many open; steps_per_file puts several steps into a file\n",
        view_path(prefix_, format_->extension()).c_str(), names.c_str(), most_sources);
}

Status SeriesView::write_all(bool sync) {
    const std::string path = view_path(prefix_, format_->extension());
    if (is_anew_) {
        const Result<Series> found = find_series(prefix_);
        Status status = found.ok() ? remove_views(found.value()) : found.status();
        if (!status.ok()) return status;
    }
    is_anew_ = false;
    const auto num_chapters = static_cast<std::size_t>(std::ranges::count_if(
        series_.sources, [&](const format::SeriesSource& source) { return is_chapter(source); }));
    if (series_.sources.size() > most_sources ||
        (num_chapters > 0 && series_.sources.size() - num_chapters > steps_between)) {
        const Copied copied = copied_fields();
        leave_out(copied.fields);
        if (Status status = write_chapters(copied); !status.ok()) return status;
    }
    if (series_.sources.size() > most_sources) leave_out({});
    return write_file(series_, path, sync);
}

/// From the last chapter that is not full on.
Status SeriesView::write_chapters(const Copied& copied) {
    if (copied.fields.empty()) return {};
    const auto is_steps = [&](const format::SeriesSource& source) { return !is_chapter(source); };
    auto first =
        static_cast<std::size_t>(std::ranges::find_if(series_.sources, is_steps) - series_.sources.begin());
    if (first > 0 && !is_full(series_.sources[first - 1].num_records, copied.record_bytes)) --first;
    // The last file may take several steps, and get more.
    for (; first + 1 < series_.sources.size(); ++first) {
        Status status = write_chapter(copied, first, series_.sources.size() - 1);
        if (!status.ok()) return status;
    }
    return {};
}

Status SeriesView::write_chapter(const Copied& copied, std::size_t first, std::size_t end) {
    std::int64_t before = 0, num = 0;
    for (std::size_t s = 0; s < first; ++s) before += series_.sources[s].num_records;
    std::size_t last = first;
    while (last < end && !is_full(num, copied.record_bytes)) num += series_.sources[last++].num_records;
    assert(last > first);
    const auto at = static_cast<std::ptrdiff_t>(first), behind = static_cast<std::ptrdiff_t>(last);
    format::SeriesDescription chapter{
        .shown = series_.shown,
        .sources = {series_.sources.begin() + at, series_.sources.begin() + behind},
        .has = {},
        .numbers = {series_.numbers.begin() + before, series_.numbers.begin() + before + num},
        .times = {series_.times.begin() + before, series_.times.begin() + before + num}};
    for (std::size_t f = 0; f < series_.has.size(); ++f) {
        const format::FieldDescription& field = series_.shown.fields[f];
        const bool is_shown = field.is_static || std::ranges::find(copied.fields, f) != copied.fields.end();
        chapter.has.emplace_back(last - first, false);
        if (is_shown)
            std::copy(series_.has[f].begin() + at, series_.has[f].begin() + behind, chapter.has[f].begin());
        // The chapter that this one replaces: it would show itself.
        if (field.is_static && !field.global.empty() && is_chapter(chapter.sources.front()))
            chapter.has[f].front() = false;
    }
    chapter.copies.resize(series_.has.size());
    for (const std::size_t f : copied.fields) chapter.copies[f] = filled(series_.shown.fields[f], num);
    std::int64_t record = 0;
    for (std::size_t s = first; s < last; ++s) {
        if (Status status = copy_records(copied, s, record, chapter); !status.ok()) return status;
        record += series_.sources[s].num_records;
    }
    const std::string path = chapter_path(prefix_, chapter.numbers.front(), format_->extension());
    // Copies are not made anew where a crash of the system has left zeros in them.
    if (Status status = write_file(chapter, path, true); !status.ok()) return status;
    series_.sources.erase(series_.sources.begin() + at + 1, series_.sources.begin() + behind);
    series_.sources[first] = {.file = file_name(path), .num_records = num};
    for (std::size_t f = 0; f < series_.has.size(); ++f) {
        std::vector<bool>& has = series_.has[f];
        has.erase(has.begin() + at + 1, has.begin() + behind);
        has[first] = std::ranges::find(chapter.has[f], true) != chapter.has[f].end();
    }
    return {};
}

/// A source's records go behind `at` records of the chapter. Those of a step's file that is gone stay the
/// fill value.
Status SeriesView::copy_records(const Copied& copied, std::size_t source, std::int64_t at,
                                format::SeriesDescription& chapter) const {
    std::vector<std::size_t> numbers;
    std::vector<format::FieldDescription> fields;
    for (const std::size_t f : copied.fields) {
        if (!series_.has[f][source]) continue;
        numbers.push_back(f);
        fields.push_back(series_.shown.fields[f]);
    }
    if (fields.empty()) return {};
    const format::SeriesSource& from = series_.sources[source];
    const Result<std::vector<std::vector<std::byte>>> read =
        format_->series()->read_records(folder_of(prefix_) + "/" + from.file, fields, from.num_records);
    if (read.status().code() == ErrorCode::not_found && !is_chapter(from)) return {};
    if (!read.ok()) return read.status();
    for (std::size_t i = 0; i < fields.size(); ++i) {
        const std::int64_t record_bytes = fields[i].num_elements() * format::bytes_of(fields[i].type);
        std::ranges::copy(read.value()[i], chapter.copies[numbers[i]].begin() + at * record_bytes);
    }
    return {};
}

Status SeriesView::write_file(const format::SeriesDescription& series, const std::string& path,
                              bool sync) const {
    Result<format::Layout> layout = format_->series()->lay_out_series(
        series, folder_of(storage::open_place_of(prefix_).place->system_name(path)));
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
