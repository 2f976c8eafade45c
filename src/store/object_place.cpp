// A store on object storage: the objects of format.hpp, O1 to O8 there.
#include <algorithm>
#include <cassert>
#include <charconv>
#include <fstream>
#include <map>
#include <set>

#include "base/parallel.hpp"
#include "base/process.hpp"
#include "base/random.hpp"
#include "storage/objects.hpp"
#include "store/place.hpp"
#include "store/segments.hpp"

namespace hakobi::store {

namespace {

using storage::ObjectsPtr;

constexpr std::string_view index_folder = "index/", gate_folder = "moving/";
constexpr std::int64_t first_read_bytes = 64 << 10;  // most records are smaller: one request reads one
constexpr std::size_t boot_id_bytes = 36;
constexpr std::int64_t segment_mask = segment_span_bytes - 1;

std::int64_t number_of(std::string_view text) {
    std::uint64_t number = 0;
    const auto [stop, problem] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
    return problem == std::errc() && stop == text.data() + text.size() ? static_cast<std::int64_t>(number)
                                                                       : -1;
}

std::string log_folder(std::string_view stem) {
    return std::string(index_folder) + std::string(stem) + "/";
}
std::string log_name(std::string_view stem, std::int64_t offset_bytes) {
    return log_folder(stem) + hexadecimal(static_cast<std::uint64_t>(offset_bytes));
}
/// This process: what tells it from every other one, also a later one of the same number, where it can be
/// looked up.
std::string process_text() {
    std::string boot;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
    const ProcessId own = hakobi::own_process();
    if (boot.size() != boot_id_bytes || own.pid == 0) return "";
    return boot + " " + std::to_string(own.pid) + " " + std::to_string(own.start_ticks) + " " +
           std::to_string(own.pid_namespace);
}

/// Whether that process has ended for certain.
bool is_ended_process(std::string_view text) {
    const std::string own = process_text();
    const auto boot = std::string_view(own).substr(0, std::min(own.size(), boot_id_bytes + 1));
    if (own.empty() || !text.starts_with(boot)) return false;
    ProcessId process;
    const char* at = text.data() + boot.size();
    const char* const end = text.data() + text.size();
    for (std::int64_t* number : {&process.pid, &process.start_ticks, &process.pid_namespace}) {
        const auto [stop, problem] = std::from_chars(at, end, *number);
        if (problem != std::errc()) return false;
        at = stop < end ? stop + 1 : stop;
    }
    return has_ended(process);
}

Result<std::vector<std::byte>> get_whole(storage::Objects& objects, const std::string& name,
                                         std::int64_t likely_bytes = 0) {
    // One byte more than there is tells that it is all.
    std::vector<std::byte> bytes(static_cast<std::size_t>(std::max(first_read_bytes, likely_bytes + 1)));
    for (std::size_t filled = 0;;) {
        const Result<std::int64_t> length =
            objects.get(name, static_cast<std::int64_t>(filled), std::span(bytes).subspan(filled));
        if (!length.ok()) return length.status();
        filled += static_cast<std::size_t>(length.value());
        if (filled < bytes.size()) {
            bytes.resize(filled);
            return bytes;
        }
        bytes.resize(2 * bytes.size());
    }
}

/// Whether the last record of these is one that ends its log.
bool ends_log(std::span<const std::byte> records, std::uint64_t id) {
    bool is_end = false;
    (void)scan_log(records, 0, id, [&](const Record& record) { is_end = record.kind == RecordKind::end; });
    return is_end;
}

class ObjectLog final : public OwnLog {
  public:
    ObjectLog(ObjectsPtr objects, std::string stem, std::span<const std::byte> header)
        : objects_(std::move(objects)), stem_(std::move(stem)) {
        objects_->put(log_name(stem_, 0), header, {.only_if_absent = true}).throw_if_error();
    }

    Status append(std::span<const std::byte> bytes, std::int64_t end_bytes, bool /*sync*/) override {
        const std::string name = log_name(stem_, end_bytes);
        Status status = objects_->put(name, bytes, {.only_if_absent = true});
        appended_.assign(bytes.begin(), bytes.end());
        if (status.ok()) return look_for_header();
        if (status.code() != ErrorCode::exists) return status;
        // It may be ours: the answer to an earlier try was lost.
        const auto there = get_whole(*objects_, name, std::ssize(bytes));
        if (!there.ok()) return there.status();
        return there.value() == appended_ ? look_for_header() : ended();
    }

    Status cut(std::int64_t end_bytes, std::span<const std::byte> end) override {
        const std::string name = log_name(stem_, end_bytes);
        Status status = objects_->put(name, end, {.only_if_absent = true});
        if (status.code() != ErrorCode::exists) return status;
        const auto there = get_whole(*objects_, name, std::ssize(appended_));
        if (!there.ok()) return there.status();
        if (there.value() != appended_) return {};  // others have ended it
        (void)objects_->put(log_name(stem_, end_bytes + std::ssize(appended_)), end,
                            {.only_if_absent = true});
        return {ErrorCode::io,
                objects_->root() + "/" + name + ": a flush that failed was carried out after all"};
    }

    void remove() override { (void)objects_->remove(log_name(stem_, 0)); }
    Status close() override { return {}; }

  private:
    [[nodiscard]] Status look_for_header() const {
        const auto header = objects_->facts(log_name(stem_, 0));
        return header.status().code() == ErrorCode::not_found ? ended() : header.status();
    }
    [[nodiscard]] Status ended() const {
        return {ErrorCode::exists,
                objects_->root() + ": the writer " + stem_ +
                    " was ended by a recover or a move, to which it seemed dead: what it has not "
                    "flushed is not in the store; open another one"};
    }

    ObjectsPtr objects_;
    std::string stem_;
    std::vector<std::byte> appended_;  // by the latest append
};

/// Its name never comes back: who removes a dead one meets no other.
class ObjectGate final : public HeldGate {
  public:
    ObjectGate(ObjectsPtr objects, std::string name) : objects_(std::move(objects)), name_(std::move(name)) {}
    ~ObjectGate() override { (void)objects_->remove(name_); }
    ObjectGate(const ObjectGate&) = delete;
    ObjectGate& operator=(const ObjectGate&) = delete;
    void follow(const std::string& /*path*/) override { assert(false && "objects are not renamed"); }

  private:
    ObjectsPtr objects_;
    std::string name_;
};

class ObjectPlace final : public Place {
  public:
    ObjectPlace(const std::string& path, ObjectsPtr objects) : Place(path), objects_(std::move(objects)) {
        objects_->keep_names(std::string(index_folder), std::string(marker_name));
    }

    [[nodiscard]] bool is_folder() const override { return false; }

    [[nodiscard]] Result<std::optional<std::int64_t>> size_of(std::string_view name) override {
        const auto facts = objects_->facts(std::string(name));
        if (facts.ok()) return std::optional(facts.value().size_bytes);
        if (facts.status().code() == ErrorCode::not_found) return std::optional<std::int64_t>();
        return facts.status();
    }
    [[nodiscard]] Result<std::vector<std::byte>> read(std::string_view name) override {
        return get_whole(*objects_, std::string(name));
    }
    Status write(std::string_view name, std::span<const std::byte> bytes, IfExists if_exists) override {
        const bool keeps = if_exists == IfExists::keep;
        Status status = objects_->put(std::string(name), bytes, {.only_if_absent = keeps});
        return keeps && status.code() == ErrorCode::exists ? Status() : status;
    }
    Status remove(std::string_view name) override { return objects_->remove(std::string(name)); }

    [[nodiscard]] Result<std::string> in_the_way() override {
        const auto listing = objects_->list({.max_entries = 3});
        if (!listing.ok()) return listing.status();
        for (const storage::ListedObject& object : listing.value().objects) {
            if (object.name != schema_name && object.name != marker_name) return object.name;
        }
        return std::string();
    }
    Status remove_all() override {
        std::vector<std::string> headers, rest;
        for (const storage::ListedObject& object : list("")) {
            if (object.name.starts_with(gate_folder)) continue;
            const bool is_header =
                object.name.starts_with(index_folder) && object.name.ends_with("/" + hexadecimal(0));
            (is_header ? headers : rest).push_back(object.name);
        }
        Status status = remove_each(headers);  // O7
        if (status.ok()) status = remove_each(rest);
        return status;
    }

    [[nodiscard]] FolderContents contents(Look look) override {
        FolderContents contents;
        std::map<std::string, WriterFiles> writers;
        for (const storage::ListedObject& object : list(look == Look::logs ? index_folder : "")) {
            const std::string_view name = object.name;
            if (name == catalogue_name) contents.has_catalogue = true;
            const bool is_index = name.starts_with(index_folder), is_data = name.starts_with(data_folder);
            if (!is_index && !is_data) continue;
            const std::size_t begin = is_index ? index_folder.size() : data_folder.size();
            const std::size_t slash = name.find('/', begin);
            if (slash == std::string_view::npos) continue;
            const std::string stem(name.substr(begin, slash - begin));
            const auto id = id_of_stem(stem);
            const std::int64_t offset = number_of(name.substr(slash + 1));
            if (!id || offset < 0) continue;
            WriterFiles& files = writers[stem];
            files.stem = stem;
            files.id = *id;
            if (is_data) files.has_data = true;
            if (is_index) files.log_offsets.push_back(offset);
            if (is_index && offset == 0) files.has_index = true;
        }
        for (auto& [stem, files] : writers) {
            std::ranges::sort(files.log_offsets);
            if (files.has_index || look == Look::everything) contents.writers.push_back(std::move(files));
        }
        return contents;
    }
    [[nodiscard]] bool has_changed(std::int64_t& /*stamp*/) override { return true; }
    void sync_names() override {}
    std::optional<std::int64_t> remove_leftover(const std::string& /*name*/) override { return {}; }

    [[nodiscard]] std::string index_path(std::string_view stem) const override {
        return path() + "/" + std::string(index_folder) + std::string(stem);
    }
    [[nodiscard]] std::unique_ptr<OwnLog> make_log(const std::string& stem, std::span<const std::byte> header,
                                                   bool /*sync*/) override {
        return std::make_unique<ObjectLog>(objects_, stem, header);
    }
    [[nodiscard]] std::string own_process() const override { return process_text(); }
    [[nodiscard]] bool ends_logs() const override { return true; }
    void read_logs(std::span<LogTail> tails) override;
    [[nodiscard]] bool has_log(const std::string& stem) override {
        const auto size = size_of(log_name(stem, 0));
        size.status().throw_if_error();
        return size.value().has_value();
    }
    /// No record is unfinished here; what is damaged stays, since its place must not be taken again.
    Status cut_log(const std::string& /*stem*/, std::int64_t /*bytes*/) override { return {}; }
    Status remove_log(const std::string& stem) override {
        // O7. Without its header it is no log.
        Status status = objects_->remove(log_name(stem, 0));
        if (status.ok()) status = remove_from(log_folder(stem), 0, 1);
        return status;
    }
    [[nodiscard]] bool is_alive(const WriterFiles& files) override {
        std::int64_t end_bytes = 0;
        return look_at(files, false, end_bytes) == Life::alive;
    }
    [[nodiscard]] bool is_over(const WriterFiles& files) override {
        std::int64_t end_bytes = 0;
        const Life life = look_at(files, true, end_bytes);
        if (life != Life::seems_dead) return life == Life::over;
        Record end;
        end.kind = RecordKind::end;
        end.stamp_ns = wall_clock_ns();
        const Status status = objects_->put(log_name(files.stem, end_bytes), encode_record(end, files.id),
                                            {.only_if_absent = true});
        if (status.code() == ErrorCode::exists) return false;  // it has flushed, or is being ended by others
        status.throw_if_error();
        return true;
    }

    [[nodiscard]] std::string data_path(std::string_view stem) const override {
        return path() + "/" + std::string(data_folder) + std::string(stem);
    }
    [[nodiscard]] std::pair<std::string, std::int64_t> data_place(std::string_view stem,
                                                                  std::int64_t offset_bytes) const override {
        return {path() + "/" + segment_name(stem, offset_bytes), offset_bytes & segment_mask};
    }
    [[nodiscard]] std::int64_t most_object_bytes() const override {
        return std::min(objects_->abilities().max_object_bytes, segment_span_bytes);
    }
    [[nodiscard]] Result<storage::FilePtr> make_data(const std::string& stem, bool /*direct*/) override {
        return segments_to_write(objects_, stem);
    }
    [[nodiscard]] Result<storage::FilePtr> open_data(const std::string& path) override {
        assert(path.starts_with(this->path() + "/"));
        return segment_to_read(objects_, path.substr(this->path().size() + 1));
    }
    [[nodiscard]] std::vector<Extent> data_extents(const std::string& stem) override {
        const std::string folder = segments_folder(stem);
        std::vector<Extent> extents;
        std::vector<std::string> unsized;
        for (const storage::ListedObject& object : list(folder)) {
            const std::int64_t number = number_of(std::string_view(object.name).substr(folder.size()));
            if (number >= 0) extents.push_back({number * segment_span_bytes, object.facts.size_bytes});
        }
        for_each_parallel(extents.size(), num_threads(), "hakobi-facts", [&](std::size_t i) -> Status {
            if (extents[i].length_bytes >= 0) return {};
            const auto facts = objects_->facts(segment_name(stem, extents[i].offset_bytes));
            if (!facts.ok() && facts.status().code() != ErrorCode::not_found) return facts.status();
            extents[i].length_bytes = facts.ok() ? facts.value().size_bytes : 0;
            return {};
        }).throw_if_error();
        std::ranges::sort(extents, {}, &Extent::offset_bytes);
        return extents;
    }
    Status cut_data(const std::string& stem, std::int64_t bytes) override {
        return remove_from(segments_folder(stem), bytes, segment_span_bytes);
    }
    Status remove_data(const std::string& stem) override { return cut_data(stem, 0); }

    /// Objects in which no field is left.
    void give_back(const std::string& stem, std::span<const Extent> removed,
                   const std::function<bool(std::int64_t, std::int64_t)>& holds_fields) override {
        std::set<std::int64_t> segments;
        for (const Extent& extent : removed) segments.insert(extent.offset_bytes & ~segment_mask);
        std::vector<std::string> names;
        for (const std::int64_t at : segments) {
            if (!holds_fields(at, at + segment_span_bytes)) names.push_back(segment_name(stem, at));
        }
        (void)remove_each(names);
    }

    [[nodiscard]] std::unique_ptr<HeldGate> hold_gate(const std::string& maker) override {
        if (const auto held = held_gate()) refuse_closed(path(), held->maker, held->path);
        const std::string name = std::string(gate_folder) + hexadecimal(random_bits());
        const std::string text = maker + "\n" + process_text();
        objects_->put(name, {reinterpret_cast<const std::byte*>(text.data()), text.size()}).throw_if_error();
        auto gate = std::make_unique<ObjectGate>(objects_, name);
        // If two come at the same time, each may see the other; at least one does.
        for (const auto& [other, info] : gates(true)) {
            if (other != name) refuse_closed(path(), info.maker, info.path);
        }
        return gate;
    }
    [[nodiscard]] std::optional<GateInfo> held_gate() override {
        const auto all = gates(true);
        if (all.empty()) return {};
        return all.begin()->second;
    }
    bool remove_dead_gates() override {
        bool has_one = false;
        for (const auto& [name, info] : gates(false)) has_one = objects_->remove(name).ok() || has_one;
        return has_one;
    }

  private:
    enum class Life { alive, seems_dead, over };

    [[nodiscard]] int num_threads() const { return std::max(1, objects_->abilities().num_requests); }

    [[nodiscard]] std::vector<storage::ListedObject> list(std::string_view prefix) {
        auto listing = objects_->list({.prefix = std::string(prefix)});
        listing.status().throw_if_error();
        return std::move(listing.value().objects);
    }
    Status remove_each(const std::vector<std::string>& names) {
        return for_each_parallel(names.size(), num_threads(), "hakobi-remove",
                                 [&](std::size_t i) { return objects_->remove(names[i]); });
    }
    /// Objects of a folder whose names are numbers of `unit_bytes`, from a byte on.
    Status remove_from(const std::string& folder, std::int64_t begin_bytes, std::int64_t unit_bytes) {
        std::vector<std::string> names;
        // Also what a kill has left unlisted.
        const bool lists_by_prefix = objects_->abilities().lists_by_prefix;
        for (const storage::ListedObject& object : list(lists_by_prefix ? folder : "")) {
            if (!object.name.starts_with(folder)) continue;
            const std::int64_t number = number_of(std::string_view(object.name).substr(folder.size()));
            if (number >= 0 && number * unit_bytes >= begin_bytes) names.push_back(object.name);
        }
        return remove_each(names);
    }
    /// By name, those whose makers live (or may), or those whose makers are dead.
    std::map<std::string, GateInfo> gates(bool are_held) {
        std::map<std::string, GateInfo> found;
        for (const storage::ListedObject& object : list(gate_folder)) {
            const auto bytes = get_whole(*objects_, object.name);
            if (bytes.status().code() == ErrorCode::not_found) continue;
            bytes.status().throw_if_error();
            const std::string text(reinterpret_cast<const char*>(bytes.value().data()), bytes.value().size());
            const std::size_t line = std::min(text.find('\n'), text.size());
            const bool is_dead =
                line < text.size() && is_ended_process(std::string_view(text).substr(line + 1));
            if (is_dead != are_held) found[object.name] = {text.substr(0, line), path() + "/" + object.name};
        }
        return found;
    }
    Status read_log(LogTail& tail, const std::map<std::int64_t, Result<std::vector<std::byte>>>& fetched);
    Life look_at(const WriterFiles& files, bool is_latest, std::int64_t& end_bytes);

    ObjectsPtr objects_;
};

void ObjectPlace::read_logs(std::span<LogTail> tails) {
    struct Job {
        std::size_t tail;
        std::int64_t offset, likely_bytes;
        Result<std::vector<std::byte>> bytes = std::vector<std::byte>();
    };
    std::vector<Job> jobs;
    for (std::size_t i = 0; i < tails.size(); ++i) {
        const std::vector<std::int64_t>& offsets = tails[i].files->log_offsets;
        for (std::size_t k = 0; k < offsets.size(); ++k) {
            if (offsets[k] < tails[i].begin_bytes) continue;
            jobs.push_back({i, offsets[k], k + 1 < offsets.size() ? offsets[k + 1] - offsets[k] : 0});
        }
    }
    (void)for_each_parallel(jobs.size(), num_threads(), "hakobi-log", [&](std::size_t number) -> Status {
        Job& job = jobs[number];
        job.bytes = get_whole(*objects_, log_name(tails[job.tail].files->stem, job.offset), job.likely_bytes);
        return {};
    });
    auto job = jobs.begin();
    for (std::size_t i = 0; i < tails.size(); ++i) {
        std::map<std::int64_t, Result<std::vector<std::byte>>> fetched;
        for (; job != jobs.end() && job->tail == i; ++job)
            fetched.emplace(job->offset, std::move(job->bytes));
        tails[i].status = read_log(tails[i], fetched);
    }
}

/// Puts a log's objects one after the other. A name is the offset that the one before ends at: what no
/// listing showed is asked for, and where something else is missing there are zeros, which are no record:
/// scan_log tells the damage.
Status ObjectPlace::read_log(LogTail& tail,
                             const std::map<std::int64_t, Result<std::vector<std::byte>>>& fetched) {
    const std::string& stem = tail.files->stem;
    std::int64_t at = tail.begin_bytes;
    for (;;) {
        const auto listed = fetched.lower_bound(at);
        const bool is_listed = listed != fetched.end() && listed->first == at;
        if (listed == fetched.end() && !tail.is_latest) break;
        const auto bytes = is_listed ? listed->second : get_whole(*objects_, log_name(stem, at));
        const auto following = is_listed ? std::next(listed) : listed;
        std::int64_t length = 0;
        if (bytes.ok()) {
            length = std::ssize(bytes.value());
            if (following != fetched.end()) length = std::min(length, following->first - at);
            tail.bytes.insert(tail.bytes.end(), bytes.value().begin(), bytes.value().begin() + length);
        } else if (bytes.status().code() != ErrorCode::not_found) {
            return bytes.status();
        } else if (at == 0 || (is_listed && !has_log(stem))) {
            tail.is_gone = true;
            return {};
        } else if (is_listed && following == fetched.end()) {
            return {ErrorCode::io,
                    path() + "/" + log_name(stem, at) +
                        ": listed, but not there: the listing lies, or somebody has removed it"};
        }
        if (length == 0) {
            if (following == fetched.end()) break;
            length = following->first - at;
            tail.bytes.resize(tail.bytes.size() + static_cast<std::size_t>(length));
        }
        at += length;
    }
    tail.size_bytes = at;
    return {};
}

/// Returns a writer's life by the last look, or with `is_latest` by the storage itself, and where its log
/// ends.
ObjectPlace::Life ObjectPlace::look_at(const WriterFiles& files, bool is_latest, std::int64_t& end_bytes) {
    LogTail last{.files = &files,
                 .begin_bytes = files.log_offsets.empty() ? 0 : files.log_offsets.back(),
                 .is_latest = is_latest};
    read_logs(std::span(&last, 1));
    last.status.throw_if_error();
    if (last.is_gone) return Life::over;
    end_bytes = last.size_bytes;
    if (ends_log(last.bytes, files.id)) return Life::over;
    const auto head = get_whole(*objects_, log_name(files.stem, 0));
    if (head.status().code() == ErrorCode::not_found) return Life::over;
    head.status().throw_if_error();
    const auto header = decode_header(head.value());
    if (header.ok() && is_ended_process(header.value().header.process)) return Life::seems_dead;
    // Its newest object tells when it was last at work.
    std::int64_t newest_ns = 0;
    const auto see = [&](const std::string& name) {
        const auto facts = objects_->facts(name);
        if (facts.ok()) newest_ns = std::max(newest_ns, facts.value().modified_ns);
    };
    see(log_name(files.stem, last.begin_bytes));
    const std::vector<storage::ListedObject> segments = list(segments_folder(files.stem));
    if (!segments.empty()) see(segments.back().name);
    const double age_s = static_cast<double>(wall_clock_ns() - newest_ns) * 1e-9;
    return age_s < quiet_s ? Life::alive : Life::seems_dead;
}

}  // namespace

PlacePtr make_object_place(const std::string& path, storage::ObjectsPtr objects) {
    return std::make_shared<ObjectPlace>(path, std::move(objects));
}

}  // namespace hakobi::store
