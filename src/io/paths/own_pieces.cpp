#include "io/paths/own_pieces.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "io/policy.hpp"
#include "io/sieve.hpp"

namespace hakobi::io::paths {

void OwnPieces::carry_out(const Request& request, bool is_in_flight, bool may_fill_holes,
                          Progress& progress) {
    const Region& file = request.file;
    const std::int64_t done = progress.bytes_done(request);
    if (done >= file.size_bytes()) return;
    progress.status = file_.need();
    if (!progress.status.ok()) return;
    const OwnRequest own{request.is_write,         progress.is_ordered, file.size_bytes(),
                         file.size_bytes() - done, file.num_pieces(),   file_.service()};
    const Way way = choose_own(setting_, own, is_in_flight);
    const double start_s = now_s();
    const PiecesResult moved =
        move(way, may_fill_holes,
             {file, request.memory, request.origin, done, file.size_bytes(), request.is_write,
              options_.cb_buffer_bytes, own.service == Service::from_memory});
    const double end_s = now_s();
    progress.status = moved.status;
    // The bytes before it came by the shuffle, as far as the file goes.
    const std::int64_t before = done > 0 ? std::min(done, file.bytes_below(progress.end_of_file)) : 0;
    progress.bytes_moved = before + moved.bytes;
    // A writer that lost its core sleeps at the inode's lock now and then.
    file_->profile().observe_in_line(moved.has_waited,
                                     request.is_write ? static_cast<int>(policy().believed_waits) : 1);
    file_.hear(file_->profile().service());
    account_.counters.storage_s += end_s - start_s;
    account_.counters.storage_bytes += moved.bytes;
    ++account_.counters.direct_calls;
    account_.timeline.add({request.is_write ? "write directly" : "read directly", 0, start_s, end_s});
}

PiecesResult OwnPieces::move(Way way, bool may_fill_holes, const PiecesRequest& pieces) {
    switch (way) {
        case Way::sieve:
            return move_by_sieving(comm_, *file_, pieces, may_fill_holes);
        case Way::in_flight:
            return move_pieces(comm_, *file_, access(), options_.depth, pieces);
        case Way::in_line:
            break;
    }
    return move_pieces(comm_, *file_, nullptr, 1, pieces);
}

// Null where there can be none: the calls are made in line, which is slower, not wrong.
storage::Access* OwnPieces::access() {
    if (access_ || options_.access == "posix") return access_.get();
    storage::AccessOptions wanted;
    wanted.name = options_.access;
    wanted.num_threads = std::max(1, options_.io_threads * 2 / comm_.node_size());
    wanted.cores = control_.cores();
    auto made = storage::make_access(*file_, wanted);
    if (made.ok()) access_ = std::move(made).value();
    return access_.get();
}

}  // namespace hakobi::io::paths
