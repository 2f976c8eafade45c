#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/folder.hpp"
#include "store/format.hpp"

namespace hakobi::store {

/// One writer's files, held against each other; a dead writer's as they were after its death.
struct Survey {
    bool is_alive = false;  ///< as far as is known
    bool is_empty = false;  ///< dead, with nothing recorded and nothing damaged
    std::int64_t header_bytes = 0;
    LogScan scan;
    std::int64_t num_fields = 0;
    std::vector<Wiped> wiped;           ///< what its wipes remove, of other data files
    std::vector<std::int64_t> missing;  ///< offsets of fields, wiped ones too, whose data is not all there
    std::int64_t data_bytes = 0;        ///< where its data ends
    std::int64_t data_end_bytes = 0;    ///< by the records
    bool is_end_known = true;           ///< no record may be missing that would say more
    std::int64_t unrecorded_bytes = 0;  ///< behind data_end_bytes
    std::vector<std::string> problems;  ///< damage, one line each

    [[nodiscard]] bool is_readable() const { return header_bytes > 0; }  ///< its index has a header of ours
    [[nodiscard]] std::int64_t orphan_data_bytes() const { return is_end_known ? unrecorded_bytes : 0; }
};
/// A look changes nothing. Who is to remove something of a dead writer must know for good that it is
/// (Place::is_over).
enum class SurveyFor { looking, removing };
Survey survey_writer(const Folder& folder, const WriterFiles& files, SurveyFor purpose);

}  // namespace hakobi::store
