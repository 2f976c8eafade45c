#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <shared_mutex>

#include "store/consolidated.hpp"
#include "store/index_reader.hpp"
#include "store/listing.hpp"
#include "store/maintenance.hpp"
#include "store/survey.hpp"
#include "store/writer.hpp"

namespace hakobi::store {

WipePlan plan_wipe(const Listing& fields) {
    const Listing::Impl& listing = fields.impl();
    const Catalogue& catalogue = *listing.catalogue;
    const std::shared_lock lock(catalogue.mutex);
    WipePlan plan;
    std::map<std::uint32_t, WipePlan::Part> parts;
    for (const RowReference& reference : listing.rows) {
        const Columns& rows = catalogue.groups[reference.group]->rows;
        parts[rows.files[reference.row]].extents.push_back(
            {rows.offsets[reference.row], rows.lengths[reference.row]});
        ++plan.num_fields;
        plan.num_bytes += rows.lengths[reference.row];
    }
    for (auto& [file, part] : parts) {
        part.stem = catalogue.files[file].stem;
        part.id = catalogue.files[file].id;
        std::ranges::sort(part.extents, {}, &Extent::offset_bytes);
        plan.parts.push_back(std::move(part));
    }
    return plan;
}

namespace {

/// The offsets of all fields by their data file, rising.
std::map<std::uint64_t, std::vector<std::int64_t>> offsets_by_file(const Catalogue& catalogue) {
    const std::shared_lock lock(catalogue.mutex);
    std::map<std::uint64_t, std::vector<std::int64_t>> offsets;
    for (const auto& group : catalogue.groups) {
        for (std::size_t row = 0; row < group->rows.num_rows(); ++row)
            offsets[catalogue.files[group->rows.files[row]].id].push_back(group->rows.offsets[row]);
    }
    for (auto& [id, sorted] : offsets) std::ranges::sort(sorted);
    return offsets;
}

void give_back(const Folder& folder, const WipePlan& plan) {
    std::map<std::uint64_t, std::vector<std::int64_t>> left;
    // Where no place is used again and a segment's fields are all of one flush, what is not there now never
    // will be.
    if (folder.place().most_object_bytes() > 0) left = offsets_by_file(*IndexReader(folder).reread());
    for (const WipePlan::Part& part : plan.parts) {
        const std::vector<std::int64_t>& offsets = left[part.id];
        folder.place().give_back(part.stem, part.extents, [&](std::int64_t begin, std::int64_t end) {
            const auto first = std::ranges::lower_bound(offsets, begin);
            return first != offsets.end() && *first < end;
        });
    }
}

}  // namespace

void wipe(const Folder& folder, const WipePlan& plan) {
    if (plan.parts.empty()) return;
    std::vector<Wiped> wiped;
    for (const WipePlan::Part& part : plan.parts) {
        Wiped& file = wiped.emplace_back();
        file.id = part.id;
        for (const Extent& extent : part.extents) file.offsets.push_back(extent.offset_bytes);
    }
    {
        IndexFile index(folder, "wipe", true, IndexFile::Kind::records_of_others);
        const std::vector<std::byte> payload = encode_wipe(wiped);
        Record record;
        record.kind = RecordKind::wipe;
        record.payload = payload;
        index.append(std::span(&record, 1), true).throw_if_error();
        folder.place().sync_names();
    }
    (void)remove_emptied(folder);
    give_back(folder, plan);
    if (folder.contents().has_catalogue) consolidate(folder);
}

namespace {

/// The writers of whom the catalogue has no field.
std::vector<WriterFiles> without_fields(const Catalogue& catalogue, const std::vector<WriterFiles>& writers) {
    const std::shared_lock lock(catalogue.mutex);
    std::set<std::uint64_t> full;
    for (const auto& group : catalogue.groups) {
        for (const std::uint32_t file : group->rows.files) full.insert(catalogue.files[file].id);
    }
    std::vector<WriterFiles> empty;
    std::ranges::copy_if(writers, std::back_inserter(empty),
                         [&](const WriterFiles& files) { return !full.contains(files.id); });
    return empty;
}

}  // namespace

std::vector<std::string> remove_emptied(const Folder& folder) {
    std::vector<std::string> removed;
    IndexReader index(folder);
    std::vector<WriterFiles> dead, wipes;
    std::map<std::uint64_t, std::vector<std::uint64_t>> wiped_by;
    for (const WriterFiles& files : without_fields(*index.reread(), folder.contents().writers)) {
        if (!files.has_index) continue;
        const Survey survey = survey_writer(folder, files, SurveyFor::removing);
        // Damaged or unflushed data are left to `recover`.
        const bool is_intact = !survey.is_alive && survey.is_readable() && survey.problems.empty() &&
                               survey.scan.torn_bytes == 0 && survey.orphan_data_bytes() == 0;
        if (is_intact && survey.num_fields > 0) dead.push_back(files);
        if (is_intact && survey.num_fields == 0 && !survey.wiped.empty()) {
            wipes.push_back(files);
            for (const Wiped& wiped : survey.wiped) wiped_by[files.id].push_back(wiped.id);
        }
    }
    // Read again now that they are dead.
    dead = without_fields(*index.refreshed(), dead);
    for (const WriterFiles& files : dead) {
        folder.place().remove_log(files.stem).throw_if_error();
    }
    // Gone for good, before their data and the records that remove them go.
    if (!dead.empty() || !wipes.empty()) folder.place().sync_names();
    for (const WriterFiles& files : dead) {
        folder.place().remove_data(files.stem).throw_if_error();
        removed.push_back(folder.place().data_path(files.stem));
    }
    std::set<std::uint64_t> present;
    for (const WriterFiles& files : folder.contents().writers) {
        if (files.has_index) present.insert(files.id);
    }
    for (const WriterFiles& files : wipes) {
        const auto is_present = [&](std::uint64_t id) { return present.contains(id); };
        if (std::ranges::any_of(wiped_by[files.id], is_present)) continue;
        folder.place().remove_log(files.stem).throw_if_error();
    }
    return removed;
}

void consolidate(const Folder& folder) {
    IndexReader index(folder);
    const auto catalogue = index.refreshed();
    std::vector<std::byte> bytes;
    {
        const std::shared_lock lock(catalogue->mutex);
        bytes = encode_consolidated(*catalogue);
    }
    folder.place().write(catalogue_name, bytes, Place::IfExists::replace).throw_if_error();
}

Follower::Follower(const Store& store, std::string_view request, bool from_beginning)
    : store_(store), request_(request) {
    if (!from_beginning) (void)next();
}

Listing Follower::next() {
    const Listing all =
        store_.list(request_, {.order = FieldOrder::file, .with_replaced = true, .is_strict = false});
    const Listing::Impl& listing = all.impl();
    const Catalogue& catalogue = *listing.catalogue;
    const auto found = listing.without_fields();
    const std::shared_lock lock(catalogue.mutex);
    std::map<std::uint64_t, std::int64_t> latest;
    for (const RowReference& reference : listing.rows) {
        const Columns& rows = catalogue.groups[reference.group]->rows;
        const std::uint64_t id = catalogue.files[rows.files[reference.row]].id;
        const std::int64_t stamp = rows.stamps[reference.row];
        const auto seen = seen_.find(id);
        if (seen == seen_.end() || stamp > seen->second) found->rows.push_back(reference);
        latest[id] = std::max(latest[id], stamp);
    }
    for (const auto& [id, stamp] : latest) seen_[id] = std::max(seen_[id], stamp);
    return Listing(found);
}

}  // namespace hakobi::store
