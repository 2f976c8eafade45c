#include "store/index_reader.hpp"

#include <algorithm>

#include "base/parallel.hpp"
#include "store/consolidated.hpp"

namespace hakobi::store {

namespace {

std::shared_ptr<Catalogue> empty_catalogue(const Folder& folder) {
    auto catalogue = std::make_shared<Catalogue>();
    catalogue->place = folder.shared_place();
    for (const Rule& rule : folder.schema().rules()) {
        std::vector<std::string>& keywords = catalogue->rules.emplace_back();
        for (const auto& level : rule.levels) {
            for (const KeywordRule& keyword : level) {
                if (keyword.presence != KeywordRule::Presence::removed)
                    keywords.push_back(keyword.keyword.name);
            }
        }
    }
    return catalogue;
}

}  // namespace

std::shared_ptr<const Catalogue> IndexReader::refreshed() {
    const std::scoped_lock lock(mutex_);
    try {
        if (!catalogue_) {
            rebuild(Base::catalogue);
        } else if (!update()) {
            rebuild(Base::indexes);
        }
    } catch (...) {
        // It has a part of what was read.
        catalogue_.reset();
        throw;
    }
    sort();
    return catalogue_;
}

std::shared_ptr<const Catalogue> IndexReader::reread() {
    const std::scoped_lock lock(mutex_);
    rebuild(Base::indexes);
    sort();
    return catalogue_;
}

void IndexReader::sort() {
    if (sorted_.num_rows == catalogue_->num_rows() && sorted_.catalogue == catalogue_) return;
    const std::unique_lock lock(catalogue_->mutex);
    catalogue_->sort();
    sorted_ = {catalogue_, catalogue_->num_rows()};
}

FolderContents IndexReader::look() const {
    return folder_.place().contents(Place::Look::logs);
}

int IndexReader::num_threads() const {
    return folder_.place().is_folder() ? 1 : 2;
}

std::vector<std::string> IndexReader::warnings() const {
    const std::scoped_lock lock(mutex_);
    return {warnings_.begin(), warnings_.end()};
}

void IndexReader::warn(std::string text) {
    warnings_.insert(std::move(text));
}

/// False when what was read is no longer right: fields were wiped.
bool IndexReader::update() {
    std::vector<Tail> tails;
    for (auto& [stem, source] : sources_) source.is_read = false;
    if (!(folder_.place().has_changed(place_stamp_) ? read_folder(look(), tails) : read_tails(tails)))
        return false;
    return apply(tails);
}

void IndexReader::rebuild(Base base) {
    for (;; base = Base::indexes) {
        catalogue_ = empty_catalogue(folder_);
        sources_.clear();
        passed_over_.clear();
        listed_.clear();
        wiped_.clear();
        wiped_files_.clear();
        warnings_.clear();
        place_stamp_ = 0;
        (void)folder_.place().has_changed(place_stamp_);
        // At once, on a server. A look from before the catalogue may lack an index that it has: then the
        // indexes are read.
        FolderContents contents;
        Status status;
        for_each_parallel(2, num_threads(), "hakobi-look", [&](std::size_t part) -> Status {
            if (part == 0 && base == Base::catalogue) status = read_consolidated(folder_, *catalogue_);
            if (part == 1) contents = look();
            return {};
        }).throw_if_error();
        if (!status.ok() && status.code() != ErrorCode::not_found) warn(status.text());
        if (!status.ok()) catalogue_ = empty_catalogue(folder_);
        for (const DataFile& file : catalogue_->files) listed_.insert(file.stem);
        std::vector<Tail> tails;
        // Otherwise something was wiped since the catalogue was consolidated, or between two looks.
        if (read_folder(std::move(contents), tails) && apply(tails)) return;
    }
}

/// Takes what a look at the folder shows: whether there is an index that was not read before, or one that the
/// look before showed is missing.
IndexReader::Names IndexReader::take_names(FolderContents contents) {
    bool has_new = false;
    std::set<std::string> present;
    for (WriterFiles& files : contents.writers) {
        if (!files.has_index || gone_.contains(files.stem)) continue;
        present.insert(files.stem);
        if (passed_over_.contains(files.stem)) continue;
        if (const auto known = sources_.find(files.stem); known != sources_.end()) {
            Source& source = known->second;
            // An object that was put since: what this look misses may have been removed by the record in it.
            if (!files.log_offsets.empty() && files.log_offsets.back() >= source.seen_bytes)
                source.is_read = false;
            source.files = std::move(files);
            continue;
        }
        begin_source(files);
        has_new = true;
    }
    if (!std::ranges::includes(present, listed_)) return Names::one_missing;
    listed_ = std::move(present);
    return has_new ? Names::some_new : Names::known;
}

/// Reads what all indexes in the folder have had added, those too that nobody has read yet. An index may have
/// come and another one gone while the folder was listed: it is listed again until there is no name that was
/// not read before. Then the record of every wipe is known for which an index is missed. False where one is
/// gone that was listed.
bool IndexReader::read_folder(FolderContents contents, std::vector<Tail>& tails) {
    for (;;) {
        const Names names = take_names(std::move(contents));
        if (names == Names::one_missing) return false;
        if (names == Names::known) return read_tails(tails);
        // The next look need only begin after this one has ended: a server is asked while the logs are read.
        bool is_whole = false;
        for_each_parallel(2, num_threads(), "hakobi-look", [&](std::size_t part) -> Status {
            if (part == 0) is_whole = read_tails(tails);
            if (part == 1) contents = look();
            return {};
        }).throw_if_error();
        if (!is_whole) return false;
    }
}

/// Reads what every log has had added that has not been read in this look. False where one is gone, or has
/// lost something.
bool IndexReader::read_tails(std::vector<Tail>& tails) {
    std::vector<LogTail> logs;
    std::vector<Source*> sources;
    for (auto& [stem, source] : sources_) {
        if (source.is_read || source.is_final) continue;
        // Asked before reading, once: a writer that ends in between has written all of it by then.
        const bool is_first = source.seen_bytes == 0 && !folder_.place().ends_logs();
        source.is_final = is_first && !folder_.place().is_alive(source.files);
        logs.push_back({.files = &source.files,
                        .begin_bytes = source.end_bytes,
                        .file = &source.file,
                        .is_latest = false,
                        .size_bytes = source.seen_bytes});
        sources.push_back(&source);
    }
    folder_.place().read_logs(logs);
    for (std::size_t i = 0; i < logs.size(); ++i) {
        Source& source = *sources[i];
        logs[i].status.throw_if_error();
        if (logs[i].is_gone) {
            if (!folder_.place().is_folder()) gone_.insert(source.files.stem);
            return false;
        }
        source.is_read = true;
        source.seen_bytes = logs[i].size_bytes;
        if (source.is_final) source.file.reset();
        if (!source.is_known && !begin_log(source, logs[i].bytes)) continue;
        if (logs[i].bytes.empty()) continue;
        std::erase_if(tails, [&](const Tail& tail) { return tail.stem == source.files.stem; });
        tails.push_back({source.files.stem, std::move(logs[i].bytes)});
    }
    std::erase_if(sources_, [&](const auto& source) { return passed_over_.contains(source.first); });
    return true;
}

void IndexReader::begin_source(const WriterFiles& files) {
    Source& source = sources_[files.stem];
    source.files = files;
    const auto known = std::ranges::find(catalogue_->files, files.stem, &DataFile::stem);
    if (known == catalogue_->files.end()) return;
    source.is_known = true;
    source.number = static_cast<std::uint32_t>(known - catalogue_->files.begin());
    source.end_bytes = known->index_bytes;
}

/// Reads a log's header, from its beginning. False where it is none: the log is passed over.
bool IndexReader::begin_log(Source& source, std::span<const std::byte> bytes) {
    const std::string path = folder_.place().index_path(source.files.stem);
    const auto header = decode_header(bytes);
    if (header.status().code() == ErrorCode::unsupported) {
        throw Error(ErrorCode::unsupported, path + ": " + header.status().text());
    }
    const bool is_own = header.ok() && header.value().header.id == source.files.id;
    if (!is_own) {
        warn(header.ok() ? path + " belongs to another writer than its name says: its fields are not listed"
                         : path + ": " + header.status().text() + ": its fields are not listed");
        passed_over_.insert(source.files.stem);
        return false;
    }
    source.is_known = true;
    source.number = static_cast<std::uint32_t>(catalogue_->files.size());
    catalogue_->files.push_back({source.files.stem, source.files.id, header.value().length_bytes, 0, 0});
    return true;
}

/// Wipes first, whichever index they stand in; false when they concern rows that are in the catalogue
/// already.
bool IndexReader::apply(std::vector<Tail>& tails) {
    if (tails.empty()) return true;
    struct Part {
        Source* source;
        LogScan scan;
        std::vector<Record> records;
    };
    std::vector<Part> parts;
    bool has_wipes = false;
    for (const Tail& tail : tails) {
        Part part{&sources_.at(tail.stem), {}, {}};
        DataFile& file = catalogue_->files[part.source->number];
        // The header's, where the log is new.
        const std::int64_t begin_bytes = std::max(part.source->end_bytes, file.index_bytes);
        part.scan = scan_log(
            std::span(tail.bytes).subspan(static_cast<std::size_t>(begin_bytes - part.source->end_bytes)),
            begin_bytes, file.id, [&](const Record& record) { part.records.push_back(record); });
        for (const Record& record : part.records) {
            if (record.kind == RecordKind::commit || record.kind == RecordKind::end) continue;
            if (record.kind != RecordKind::wipe) {
                throw Error(ErrorCode::unsupported,
                            folder_.place().index_path(tail.stem) + ": written by a newer version");
            }
            auto wipes = decode_wipe(record.payload);
            if (!wipes.ok()) {
                warn(folder_.place().index_path(tail.stem) + ": " + wipes.status().text());
                continue;
            }
            has_wipes = true;
            for (const Wiped& wiped : wipes.value()) {
                if (wiped.offsets.empty()) wiped_files_.insert(wiped.id);
                wiped_[wiped.id].insert(wiped.offsets.begin(), wiped.offsets.end());
            }
        }
        parts.push_back(std::move(part));
    }
    if (has_wipes && catalogue_->num_rows() > 0) return false;
    static const std::set<std::int64_t> none;
    const std::unique_lock lock(catalogue_->mutex);
    for (std::size_t i = 0; i < parts.size(); ++i) {
        Part& part = parts[i];
        DataFile& file = catalogue_->files[part.source->number];
        const std::string path = folder_.place().index_path(tails[i].stem);
        for (const std::int64_t offset : part.scan.damaged) {
            warn(path + ": damaged at byte " + std::to_string(offset) +
                 ": the fields of one flush or more are lost; see 'hakobi store check'");
        }
        const auto wiped = wiped_.find(file.id);
        for (const Record& record : part.records) {
            if (record.kind != RecordKind::commit) continue;
            auto groups = decode_commit(record.payload);
            if (!groups.ok()) {
                warn(path + ": " + groups.status().text());
                continue;
            }
            ++file.num_records;
            file.data_end_bytes = record.data_end_bytes;
            if (wiped_files_.contains(file.id)) continue;
            for (const GroupRows& rows : groups.value()) {
                add_rows(*catalogue_, rows, part.source->number, record.stamp_ns,
                         wiped != wiped_.end() ? wiped->second : none);
            }
        }
        part.source->end_bytes = file.index_bytes = part.scan.end_bytes;
    }
    return true;
}

}  // namespace hakobi::store
