#include "store/survey.hpp"

#include <algorithm>
#include <iterator>

namespace hakobi::store {

namespace {

/// Sorted, with gaps.
bool are_there(const std::vector<Extent>& extents, std::int64_t offset_bytes, std::int64_t length_bytes) {
    const auto behind = std::ranges::upper_bound(extents, offset_bytes, {}, &Extent::offset_bytes);
    if (behind == extents.begin()) return false;
    const Extent& extent = *std::prev(behind);
    return offset_bytes + length_bytes <= extent.offset_bytes + extent.length_bytes;
}

std::int64_t bytes_behind(const std::vector<Extent>& extents, std::int64_t end_bytes) {
    std::int64_t bytes = 0;
    for (const Extent& extent : extents) {
        bytes += std::clamp<std::int64_t>(extent.offset_bytes + extent.length_bytes - end_bytes, 0,
                                          extent.length_bytes);
    }
    return bytes;
}

void take_commit(const Record& record, const std::vector<Extent>& extents, const std::string& path,
                 Survey& survey) {
    survey.data_end_bytes = std::max(survey.data_end_bytes, record.data_end_bytes);
    const auto groups = decode_commit(record.payload);
    if (!groups.ok()) {
        survey.problems.push_back(path + ": " + groups.status().text());
        return;
    }
    for (const GroupRows& rows : groups.value()) {
        survey.num_fields += static_cast<std::int64_t>(rows.num_rows());
        for (std::size_t i = 0; i < rows.num_rows(); ++i) {
            if (!are_there(extents, rows.offsets[i], rows.lengths[i]))
                survey.missing.push_back(rows.offsets[i]);
        }
    }
}

void take_wipe(const Record& record, const std::string& path, Survey& survey) {
    auto wiped = decode_wipe(record.payload);
    if (!wiped.ok()) survey.problems.push_back(path + ": " + wiped.status().text());
    if (wiped.ok()) std::ranges::move(wiped.value(), std::back_inserter(survey.wiped));
}

}  // namespace

Survey survey_writer(const Folder& folder, const WriterFiles& files, SurveyFor purpose) {
    Place& place = folder.place();
    Survey survey;
    std::int64_t num_records = 0;  // that say something
    const auto look_at_data = [&] {
        std::vector<Extent> extents = place.data_extents(files.stem);
        if (!extents.empty()) survey.data_bytes = extents.back().offset_bytes + extents.back().length_bytes;
        return extents;
    };
    if (!files.has_index) {
        survey.unrecorded_bytes = bytes_behind(look_at_data(), 0);
        return survey;
    }
    const std::string path = place.index_path(files.stem);
    // Asked first: what a living writer adds meanwhile is not held against it.
    survey.is_alive = purpose == SurveyFor::removing ? !place.is_over(files) : place.is_alive(files);
    LogTail log{.files = &files};
    place.read_logs(std::span(&log, 1));
    if (!log.status.ok() || log.is_gone) {
        survey.problems.push_back(log.is_gone ? path + ": it was removed meanwhile" : log.status.text());
        return survey;
    }
    const std::span<const std::byte> bytes = log.bytes;
    // A living writer's data is there before the record of it.
    const std::vector<Extent> extents = look_at_data();
    const auto header = decode_header(bytes);
    if (!header.ok()) {
        if (header.status().code() == ErrorCode::unsupported) {
            throw Error(ErrorCode::unsupported, path + ": " + header.status().text());
        }
        survey.problems.push_back(path + ": " + header.status().text() + ": its fields are lost");
        return survey;
    }
    survey.header_bytes = header.value().length_bytes;
    survey.scan = scan_log(bytes.subspan(static_cast<std::size_t>(survey.header_bytes)), survey.header_bytes,
                           files.id, [&](const Record& record) {
                               if (record.kind != RecordKind::end) ++num_records;
                               if (record.kind == RecordKind::wipe) take_wipe(record, path, survey);
                               if (record.kind == RecordKind::commit)
                                   take_commit(record, extents, path, survey);
                           });
    for (const std::int64_t offset : survey.scan.damaged) {
        survey.problems.push_back(path + ": damaged at byte " + std::to_string(offset) +
                                  ": the fields of one flush or more are lost");
    }
    // An object is put whole: none of its records is unfinished.
    if (place.ends_logs() && survey.scan.torn_bytes > 0) survey.scan.is_tail_damaged = true;
    if (survey.scan.is_tail_damaged && (!survey.is_alive || place.ends_logs())) {
        survey.problems.push_back(
            path + ": its last record is damaged: the fields of one flush are lost; their data is kept");
    }
    // Beyond the data of a damaged last record there may be unflushed bytes, but nobody can tell where they
    // begin. Behind it may be the record that ends the log, by others, who did not know either.
    survey.is_end_known = !survey.scan.is_tail_damaged && (survey.scan.damaged.empty() || !place.ends_logs());
    survey.unrecorded_bytes = bytes_behind(extents, survey.data_end_bytes);
    survey.is_empty = !survey.is_alive && survey.is_end_known && survey.scan.damaged.empty() &&
                      survey.problems.empty() && num_records == 0;
    return survey;
}

}  // namespace hakobi::store
