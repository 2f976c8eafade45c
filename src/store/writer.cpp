#include "store/writer.hpp"

#include <unistd.h>

#include <algorithm>
#include <cassert>

#include "base/clock.hpp"
#include "base/random.hpp"
#include "store/gate.hpp"
#include "store/pack.hpp"

namespace hakobi::store {

namespace {

std::string default_writer_name() {
    std::string name = host_name();
    std::ranges::replace_if(
        name, [](char c) { return !is_writer_name(std::string("x") + c); }, '-');
    return name.substr(0, 80) + "." + std::to_string(::getpid());
}

/// The group's name in a rule: its keywords, and the key's values of the levels above the fields.
GroupName group_name(const SplitKey& key) {
    GroupName name;
    for (std::size_t level = 0; level < num_levels; ++level) {
        for (const KeywordRule& rule : key.rule->levels[level]) {
            if (rule.presence != KeywordRule::Presence::removed) name.keywords[level].push_back(rule.keyword);
        }
        if (level < field_level) name.values[level] = key.values[level];
    }
    return name;
}

}  // namespace

void PendingFields::add(const SplitKey& key, std::string_view form, std::int64_t offset, std::int64_t length,
                        std::uint64_t checksum) {
    identity_.assign(reinterpret_cast<const char*>(&key.rule), sizeof key.rule);
    for (std::size_t level = 0; level < field_level; ++level) {
        for (const std::string& value : key.values[level]) identity_.append(value).push_back('\0');
    }
    std::unique_ptr<Group>& group = groups_[identity_];
    if (!group) {
        group = std::make_unique<Group>();
        group->rows.name = group_name(key);
        group->rows.dictionaries.resize(key.values[field_level].size());
        group->codes.resize(key.values[field_level].size());
    }
    const auto code_of = [](Codes& codes, std::vector<std::string>& dictionary, std::string_view value) {
        if (const auto found = codes.find(value); found != codes.end()) return found->second;
        const auto code = static_cast<std::uint32_t>(dictionary.size());
        dictionary.emplace_back(value);
        codes.emplace(value, code);
        return code;
    };
    GroupRows& rows = group->rows;
    for (std::size_t i = 0; i < key.values[field_level].size(); ++i) {
        rows.codes.push_back(code_of(group->codes[i], rows.dictionaries[i], key.values[field_level][i]));
    }
    rows.form_codes.push_back(code_of(group->form_codes, rows.forms, form));
    rows.offsets.push_back(offset);
    rows.lengths.push_back(length);
    rows.checksums.push_back(checksum);
    ++num_fields_;
}

std::vector<std::byte> PendingFields::pack() const {
    Packer packer;
    packer.put(groups_.size());
    for (const auto& [identity, group] : groups_) pack_group(group->rows, packer);
    return std::move(packer.bytes());
}

void PendingFields::clear() {
    groups_.clear();
    num_fields_ = 0;
}

IndexFile::IndexFile(const Folder& folder, std::string_view writer, bool sync, Kind kind)
    : id_(random_bits()), is_ended_(!folder.place().ends_logs()) {
    const std::string name = writer.empty() ? default_writer_name() : std::string(writer);
    if (!is_writer_name(name)) {
        throw Error(ErrorCode::invalid_argument, "a writer cannot be called '" + name +
                                                     "': letters, digits, '.', '_' and '-', at most 100");
    }
    stem_ = name + "." + hexadecimal(id_);
    const std::vector<std::byte> header = encode_header({.id = id_,
                                                         .created_ns = wall_clock_ns(),
                                                         .writer = name,
                                                         .host = host_name(),
                                                         .pid = ::getpid(),
                                                         .process = folder.place().own_process()});
    log_ = folder.place().make_log(stem_, header, sync);
    end_bytes_ = std::ssize(header);

    try {
        Gate::refuse_closed(folder);
        if (kind == Kind::records_of_others) return;
        // If two begin at the same time, each may see the other; at least one does.
        for (const WriterFiles& other : folder.place().contents(Place::Look::logs).writers) {
            const bool is_same = other.stem.substr(0, other.stem.size() - 17) == name && other.id != id_;
            if (is_same && other.has_index && folder.place().is_alive(other)) {
                throw Error(ErrorCode::exists, "a writer called " + name + " is at work in " + folder.path() +
                                                   ": give each writer a name of its own");
            }
        }
    } catch (...) {
        remove();
        throw;
    }
}

IndexFile::~IndexFile() {
    // Whoever finds no end takes its time to believe that the writer is dead, and puts it then.
    if (!is_ended_) (void)log_->append(end_record(), end_bytes_, false);
}

std::vector<std::byte> IndexFile::end_record() const {
    Record end;
    end.kind = RecordKind::end;
    end.sequence = sequence_;
    end.stamp_ns = std::max(wall_clock_ns(), stamp_ns_ + 1);
    return encode_record(end, id_);
}

Status IndexFile::append(std::span<Record> records, bool sync) {
    std::vector<std::byte> bytes;
    assert(!records.empty());
    std::int64_t stamp_ns = stamp_ns_;
    std::uint64_t sequence = sequence_;
    for (Record& record : records) {
        record.sequence = sequence++;
        if (record.stamp_ns == 0) record.stamp_ns = wall_clock_ns();
        record.stamp_ns = stamp_ns = std::max(record.stamp_ns, stamp_ns + 1);
        const std::vector<std::byte> encoded = encode_record(record, id_);
        bytes.insert(bytes.end(), encoded.begin(), encoded.end());
    }
    if (Status status = log_->append(bytes, end_bytes_, sync); !status.ok()) return status;
    end_bytes_ += std::ssize(bytes);
    stamp_ns_ = stamp_ns;
    sequence_ = sequence;
    return {};
}

Status IndexFile::cut() {
    is_ended_ = true;  // by this, or the next who comes
    return log_->cut(end_bytes_, end_record());
}

void IndexFile::remove() {
    is_ended_ = true;
    log_->remove();
}

Writer::Writer(const Folder& folder, const StoreOptions& options) : folder_(folder), options_(options) {}

Writer::~Writer() {
    try {
        close();
    } catch (const Error&) {
    }
}

void Writer::begin() {
    index_ = std::make_unique<IndexFile>(folder_, options_.writer, options_.sync);
    stem_ = index_->stem();
    counters_.index_file = folder_.place().index_path(index_->stem());
    counters_.data_file = folder_.place().data_path(index_->stem());
    auto file = folder_.place().make_data(index_->stem(), options_.direct);
    file.status().throw_if_error();
    data_ = std::make_unique<DataStream>(std::move(file).value(), folder_.place().most_object_bytes(),
                                         options_, counters_);
}

void Writer::require_usable() const {
    if (!maker_.is_this_process())
        throw Error(ErrorCode::invalid_argument,
                    "this process was forked, and the store's writer is its parent's: open the store here");
    if (is_closed_) throw Error(ErrorCode::failed, "the store's writer is closed");
    if (is_failed_)
        throw Error(ErrorCode::failed, "an earlier write to the store failed: its writer can only be closed");
}

void Writer::fail(Status status) {
    if (status.ok()) return;
    is_failed_ = true;
    status.throw_if_error();
}

void Writer::archive(const SplitKey& key, std::string_view form, std::span<const std::byte> bytes) {
    require_usable();
    if (!data_) begin();
    fail(data_->begin_field(std::ssize(bytes), options_.pad_bytes));
    const std::int64_t offset = data_->end_bytes();
    std::uint64_t checksum = 0;
    fail(data_->append(bytes, checksum));
    pending_.add(key, form, offset, std::ssize(bytes), checksum);
    ++counters_.num_fields;
    counters_.num_bytes += std::ssize(bytes);
}

void Writer::end_batch(std::int64_t stamp_ns) {
    if (pending_.num_fields() == 0) return;
    batches_.push_back({.num_fields = pending_.num_fields(),
                        .stamp_ns = stamp_ns,
                        .data_end_bytes = data_->end_bytes(),
                        .payload = pending_.pack()});
    pending_.clear();
}

void Writer::flush() {
    require_usable();
    end_batch(0);
    if (batches_.empty()) return;
    fail(data_->drain());
    const double begin_s = now_s();
    if (options_.sync) {
        fail(data_->file().sync());
        ++counters_.num_data_syncs;
        if (options_.sync_directory && counters_.num_directory_syncs == 0) {
            folder_.place().sync_names();
            ++counters_.num_directory_syncs;
        }
    }
    const double synced_s = now_s();
    const std::int64_t index_before = index_->end_bytes();
    const double append_s = now_s();
    std::vector<Record> records;
    for (const Batch& batch : batches_) {
        records.push_back({.kind = RecordKind::commit,
                           .num_fields = batch.num_fields,
                           .stamp_ns = batch.stamp_ns,
                           .data_end_bytes = batch.data_end_bytes,
                           .payload = batch.payload});
    }
    fail(index_->append(records, options_.sync));
    if (options_.sync) ++counters_.num_index_syncs;
    counters_.sync_s += synced_s - begin_s + now_s() - append_s;
    counters_.index_bytes += index_->end_bytes() - index_before;
    ++counters_.num_flushes;
    // The bytes that `close` cuts off behind it belong to no field.
    assert(batches_.back().data_end_bytes == data_->end_bytes() && data_->end_bytes() >= committed_bytes_);
    committed_bytes_ = data_->end_bytes();
    batches_.clear();
}

void Writer::close() {
    if (!maker_.is_this_process() || std::exchange(is_closed_, true)) return;
    Status status;
    if (data_) {
        const std::int64_t written_bytes = data_->end_bytes();
        Status drained = data_->drain();
        if (!is_failed_) status = std::move(drained);
        // Unflushed bytes belong to no field. A record whose sync failed goes first: its data must outlast
        // it.
        const bool is_cut = !is_failed_ || index_->cut().ok();
        if (is_cut && (written_bytes > committed_bytes_ || is_failed_)) {
            status.keep_first(data_->file().set_size(committed_bytes_));
        }
        status.keep_first(data_->file().close());
        data_.reset();
    }
    if (index_ && index_->num_records() == 0) {
        index_->remove();
        (void)folder_.place().remove_data(index_->stem());
    } else if (index_) {
        status.keep_first(index_->close());
    }
    index_.reset();
    status.throw_if_error();
}

}  // namespace hakobi::store
