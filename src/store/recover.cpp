#include <algorithm>
#include <filesystem>

#include "storage/file.hpp"
#include "store/gate.hpp"
#include "store/maintenance.hpp"
#include "store/survey.hpp"

namespace hakobi::store {

namespace {

namespace fs = std::filesystem;

/// Copies what lies from `begin_bytes` on, gaps left out.
void copy_rest(Place& place, const std::string& stem, std::int64_t begin_bytes, const std::string& to) {
    auto target = storage::open_file(to, {.read = false, .write = true, .create = true, .truncate = true});
    target.status().throw_if_error();
    std::vector<std::byte> bytes(8 << 20);
    std::int64_t written_bytes = 0;
    for (const Extent& extent : place.data_extents(stem)) {
        const std::int64_t end_bytes = extent.offset_bytes + extent.length_bytes;
        for (std::int64_t at = std::max(begin_bytes, extent.offset_bytes); at < end_bytes;) {
            const auto [path, offset_bytes] = place.data_place(stem, at);
            auto source = place.open_data(path);
            source.status().throw_if_error();
            const std::span part(bytes.data(),
                                 static_cast<std::size_t>(std::min(std::ssize(bytes), end_bytes - at)));
            const Result<std::int64_t> length = source.value()->read_at(part, offset_bytes);
            length.status().throw_if_error();
            if (length.value() == 0) break;
            target.value()
                ->write_at(part.first(static_cast<std::size_t>(length.value())), written_bytes)
                .throw_if_error();
            at += length.value();
            written_bytes += length.value();
        }
    }
    target.value()->sync().throw_if_error();
    target.value()->close().throw_if_error();
}

class Recovery {
  public:
    Recovery(const Folder& folder, const RecoverOptions& options)
        : folder_(folder), place_(folder.place()), options_(options) {}

    RecoverReport run() {
        if (Gate::remove_dead(folder_)) {
            report_.actions.push_back("opened the store again: a move of it was killed");
        }
        const FolderContents contents = folder_.contents();
        for (const std::string& name : contents.leftovers) {
            if (const auto bytes = place_.remove_leftover(name))
                done(*bytes, "removed " + folder_.path() + "/" + name);
        }
        for (const WriterFiles& files : contents.writers) recover_writer(files);
        for (const std::string& path : remove_emptied(folder_)) done(0, "removed " + path + ": all wiped");
        place_.sync_names();
        // It may name an index that is gone: then nobody reads it.
        if (contents.has_catalogue && !report_.actions.empty()) consolidate(folder_);
        return std::move(report_);
    }

  private:
    void recover_writer(const WriterFiles& files) {
        // An index may have been made while the folder was listed; before its data file it is.
        if (!files.has_index && place_.has_log(files.stem)) return;
        const Survey survey = survey_writer(folder_, files, SurveyFor::removing);
        if (survey.is_alive) {
            report_.left.push_back(files.stem + ": its writer is at work");
            return;
        }
        const std::string data = place_.data_path(files.stem), index = place_.index_path(files.stem);
        if (!files.has_index) {
            keep(files.stem, 0);
            place_.remove_data(files.stem).throw_if_error();
            if (files.has_data) done(survey.unrecorded_bytes, "removed " + data + ", which no index knows");
            if (files.log_offsets.empty()) return;
            place_.remove_log(files.stem).throw_if_error();
            done(0, "removed " + index + ": what was left of an index");
            return;
        }
        if (!survey.is_readable()) {
            report_.left.push_back(files.stem + ": its index cannot be read");
            return;
        }
        if (!survey.is_end_known) {
            if (!options_.also_damaged) {
                report_.left.push_back(
                    files.stem + ": its last record is damaged, not unfinished; --damaged gives up its data");
                return;
            }
        }
        if (survey.unrecorded_bytes > 0) {
            keep(files.stem, survey.data_end_bytes);
            if (!survey.is_empty) place_.cut_data(files.stem, survey.data_end_bytes).throw_if_error();
            done(survey.unrecorded_bytes,
                 "freed " + std::to_string(survey.unrecorded_bytes) + " bytes of " + data);
        }
        if (survey.scan.torn_bytes > 0) {
            if (!survey.is_empty) place_.cut_log(files.stem, survey.scan.end_bytes).throw_if_error();
            done(survey.scan.torn_bytes,
                 "freed " + std::to_string(survey.scan.torn_bytes) + " bytes of " + index);
        }
        if (survey.is_empty) {
            place_.remove_log(files.stem).throw_if_error();
            place_.remove_data(files.stem).throw_if_error();
            done(survey.header_bytes, "removed " + files.stem + ", which flushed nothing");
        }
    }

    void keep(const std::string& stem, std::int64_t begin_bytes) {
        if (options_.keep_in.empty()) return;
        fs::create_directories(options_.keep_in);
        copy_rest(place_, stem, begin_bytes, options_.keep_in + "/" + stem + ".lost");
    }

    void done(std::int64_t bytes, std::string what) {
        report_.freed_bytes += bytes;
        report_.actions.push_back(std::move(what));
    }

    const Folder& folder_;
    Place& place_;
    const RecoverOptions& options_;
    RecoverReport report_;
};

}  // namespace

RecoverReport recover(const Folder& folder, const RecoverOptions& options) {
    return Recovery(folder, options).run();
}

}  // namespace hakobi::store
