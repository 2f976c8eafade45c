#include "store/survey.hpp"

#include <algorithm>
#include <filesystem>

namespace hakobi::store {

std::int64_t file_size(const std::string& path) {
    std::error_code error;
    const auto bytes = std::filesystem::file_size(path, error);
    return error ? 0 : static_cast<std::int64_t>(bytes);
}

Survey survey_writer(const Folder& folder, const WriterFiles& files) {
    Survey survey;
    if (!files.has_index) {
        survey.data_bytes = file_size(folder.data_path(files.stem));
        survey.orphan_data_bytes = survey.data_bytes;
        return survey;
    }
    const std::string path = folder.index_path(files.stem);
    // Asked first: what a living writer adds meanwhile is not held against it.
    survey.is_alive = is_writer_alive(folder, files);
    const auto read = read_whole(path);
    if (!read.ok()) {
        survey.problems.push_back(read.status().text());
        return survey;
    }
    const std::span<const std::byte> bytes = read.value();
    // A living writer's data is there before the record of it.
    survey.data_bytes = file_size(folder.data_path(files.stem));
    const auto header = decode_header(bytes);
    if (!header.ok()) {
        if (header.status().code() == ErrorCode::unsupported) {
            throw Error(ErrorCode::unsupported, path + ": " + header.status().text());
        }
        survey.problems.push_back(path + ": " + header.status().text() + ": its fields are lost");
        return survey;
    }
    survey.is_readable = true;
    survey.header_bytes = header.value().length_bytes;
    survey.scan = scan_log(bytes.subspan(static_cast<std::size_t>(survey.header_bytes)), survey.header_bytes,
                           files.id, [&](const Record& record) {
                               if (record.kind == RecordKind::wipe) {
                                   const auto wiped = decode_wipe(record.payload);
                                   if (!wiped.ok()) {
                                       survey.problems.push_back(path + ": " + wiped.status().text());
                                       return;
                                   }
                                   for (const Wiped& file : wiped.value())
                                       survey.wiped_ids.push_back(file.id);
                               }
                               if (record.kind != RecordKind::commit) return;
                               survey.data_end_bytes = std::max(survey.data_end_bytes, record.data_end_bytes);
                               const auto groups = decode_commit(record.payload);
                               if (!groups.ok()) {
                                   survey.problems.push_back(path + ": " + groups.status().text());
                                   return;
                               }
                               for (const GroupRows& rows : groups.value()) {
                                   survey.num_fields += static_cast<std::int64_t>(rows.num_rows());
                                   for (std::size_t i = 0; i < rows.num_rows(); ++i) {
                                       if (rows.offsets[i] + rows.lengths[i] > survey.data_bytes)
                                           ++survey.num_beyond_end;
                                   }
                               }
                           });
    for (const std::int64_t offset : survey.scan.damaged) {
        survey.problems.push_back(path + ": damaged at byte " + std::to_string(offset) +
                                  ": the fields of one flush or more are lost");
    }
    if (survey.scan.is_tail_damaged && !survey.is_alive) {
        survey.problems.push_back(
            path + ": its last record is damaged: the fields of one flush are lost; their data is kept");
    }
    // Beyond the data of a damaged last record there may be unflushed bytes, but nobody can tell where they begin.
    const bool is_end_known = !survey.scan.is_tail_damaged;
    if (is_end_known)
        survey.orphan_data_bytes = std::max<std::int64_t>(0, survey.data_bytes - survey.data_end_bytes);
    survey.is_empty = !survey.is_alive && is_end_known && survey.scan.damaged.empty() &&
                      survey.problems.empty() && survey.scan.end_bytes == survey.header_bytes;
    return survey;
}

}  // namespace hakobi::store
