#include <algorithm>
#include <filesystem>

#include "storage/file.hpp"
#include "store/gate.hpp"
#include "store/maintenance.hpp"
#include "store/survey.hpp"

namespace hakobi::store {

namespace {

namespace fs = std::filesystem;

// A temporary file that is younger may be a writer's that is just being made.
constexpr double leftover_age_s = 2;

void copy_part(const std::string& from, std::int64_t begin_bytes, std::int64_t end_bytes,
               const std::string& to) {
    auto source = storage::open_file(from, {});
    source.status().throw_if_error();
    auto target = storage::open_file(to, {.read = false, .write = true, .create = true, .truncate = true});
    target.status().throw_if_error();
    std::vector<std::byte> bytes(
        static_cast<std::size_t>(std::min<std::int64_t>(8 << 20, end_bytes - begin_bytes)));
    for (std::int64_t at = begin_bytes; at < end_bytes;) {
        const std::span part(bytes.data(),
                             static_cast<std::size_t>(std::min(std::ssize(bytes), end_bytes - at)));
        const Result<std::int64_t> length = source.value()->read_at(part, at);
        length.status().throw_if_error();
        if (length.value() == 0) break;
        target.value()
            ->write_at(part.first(static_cast<std::size_t>(length.value())), at - begin_bytes)
            .throw_if_error();
        at += length.value();
    }
    target.value()->sync().throw_if_error();
    target.value()->close().throw_if_error();
}

void cut(const std::string& path, std::int64_t bytes) {
    auto file = storage::open_file(path, {.read = true, .write = true});
    if (file.status().code() == ErrorCode::not_found) return;  // emptied by somebody else's wipe
    file.status().throw_if_error();
    file.value()->set_size(bytes).throw_if_error();
    file.value()->sync().throw_if_error();
    file.value()->close().throw_if_error();
}

class Recovery {
  public:
    Recovery(const Folder& folder, const RecoverOptions& options) : folder_(folder), options_(options) {}

    RecoverReport run() {
        if (Gate::remove_dead(folder_)) {
            report_.actions.push_back("opened the store again: a move of it was killed");
        }
        const FolderContents contents = folder_.contents();
        for (const std::string& name : contents.leftovers) remove_leftover(folder_.path() + "/" + name);
        for (const WriterFiles& files : contents.writers) recover_writer(files);
        for (const std::string& path : remove_emptied(folder_)) done(0, "removed " + path + ": all wiped");
        sync_folder(folder_.path());
        // It may name an index that is gone: then nobody reads it.
        if (contents.has_catalogue && !report_.actions.empty()) consolidate(folder_);
        return std::move(report_);
    }

  private:
    void remove_leftover(const std::string& path) {
        std::error_code error;
        const auto changed = fs::last_write_time(path, error);
        if (error ||
            fs::file_time_type::clock::now() - changed < std::chrono::duration<double>(leftover_age_s))
            return;
        const std::int64_t bytes = file_size(path);
        if (storage::remove_file(path).ok()) done(bytes, "removed " + path);
    }

    void recover_writer(const WriterFiles& files) {
        // An index may have been made while the folder was listed; before its data file it is.
        if (!files.has_index && fs::exists(folder_.index_path(files.stem))) return;
        Survey survey = survey_writer(folder_, files);
        if (survey.is_alive) {
            report_.left.push_back(files.stem + ": its writer is at work");
            return;
        }
        const std::string data = folder_.data_path(files.stem), index = folder_.index_path(files.stem);
        if (!files.has_index) {
            keep(files.stem, 0, survey.data_bytes);
            remove_if_there(data).throw_if_error();
            done(survey.data_bytes, "removed " + data + ", which no index knows");
            return;
        }
        if (!survey.is_readable) {
            report_.left.push_back(files.stem + ": its index cannot be read");
            return;
        }
        if (survey.scan.is_tail_damaged) {
            if (!options_.also_damaged) {
                report_.left.push_back(
                    files.stem + ": its last record is damaged, not unfinished; --damaged gives up its data");
                return;
            }
            survey.orphan_data_bytes = std::max<std::int64_t>(0, survey.data_bytes - survey.data_end_bytes);
        }
        if (survey.orphan_data_bytes > 0) {
            keep(files.stem, survey.data_end_bytes, survey.data_bytes);
            if (!survey.is_empty) cut(data, survey.data_end_bytes);
            done(survey.orphan_data_bytes,
                 "freed " + std::to_string(survey.orphan_data_bytes) + " bytes of " + data);
        }
        if (survey.scan.torn_bytes > 0) {
            if (!survey.is_empty) cut(index, survey.scan.end_bytes);
            done(survey.scan.torn_bytes,
                 "freed " + std::to_string(survey.scan.torn_bytes) + " bytes of " + index);
        }
        if (survey.is_empty) {
            remove_if_there(index).throw_if_error();
            remove_if_there(data).throw_if_error();
            done(survey.header_bytes, "removed " + files.stem + ", which flushed nothing");
        }
    }

    void keep(const std::string& stem, std::int64_t begin_bytes, std::int64_t end_bytes) {
        if (options_.keep_in.empty() || begin_bytes >= end_bytes) return;
        fs::create_directories(options_.keep_in);
        copy_part(folder_.data_path(stem), begin_bytes, end_bytes, options_.keep_in + "/" + stem + ".lost");
    }

    void done(std::int64_t bytes, std::string what) {
        report_.freed_bytes += bytes;
        report_.actions.push_back(std::move(what));
    }

    const Folder& folder_;
    const RecoverOptions& options_;
    RecoverReport report_;
};

}  // namespace

RecoverReport recover(const Folder& folder, const RecoverOptions& options) {
    return Recovery(folder, options).run();
}

}  // namespace hakobi::store
