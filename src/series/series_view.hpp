#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "format/format.hpp"
#include "series/series.hpp"

namespace hakobi::series {

/// One file that shows all whole steps of a prefix as one data set, without their values: "<prefix>.series.nc". Local: rank
/// 0's, who holds the prefix's lock.
///
///  1. Steps that are whole become records; fields that are not like those of the same name before are left out.
///  2. The file is made anew under a temporary name and replaces the one before, so that a kill leaves one of them.
///  3. That is not done for every step: in a run it may take a hundredth of the time, and `write` at the end does the rest.
///  4. Each time that `chapter_steps` steps are shown by themselves, a file of their own takes their place
///     ("<prefix>.series.000256.nc", called after its first step), written once. What is made anew has fewer than that many
///     steps and one entry a chapter: 10^5 steps are 390.
class SeriesView {
  public:
    static constexpr std::int64_t chapter_steps = 256;

    SeriesView() = default;  ///< shows nothing, whatever it is told
    /// What shows the whole steps that are there: as the file of an earlier run says, the steps' own files else.
    SeriesView(std::string prefix, const format::Format& format, std::span<const Series::Entry> whole);

    /// The last file may get more steps.
    void let_last_grow() noexcept { is_last_growing_ = true; }
    /// A step is on its way; the file of that path takes it.
    void expect(std::int64_t number, const std::string& path, const format::StepDescription& step);
    /// Its file has its name. Those expected before it do not come any more.
    void complete(std::int64_t number);
    /// Completes the expected steps whose files are there.
    void complete_found();
    /// Where something is to be shown that the file does not: writes it, if that is worth its time. What goes wrong is said on
    /// stderr, once: the steps are whole.
    void write_now_and_then(bool sync) noexcept;
    void write(bool sync) noexcept;

  private:
    struct Expected {
        std::int64_t number = 0;
        double time = 0;
        std::string file;
        std::vector<bool> has;
    };

    [[nodiscard]] bool take_earlier(std::span<const Series::Entry> whole);
    void start_with(const format::StepDescription& step);
    [[nodiscard]] std::vector<bool> fields_of(const format::StepDescription& step);
    void append(const Expected& step);
    void append_all(const Series::Entry& entry, const format::FoundStep& found,
                    const format::StepDescription& step);
    Status write_all(bool sync);
    [[nodiscard]] std::optional<std::size_t> first_of_chapter() const;
    Status write_chapter(std::size_t first_source, bool sync);
    Status write_file(const format::SeriesDescription& series, const std::string& path, bool sync) const;

    std::string prefix_;
    const format::Format* format_ = nullptr;  // none: shows nothing
    format::SeriesDescription series_;
    bool has_run_ = false;  // series_.shown says what this run says
    std::deque<Expected> expected_;
    std::vector<format::FieldDescription> fields_before_;  // that has_before_ is for
    std::vector<bool> has_before_;
    bool is_written_ = true;  // the file shows all
    bool is_warned_ = false;
    bool is_last_growing_ = false;
    double next_s_ = 0;  // when it may be written again
};

/// Makes the file of a prefix show its whole steps; the caller holds its lock. Nothing where there are none.
void show_series(const std::string& prefix);

}  // namespace hakobi::series
