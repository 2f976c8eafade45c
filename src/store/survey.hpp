#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/folder.hpp"
#include "store/format.hpp"

namespace hakobi::store {

/// One writer's files, held against each other; a dead writer's as they were after its death.
struct Survey {
    bool is_alive = false;
    bool is_empty = false;     ///< dead, with nothing recorded and nothing damaged
    bool is_readable = false;  ///< its index has a header of ours
    std::int64_t header_bytes = 0;
    LogScan scan;
    std::int64_t num_fields = 0;
    std::vector<std::uint64_t> wiped_ids;  ///< data files whose fields its wipes remove
    std::int64_t data_bytes = 0;           ///< the data file's size
    std::int64_t data_end_bytes = 0;       ///< by the records
    std::int64_t orphan_data_bytes = 0;    ///< behind data_end_bytes, or all where there is no index
    std::int64_t num_beyond_end = 0;       ///< fields that lie, or end, behind the data file's end
    std::vector<std::string> problems;     ///< damage, one line each
};
Survey survey_writer(const Folder& folder, const WriterFiles& files);

/// 0 where there is none.
std::int64_t file_size(const std::string& path);

}  // namespace hakobi::store
