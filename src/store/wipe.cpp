#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <iterator>
#include <map>
#include <set>
#include <shared_mutex>

#include "base/descriptor.hpp"
#include "storage/file.hpp"
#include "store/consolidated.hpp"
#include "store/index_reader.hpp"
#include "store/listing.hpp"
#include "store/maintenance.hpp"
#include "store/survey.hpp"
#include "store/writer.hpp"

namespace hakobi::store {

namespace {

constexpr std::int64_t block_bytes = 4096;

/// Gives the blocks back that lie wholly within removed fields. Where the file system cannot, the space stays taken until
/// all fields of the file are gone.
void give_back(const std::string& path, const std::vector<std::pair<std::int64_t, std::int64_t>>& extents) {
    assert(std::ranges::is_sorted(extents));
    const Descriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (file.get() < 0) return;
    for (std::size_t i = 0; i < extents.size();) {
        const std::int64_t begin = extents[i].first;
        std::int64_t end = begin + extents[i].second;
        // No further: what lies between may be a field, however small.
        while (++i < extents.size() && extents[i].first == end) end += extents[i].second;
        const std::int64_t first = (begin + block_bytes - 1) / block_bytes * block_bytes;
        const std::int64_t last = end / block_bytes * block_bytes;
        if (last > first)
            (void)::fallocate(file.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, first, last - first);
    }
}

}  // namespace

WipePlan plan_wipe(const Listing& fields) {
    const Listing::Impl& listing = fields.impl();
    const Catalogue& catalogue = *listing.catalogue;
    const std::shared_lock lock(catalogue.mutex);
    WipePlan plan;
    std::map<std::uint32_t, WipePlan::Part> parts;
    for (const RowReference& reference : listing.rows) {
        const Columns& rows = catalogue.groups[reference.group]->rows;
        parts[rows.files[reference.row]].extents.emplace_back(rows.offsets[reference.row],
                                                              rows.lengths[reference.row]);
        ++plan.num_fields;
        plan.num_bytes += rows.lengths[reference.row];
    }
    for (auto& [file, part] : parts) {
        part.stem = catalogue.files[file].stem;
        part.id = catalogue.files[file].id;
        std::ranges::sort(part.extents);
        plan.parts.push_back(std::move(part));
    }
    return plan;
}

void wipe(const Folder& folder, const WipePlan& plan) {
    if (plan.parts.empty()) return;
    std::vector<Wiped> wiped;
    for (const WipePlan::Part& part : plan.parts) {
        Wiped& file = wiped.emplace_back();
        file.id = part.id;
        for (const auto& [offset, length] : part.extents) file.offsets.push_back(offset);
    }
    {
        IndexFile index(folder, "wipe", true, IndexFile::Kind::records_of_others);
        const std::vector<std::byte> payload = encode_wipe(wiped);
        Record record;
        record.kind = RecordKind::wipe;
        record.payload = payload;
        index.append(std::span(&record, 1), true).throw_if_error();
        sync_folder(folder.path());
    }
    (void)remove_emptied(folder);
    for (const WipePlan::Part& part : plan.parts) give_back(folder.data_path(part.stem), part.extents);
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
        const Survey survey = survey_writer(folder, files);
        // What is damaged or was never flushed is for `recover`.
        const bool is_intact = !survey.is_alive && survey.is_readable && survey.problems.empty() &&
                               survey.scan.torn_bytes == 0 && survey.orphan_data_bytes == 0;
        if (is_intact && survey.num_fields > 0) dead.push_back(files);
        if (is_intact && survey.num_fields == 0 && !survey.wiped_ids.empty()) {
            wipes.push_back(files);
            wiped_by[files.id] = survey.wiped_ids;
        }
    }
    // Read again now that they are dead.
    dead = without_fields(*index.refreshed(), dead);
    for (const WriterFiles& files : dead) {
        remove_if_there(folder.index_path(files.stem)).throw_if_error();
    }
    // Gone for good, before their data and the records that remove them go.
    if (!dead.empty() || !wipes.empty()) sync_folder(folder.path());
    for (const WriterFiles& files : dead) {
        remove_if_there(folder.data_path(files.stem)).throw_if_error();
        removed.push_back(folder.data_path(files.stem));
    }
    std::set<std::uint64_t> present;
    for (const WriterFiles& files : folder.contents().writers) {
        if (files.has_index) present.insert(files.id);
    }
    for (const WriterFiles& files : wipes) {
        const auto is_present = [&](std::uint64_t id) { return present.contains(id); };
        if (std::ranges::any_of(wiped_by[files.id], is_present)) continue;
        remove_if_there(folder.index_path(files.stem)).throw_if_error();
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
    write_whole(folder.catalogue_path(), bytes, IfExists::replace);
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
    auto found = std::make_shared<Listing::Impl>();
    found->catalogue = listing.catalogue;
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
