#include "io/opened_file.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <thread>
#include <utility>

#include "mpi/messages.hpp"

namespace hakobi::io {

Status OpenedFile::need() {
    const std::scoped_lock lock(opening_);
    if (file_) return {};
    storage::OpenMode mode;
    mode.write = name_.is_writable;
    mode.direct = is_direct_io_;
    mode.name = name_.shown;
    mode.is_others = comm_.num_nodes() > 1 || name_.has_other_nodes;
    mode.is_shared = name_.is_writable && mode.is_others;
    auto opened = storage::open_file(name_.path, mode);
    if (!opened.ok() && mode.write && opened.status().code() == ErrorCode::permission) {
        // The file may only be written: without reading, nobody fills holes (Abilities::locks_ranges).
        mode.read = false;
        opened = storage::open_file(name_.path, mode);
    }
    if (!opened.ok()) return opened.status();
    file_ = std::move(opened).value();
    hear(file_->profile().service());
    return {};
}

// An NFS client may give a node the file that had the name before (storage/posix.cpp): the number on the
// server tells.
Status OpenedFile::agree() {
    constexpr int most_tries = 12;  // 0.3 s
    constexpr std::int64_t none = -std::numeric_limits<std::int64_t>::max();
    Status status;
    for (int i = 0; i < most_tries; ++i) {
        std::array<std::int64_t, 2> words{none, none};
        struct stat info {};
        if (file_ && file_->abilities().file_system == "nfs") {
            (void)::fstat(file_->descriptor(), &info);  // 0 of one that is stale
            words[0] = static_cast<std::int64_t>(info.st_ino >> 1);
            words[1] = -words[0];
        }
        mpi::all_max(comm_, words);
        if (words[0] == -words[1] || words[0] == none) return status;
        std::this_thread::sleep_for(std::chrono::milliseconds(std::min(2 << i, 50)));
        if (!std::exchange(file_, nullptr)) continue;
        status.keep_first(need());
    }
    return {ErrorCode::io, name_.shown + ": the nodes find different files of this name"};
}

Status OpenedFile::close() {
    Status status;
    if (file_) status = file_->close();
    file_.reset();
    return status;
}

void OpenedFile::learn(Service service) {
    service_ = service;
    file_->profile().set_service(service);
}

}  // namespace hakobi::io
