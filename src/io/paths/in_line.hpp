#pragma once

#include "io/opened_file.hpp"
#include "io/report.hpp"
#include "io/request.hpp"

namespace hakobi::io::paths {

/// Whether a request is one short piece of the file and one of memory, which the kernel copies fast.
[[nodiscard]] bool is_one_short_piece(const Request& request);
/// Moves such a request by one call of the file, which is open. Local.
void move_in_line(const Request& request, storage::File& file, Account& account, Progress& progress);

}  // namespace hakobi::io::paths
