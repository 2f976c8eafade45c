#pragma once

namespace hakobi::storage_model {

/// After an open with these flags has given `fd`: a new file whose maker will lay it out waits for that.
void made(int fd, int flags);

}  // namespace hakobi::storage_model
