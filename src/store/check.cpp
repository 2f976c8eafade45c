#include <algorithm>
#include <atomic>
#include <filesystem>
#include <mutex>
#include <thread>

#include "base/checksum.hpp"
#include "base/guard.hpp"
#include "base/thread.hpp"
#include "store/consolidated.hpp"
#include "store/index_reader.hpp"
#include "store/maintenance.hpp"
#include "store/store.hpp"
#include "store/survey.hpp"

namespace hakobi::store {

namespace {

std::string fields_text(std::int64_t count) {
    return std::to_string(count) + (count == 1 ? " field" : " fields");
}

/// Every field read and held against its checksum.
void check_contents(const Folder& folder, int num_threads, CheckReport& report) {
    IndexReader index(folder);
    const auto catalogue = index.reread();
    const Request everything("", folder.schema());
    const auto listing = select(catalogue, everything, {.order = FieldOrder::file, .with_replaced = true});
    std::vector<FieldPlace> places;
    {
        const std::shared_lock lock(catalogue->mutex);
        for (const RowReference& reference : listing->rows) {
            const Columns& rows = catalogue->groups[reference.group]->rows;
            places.push_back({rows.files[reference.row], rows.offsets[reference.row],
                              rows.lengths[reference.row], rows.checksums[reference.row]});
        }
    }
    const std::vector<Chunk> chunks = plan_chunks(places, 64 << 10, 8 << 20);
    FieldReader reader(num_threads);
    std::mutex mutex;
    std::atomic<std::size_t> next = 0;
    const auto lose = [&](std::size_t field, std::string_view why) {
        const std::shared_lock shared(catalogue->mutex);
        std::string key;
        append_key_text(*catalogue, listing->rows[field], key);
        const std::scoped_lock lock(mutex);
        ++report.num_lost;
        report.problems.push_back(catalogue->data_path(places[field].file) + ": " + key + " " +
                                  std::string(why));
    };
    const auto work = [&] {
        std::vector<std::byte> bytes;
        for (std::size_t number = next++; number < chunks.size(); number = next++) {
            const Chunk& chunk = chunks[number];
            bytes.resize(static_cast<std::size_t>(chunk.length_bytes));
            const Status status = guarded("reading", [&] {
                std::string path;
                {
                    const std::shared_lock shared(catalogue->mutex);
                    path = catalogue->data_path(chunk.file);
                }
                reader.read_part(path, chunk.offset_bytes, bytes);
            });
            for (const std::size_t field : chunk.fields) {
                const FieldPlace& place = places[field];
                const auto part = std::span<const std::byte>(bytes).subspan(
                    static_cast<std::size_t>(place.offset_bytes - chunk.offset_bytes),
                    static_cast<std::size_t>(place.length_bytes));
                if (!status.ok()) {
                    lose(field, "cannot be read: " + status.text());
                } else if (checksum_of(part) != place.checksum) {
                    lose(field, "is not as it was written (its checksum differs)");
                }
            }
        }
    };
    std::vector<std::thread> threads;
    for (int i = 1; i < num_threads; ++i) {
        if (auto thread = start_thread("hakobi-check", CoreSet{}, work))
            threads.push_back(std::move(*thread));
    }
    work();
    for (std::thread& thread : threads) thread.join();
}

}  // namespace

CheckReport check(const Folder& folder, bool deep, int num_threads) {
    CheckReport report;
    const FolderContents contents = folder.contents();
    for (const std::string& name : contents.leftovers) {
        report.orphans.push_back(folder.path() + "/" + name + ": a temporary file");
        report.orphan_bytes += file_size(folder.path() + "/" + name);
    }
    for (const WriterFiles& files : contents.writers) {
        const Survey survey = survey_writer(folder, files);
        if (survey.is_alive) ++report.num_alive;
        for (const std::string& problem : survey.problems) report.problems.push_back(problem);
        report.num_fields += survey.num_fields;
        if (survey.num_beyond_end > 0) {
            // A deep check names them one by one.
            report.num_lost += deep ? 0 : survey.num_beyond_end;
            report.problems.push_back(
                folder.data_path(files.stem) + " ends at byte " + std::to_string(survey.data_bytes) + " of " +
                std::to_string(survey.data_end_bytes) + ": " + fields_text(survey.num_beyond_end) + " lost");
        }
        if (survey.is_alive) continue;
        if (survey.orphan_data_bytes > 0) {
            report.orphan_bytes += survey.orphan_data_bytes;
            report.orphans.push_back(folder.data_path(files.stem) + ": " +
                                     std::to_string(survey.orphan_data_bytes) +
                                     " bytes that were never flushed");
        }
        if (survey.scan.torn_bytes > 0 && !survey.scan.is_tail_damaged) {
            report.orphan_bytes += survey.scan.torn_bytes;
            report.orphans.push_back(folder.index_path(files.stem) + ": " +
                                     std::to_string(survey.scan.torn_bytes) +
                                     " bytes of an unfinished flush");
        }
        if (survey.is_empty)
            report.orphans.push_back(folder.index_path(files.stem) + ": a writer that flushed nothing");
    }
    if (contents.has_catalogue) {
        Catalogue catalogue;
        catalogue.folder = folder.path();
        if (const Status status = read_consolidated(folder, catalogue); !status.ok()) {
            report.problems.push_back(status.text());
        }
    }
    if (deep) check_contents(folder, num_threads, report);
    report.num_fields -= report.num_lost;
    return report;
}

}  // namespace hakobi::store
