#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "format/format.hpp"
#include "series/series.hpp"

namespace hakobi::series {

/// One file that shows all whole steps of a prefix as one data set: "<prefix>.series.nc". Local: rank 0's,
/// who holds the prefix's lock.
///
///  1. Steps that are whole become records; fields that are not like those of the same name before are left
///     out.
///  2. The file is made anew under a temporary name and replaces the one before, so that a kill leaves one of
///     them.
///  3. That is not done for every step: in a run it may take a hundredth of the time, and `write` at the end
///     does the rest.
///  4. HDF5 shows fill values, without an error, of sources that it cannot open. It keeps all open that it
///     has read, and many programs may open 256 files. So up to `most_sources` files are sources, and what
///     needs more is left out, which the file and stderr say.
///  5. Where steps are in more files than that, their small fields are copied to chapters
///     ("<prefix>.series.000256.nc", called after its first step), which then are the sources: no step's file
///     is opened for them. Fields are small that together have at most `copied_bytes` a step, the smallest
///     first. Others are left out from then on.
///  6. The last chapter is made anew with more steps, each time that `steps_between` files are not in one,
///     until it has `chapter_steps` and `chapter_bytes`. It only ever gets more: who has opened the series
///     before finds what it says. A series that does not go on as its file says (steps were taken away) loses
///     that file first, and chapters are made anew.
class SeriesView {
  public:
    static constexpr std::size_t most_sources = 192, steps_between = 64;
    static constexpr std::int64_t copied_bytes = std::int64_t{64} << 10;
    static constexpr std::int64_t chapter_steps = 64, chapter_bytes = std::int64_t{16} << 20;

    SeriesView() = default;  ///< shows nothing, whatever it is told
    /// Shows the whole steps that are there: as the file of an earlier run says, the steps' own files else.
    SeriesView(std::string prefix, const format::Format& format, std::span<const Series::Entry> whole);

    /// A step is on its way; the file of that path takes it.
    void expect(std::int64_t number, const std::string& path, const format::StepDescription& step);
    /// Its file has its name. Those expected before it do not come any more.
    void complete(std::int64_t number);
    /// Completes the expected steps whose files are there.
    void complete_found();
    /// Writes the file if it lacks a step and writing is worth the time. An error is reported on stderr,
    /// once: the steps themselves are whole.
    void write_now_and_then(bool sync) noexcept;
    void write(bool sync) noexcept;

  private:
    struct Expected {
        std::int64_t number = 0;
        double time = 0;
        std::string file;
        std::vector<bool> has;
    };

    /// The values of the fields that chapters copy.
    struct Copied {
        std::vector<std::size_t> fields;
        std::int64_t record_bytes = 0;
    };

    [[nodiscard]] bool take_earlier(std::span<const Series::Entry> whole);
    [[nodiscard]] bool is_chapter(const format::SeriesSource& source) const;
    [[nodiscard]] bool is_chapter_whole(const format::SeriesSource& source, std::int64_t first_record) const;
    void start_with(const format::StepDescription& step);
    [[nodiscard]] std::vector<bool> fields_of(const format::StepDescription& step);
    void append(const Expected& step);
    void append_all(const Series::Entry& entry, const format::FoundStep& found,
                    const format::StepDescription& step, std::int64_t first_in_file);
    Status write_all(bool sync);
    [[nodiscard]] Copied copied_fields() const;
    void leave_out(std::span<const std::size_t> shown);
    Status write_chapters(const Copied& copied);
    Status write_chapter(const Copied& copied, std::size_t first, std::size_t end);
    Status copy_records(const Copied& copied, std::size_t source, std::int64_t at,
                        format::SeriesDescription& chapter) const;
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
    bool is_anew_ = false;  // the file that is there, if any, and its chapters do not go on as this does
    double next_s_ = 0;     // when it may be written again
};

/// Makes the file of a prefix show its whole steps; the caller holds its lock. Nothing where there are none.
void show_series(const std::string& prefix);

}  // namespace hakobi::series
