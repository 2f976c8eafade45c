#pragma once

#include <cassert>

#include "storage/access.hpp"

namespace hakobi::storage {

/// Moves the request's extents by `file`'s own blocking calls and sets everything that Request promises
/// before `done` (which it does not call). An extent that begins or ends behind the end of the file is read
/// as far as it goes.
void transfer(File& file, Request& request, int thread);

/// The file that a request moves bytes of.
[[nodiscard]] inline File& file_of(const Request& request, File* of_access) {
    assert(request.file != nullptr || of_access != nullptr);
    return request.file != nullptr ? *request.file : *of_access;
}

/// Sets the sample, for Concurrency, from the request's calls.
void account(const Request& request, ServiceSample& sample);

}  // namespace hakobi::storage
