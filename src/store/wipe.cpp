#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <shared_mutex>

#include "base/descriptor.hpp"
#include "storage/file.hpp"
#include "store/consolidated.hpp"
#include "store/index_reader.hpp"
#include "store/listing.hpp"
#include "store/maintenance.hpp"
#include "store/writer.hpp"

namespace hakobi::store {

namespace {

constexpr std::int64_t block_bytes = 4096;

/// Gives the blocks back that lie wholly within removed fields. Where the file system cannot, the space stays taken until
/// all fields of the file are gone.
void give_back(const std::string& path, const std::vector<std::pair<std::int64_t, std::int64_t>>& extents) {
    const Descriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (file.get() < 0) return;
    for (std::size_t i = 0; i < extents.size();) {
        const std::int64_t begin = extents[i].first;
        std::int64_t end = begin + extents[i].second;
        // Padding between fields goes with them.
        while (++i < extents.size() && extents[i].first - end < block_bytes)
            end = extents[i].first + extents[i].second;
        const std::int64_t first = (begin + block_bytes - 1) / block_bytes * block_bytes;
        const std::int64_t last = end / block_bytes * block_bytes;
        if (last > first)
            (void)::fallocate(file.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, first, last - first);
    }
}

}  // namespace

WipePlan plan_wipe(const Folder& folder, const Listing& fields) {
    const Listing::Impl& listing = fields.impl();
    const Catalogue& catalogue = *listing.catalogue;
    const std::shared_lock lock(catalogue.mutex);
    std::vector<std::int64_t> num_rows(catalogue.files.size());
    for (const auto& group : catalogue.groups) {
        for (const std::uint32_t file : group->rows.files) ++num_rows[file];
    }
    WipePlan plan;
    std::map<std::uint32_t, std::vector<std::int64_t>> offsets;
    for (const RowReference& reference : listing.rows) {
        const Columns& rows = catalogue.groups[reference.group]->rows;
        offsets[rows.files[reference.row]].push_back(rows.offsets[reference.row]);
        ++plan.num_fields;
        plan.num_bytes += rows.lengths[reference.row];
    }
    for (auto& [file, list] : offsets) {
        const DataFile& data = catalogue.files[file];
        const WriterFiles files{data.stem, data.id, true, true};
        if (std::ssize(list) == num_rows[file] && !is_writer_alive(folder, files)) {
            plan.whole_files.push_back(data.stem);
            continue;
        }
        std::ranges::sort(list);
        plan.parts.push_back({data.id, std::move(list)});
        plan.part_stems.push_back(data.stem);
    }
    return plan;
}

void wipe(const Folder& folder, const WipePlan& plan) {
    // What is to be given back, before the record makes readers forget it.
    std::map<std::uint64_t, std::vector<std::pair<std::int64_t, std::int64_t>>> extents;
    {
        IndexReader index(folder);
        const auto catalogue = index.refreshed();
        const std::shared_lock lock(catalogue->mutex);
        std::map<std::uint64_t, const Wiped*> parts;
        for (const Wiped& part : plan.parts) parts[part.id] = &part;
        for (const auto& group : catalogue->groups) {
            for (std::size_t row = 0; row < group->rows.num_rows(); ++row) {
                const std::uint64_t id = catalogue->files[group->rows.files[row]].id;
                const auto part = parts.find(id);
                if (part != parts.end() &&
                    std::ranges::binary_search(part->second->offsets, group->rows.offsets[row])) {
                    extents[id].emplace_back(group->rows.offsets[row], group->rows.lengths[row]);
                }
            }
        }
    }
    if (!plan.parts.empty()) {
        IndexFile index(folder, "wipe", true, IndexFile::Kind::records_of_others);
        const std::vector<std::byte> payload = encode_wipe(plan.parts);
        Record record;
        record.kind = RecordKind::wipe;
        record.payload = payload;
        index.append(record, true).throw_if_error();
        sync_folder(folder.path());
    }
    for (const std::string& stem : plan.whole_files) {
        storage::remove_file(folder.index_path(stem)).throw_if_error();
    }
    if (!plan.whole_files.empty()) sync_folder(folder.path());
    for (const std::string& stem : plan.whole_files) {
        storage::remove_file(folder.data_path(stem)).throw_if_error();
    }
    for (std::size_t i = 0; i < plan.parts.size(); ++i) {
        auto& list = extents[plan.parts[i].id];
        std::ranges::sort(list);
        give_back(folder.data_path(plan.part_stems[i]), list);
    }
    if (folder.contents().has_catalogue) consolidate(folder);
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
