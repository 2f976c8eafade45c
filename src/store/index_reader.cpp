#include "store/index_reader.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>

#include "store/consolidated.hpp"

namespace hakobi::store {

namespace {

/// A folder's time of change may stand still for this long while it changes: the kernel's clock tick, twice.
constexpr std::int64_t mtime_grain_ns = 20'000'000;

std::shared_ptr<Catalogue> empty_catalogue(const Folder& folder) {
    auto catalogue = std::make_shared<Catalogue>();
    catalogue->folder = folder.path();
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
    if (num_sorted_ == catalogue_->num_rows() && sorted_ == catalogue_) return;
    const std::unique_lock lock(catalogue_->mutex);
    catalogue_->sort();
    num_sorted_ = catalogue_->num_rows();
    sorted_ = catalogue_;
}

std::vector<std::string> IndexReader::warnings() const {
    const std::scoped_lock lock(mutex_);
    return {warnings_.begin(), warnings_.end()};
}

void IndexReader::warn(std::string text) {
    warnings_.insert(std::move(text));
}

bool IndexReader::folder_changed() {
    struct stat info {};
    if (::stat(folder_.path().c_str(), &info) != 0) return true;
    const std::int64_t mtime_ns = info.st_mtim.tv_sec * 1'000'000'000LL + info.st_mtim.tv_nsec;
    const bool is_same = mtime_ns == folder_mtime_ns_;
    // Kept only when it is old enough that a later change must differ.
    folder_mtime_ns_ = wall_clock_ns() - mtime_ns > mtime_grain_ns ? mtime_ns : 0;
    return !is_same;
}

/// False when what was read is no longer right: fields were wiped.
bool IndexReader::update() {
    std::vector<Tail> tails;
    for (auto& [stem, source] : sources_) source.is_read = false;
    if (!(folder_changed() ? read_folder(tails) : read_tails(tails))) return false;
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
        folder_mtime_ns_ = 0;
        (void)folder_changed();
        if (base == Base::catalogue && folder_.contents().has_catalogue) {
            const Status status = read_consolidated(folder_, *catalogue_);
            if (!status.ok()) {
                warn(status.text());
                catalogue_ = empty_catalogue(folder_);
            }
        }
        for (const DataFile& file : catalogue_->files) listed_.insert(file.stem);
        std::vector<Tail> tails;
        // Otherwise something was wiped since the catalogue was consolidated, or between two looks.
        if (read_folder(tails) && apply(tails)) return;
    }
}

/// Reads what all indexes in the folder have had added, those too that nobody has read yet. An index may have come and
/// another one gone while the folder was listed: it is listed again until there is no name that was not read before. Then the
/// record of every wipe is known for which an index is missed. False where one is gone that was listed.
bool IndexReader::read_folder(std::vector<Tail>& tails) {
    for (;;) {
        bool has_new = false;
        std::set<std::string> present;
        for (const WriterFiles& files : folder_.contents().writers) {
            if (!files.has_index) continue;
            present.insert(files.stem);
            if (sources_.contains(files.stem) || passed_over_.contains(files.stem)) continue;
            if (!begin_source(files)) return false;
            has_new = true;
        }
        if (!std::ranges::includes(present, listed_)) return false;
        listed_ = std::move(present);
        if (!read_tails(tails)) return false;
        if (!has_new) return true;
    }
}

/// Reads them of every source that has not been read in this look.
bool IndexReader::read_tails(std::vector<Tail>& tails) {
    for (auto& [stem, source] : sources_) {
        if (source.is_read || !source.file) continue;
        if (!read_tail(source, stem, tails)) return false;
        source.is_read = true;
        if (source.is_final) source.file.reset();
    }
    return true;
}

/// False where the index is gone.
bool IndexReader::begin_source(const WriterFiles& files) {
    const std::string path = folder_.index_path(files.stem);
    auto opened = storage::open_file(path, {});
    if (!opened.ok()) {
        if (opened.status().code() == ErrorCode::not_found) return false;
        opened.status().throw_if_error();
    }
    Source source;
    source.file = std::move(opened).value();
    // Asked before reading: a writer that ends in between has written all of it by then.
    source.is_final = !is_writer_alive(folder_, files);
    const auto known = std::ranges::find(catalogue_->files, files.stem, &DataFile::stem);
    if (known != catalogue_->files.end()) {
        source.number = static_cast<std::uint32_t>(known - catalogue_->files.begin());
        source.end_bytes = known->index_bytes;
    } else {
        std::array<std::byte, 4096> head{};
        const Result<std::int64_t> length = source.file->read_at(head, 0);
        length.status().throw_if_error();
        const auto header = decode_header(std::span(head).first(static_cast<std::size_t>(length.value())));
        if (!header.ok()) {
            if (header.status().code() == ErrorCode::unsupported) {
                throw Error(ErrorCode::unsupported, path + ": " + header.status().text());
            }
            warn(path + ": " + header.status().text() + ": its fields are not listed");
            passed_over_.insert(files.stem);
            return true;
        }
        if (header.value().header.id != files.id) {
            warn(path + " belongs to another writer than its name says: its fields are not listed");
            passed_over_.insert(files.stem);
            return true;
        }
        source.number = static_cast<std::uint32_t>(catalogue_->files.size());
        source.end_bytes = header.value().length_bytes;
        catalogue_->files.push_back({files.stem, files.id, source.end_bytes, 0, 0});
    }
    sources_[files.stem] = std::move(source);
    return true;
}

/// What an index has had added. False where it has lost something.
bool IndexReader::read_tail(Source& source, const std::string& stem, std::vector<Tail>& tails) {
    const Result<std::int64_t> size = source.file->size_bytes();
    size.status().throw_if_error();
    if (size.value() < source.end_bytes) return false;
    if (size.value() == source.seen_bytes || size.value() == source.end_bytes) return true;
    Tail tail{stem, std::vector<std::byte>(static_cast<std::size_t>(size.value() - source.end_bytes))};
    const Result<std::int64_t> read = source.file->read_at(tail.bytes, source.end_bytes);
    read.status().throw_if_error();
    tail.bytes.resize(static_cast<std::size_t>(read.value()));
    source.seen_bytes = size.value();
    tails.push_back(std::move(tail));
    return true;
}

/// Wipes first, whichever index they stand in; false when they concern rows that are in the catalogue already.
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
        part.scan = scan_log(tail.bytes, part.source->end_bytes, file.id,
                             [&](const Record& record) { part.records.push_back(record); });
        for (const Record& record : part.records) {
            if (record.kind == RecordKind::commit) continue;
            if (record.kind != RecordKind::wipe) {
                throw Error(ErrorCode::unsupported,
                            folder_.index_path(tail.stem) + ": written by a newer version");
            }
            auto wipes = decode_wipe(record.payload);
            if (!wipes.ok()) {
                warn(folder_.index_path(tail.stem) + ": " + wipes.status().text());
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
        const std::string path = folder_.index_path(tails[i].stem);
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
