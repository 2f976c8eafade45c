#include <algorithm>
#include <map>
#include <mutex>
#include <set>

#include "base/checksum.hpp"
#include "base/guard.hpp"
#include "base/parallel.hpp"
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
    FieldReader reader(folder, num_threads);
    std::mutex mutex;
    const auto lose = [&](std::size_t field, std::string_view why) {
        const std::shared_lock shared(catalogue->mutex);
        std::string key;
        append_key_text(*catalogue, listing->used_keywords, listing->rows[field], key);
        const std::scoped_lock lock(mutex);
        ++report.num_lost;
        report.problems.push_back(
            catalogue->data_place(places[field].file, places[field].offset_bytes).first + ": " + key + " " +
            std::string(why));
    };
    for_each_parallel(chunks.size(), num_threads, "hakobi-check", [&](std::size_t number) -> Status {
        const Chunk& chunk = chunks[number];
        std::vector<std::byte> bytes;
        const Status status = guarded("reading", [&] { reader.read_chunk(*catalogue, chunk, bytes); });
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
        return {};
    }).throw_if_error();
}

}  // namespace

CheckReport check(const Folder& folder, bool deep, int num_threads) {
    CheckReport report;
    const FolderContents contents = folder.contents();
    for (const std::string& name : contents.leftovers) {
        report.orphans.push_back(folder.path() + "/" + name + ": a temporary file");
        report.orphan_bytes += file_size(folder.path() + "/" + name);
    }
    std::vector<Survey> surveys;
    std::map<std::uint64_t, std::set<std::int64_t>> wiped;
    for (const WriterFiles& files : contents.writers) {
        surveys.push_back(survey_writer(folder, files, SurveyFor::looking));
        for (const Wiped& file : surveys.back().wiped)
            wiped[file.id].insert(file.offsets.begin(), file.offsets.end());
    }
    for (std::size_t i = 0; i < surveys.size(); ++i) {
        const WriterFiles& files = contents.writers[i];
        const Survey& survey = surveys[i];
        if (survey.is_alive) ++report.num_alive;
        for (const std::string& problem : survey.problems) report.problems.push_back(problem);
        report.num_fields += survey.num_fields;
        const std::string data = folder.place().data_path(files.stem);
        const std::string index = folder.place().index_path(files.stem);
        // Wiped fields have lost their data by right.
        const std::int64_t num_missing = std::ranges::count_if(
            survey.missing, [&](std::int64_t offset) { return !wiped[files.id].contains(offset); });
        if (num_missing > 0) {
            // A deep check names them one by one.
            report.num_lost += deep ? 0 : num_missing;
            report.problems.push_back(
                data + " has not all of its bytes: it ends at " + std::to_string(survey.data_bytes) + " of " +
                std::to_string(survey.data_end_bytes) + ": " + fields_text(num_missing) + " lost");
        }
        if (survey.is_alive) continue;
        if (!files.has_index && !files.log_offsets.empty())
            report.orphans.push_back(index + ": what is left of an index");
        if (survey.orphan_data_bytes() > 0) {
            report.orphan_bytes += survey.orphan_data_bytes();
            report.orphans.push_back(data + ": " + std::to_string(survey.orphan_data_bytes()) +
                                     " bytes that were never flushed");
        }
        if (survey.scan.torn_bytes > 0 && !survey.scan.is_tail_damaged) {
            report.orphan_bytes += survey.scan.torn_bytes;
            report.orphans.push_back(index + ": " + std::to_string(survey.scan.torn_bytes) +
                                     " bytes of an unfinished flush");
        }
        if (survey.is_empty) report.orphans.push_back(index + ": a writer that flushed nothing");
    }
    if (contents.has_catalogue) {
        Catalogue catalogue;
        if (const Status status = read_consolidated(folder, catalogue); !status.ok()) {
            report.problems.push_back(status.text());
        }
    }
    if (deep) check_contents(folder, num_threads, report);
    report.num_fields -= report.num_lost;
    return report;
}

}  // namespace hakobi::store
