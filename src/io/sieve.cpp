#include "io/sieve.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "base/copy_bytes.hpp"
#include "base/guard.hpp"
#include "io/policy.hpp"
#include "region/copy.hpp"

namespace hakobi::io {
namespace {

class Sieve {
  public:
    Sieve(const Comm& comm, storage::File& file, const PiecesRequest& request, bool may_fill_holes)
        : comm_(comm),
          file_(file),
          request_(request),
          may_fill_holes_(may_fill_holes),
          at_(request.file),
          memory_(request.memory),
          window_(static_cast<std::size_t>(policy().sieve_window + page_bytes)) {}

    PiecesResult run() {
        at_.seek(request_.stream_begin);
        memory_.seek(request_.stream_begin);
        while (at_.stream() < request_.stream_end && result_.status.ok() && !is_over_) {
            stretch_.begin_bytes = at_.offset();
            stretch_.stream_to = std::min(
                request_.stream_end, request_.file.bytes_below(stretch_.begin_bytes + policy().sieve_window));
            Cursor last(request_.file);
            last.seek(stretch_.stream_to - 1);
            stretch_.length_bytes = last.offset() + 1 - stretch_.begin_bytes;
            stretch_.is_dense = data_bytes() == stretch_.length_bytes && is_covered();
            if (!is_worth_it()) {
                move_by_pieces();
            } else if (request_.is_write) {
                write_stretch();
            } else {
                read_stretch();
            }
        }
        return std::move(result_);
    }

  private:
    [[nodiscard]] std::int64_t data_bytes() const { return stretch_.stream_to - at_.stream(); }
    // Pieces that lie over each other may come to the same sum, and leave holes.
    [[nodiscard]] bool is_covered() const {
        Cursor pieces = at_;
        return coverage(pieces, stretch_.stream_to) ==
               whole_window(stretch_.begin_bytes, stretch_.begin_bytes + stretch_.length_bytes);
    }
    [[nodiscard]] bool is_worth_it() const {
        if (stretch_.is_dense) return true;
        if (request_.is_write && !may_fill_holes_) return false;
        const std::int64_t num_pieces =
            std::max<std::int64_t>(1, data_bytes() * request_.file.num_pieces() / request_.file.size_bytes());
        return stretch_.length_bytes <= num_pieces * policy().sieved_stride;
    }
    [[nodiscard]] std::span<std::byte> window() {
        return {congruent_with(stretch_.begin_bytes, window_.data()),
                static_cast<std::size_t>(stretch_.length_bytes)};
    }

    void move_by_pieces() {
        PiecesRequest pieces = request_;
        pieces.stream_begin = at_.stream();
        pieces.stream_end = stretch_.stream_to;
        PiecesResult moved = move_pieces(comm_, file_, nullptr, 1, pieces);
        is_over_ = moved.bytes < stretch_.stream_to - at_.stream();
        result_.status = std::move(moved.status);
        result_.bytes += moved.bytes;
        result_.num_calls += moved.num_calls;
        at_.seek(stretch_.stream_to);
        memory_.seek(stretch_.stream_to);
    }

    void read_stretch() {
        const std::span<std::byte> bytes = window();
        const Result<std::int64_t> read = file_.read_at(bytes, stretch_.begin_bytes);
        ++result_.num_calls;
        if (!read.ok()) {
            result_.status = read.status();
            return;
        }
        is_over_ = read.value() < stretch_.length_bytes;
        if (is_over_)
            stretch_.stream_to =
                std::min(stretch_.stream_to, request_.file.bytes_below(stretch_.begin_bytes + read.value()));
        result_.bytes += data_bytes();
        if (data_bytes() > 0)
            copy_from_window(at_, memory_, request_.origin, stretch_.stream_to,
                             {bytes.data(), stretch_.begin_bytes, nullptr});
    }

    void write_stretch() {
        const bool has_holes = !stretch_.is_dense;
        if (has_holes) {
            Status locked = file_.lock_range(stretch_.begin_bytes, stretch_.length_bytes);
            if (!locked.ok()) {
                may_fill_holes_ = false;
                if (locked.code() != ErrorCode::unsupported) result_.status = std::move(locked);
                return;  // for another look at this stretch
            }
        }
        const std::int64_t data = data_bytes();
        result_.status = fill_and_write(has_holes);
        if (has_holes) (void)file_.unlock_range(stretch_.begin_bytes, stretch_.length_bytes);
        if (result_.status.ok()) result_.bytes += data;
    }

    Status fill_and_write(bool has_holes) {
        const std::span<std::byte> bytes = window();
        if (has_holes) {
            const Result<std::int64_t> read = file_.read_at(bytes, stretch_.begin_bytes);
            ++result_.num_calls;
            if (!read.ok()) return read.status();
            const auto there = static_cast<std::size_t>(read.value());
            std::memset(bytes.data() + there, 0, bytes.size() - there);  // behind the file's end
        }
        copy_to_window(at_, memory_, request_.origin, stretch_.stream_to,
                       {bytes.data(), stretch_.begin_bytes, nullptr});
        ++result_.num_calls;
        return file_.write_at(bytes, stretch_.begin_bytes);
    }

    const Comm& comm_;
    storage::File& file_;
    const PiecesRequest& request_;
    bool may_fill_holes_;
    Cursor at_, memory_;
    std::vector<std::byte> window_;
    struct Stretch {
        std::int64_t begin_bytes = 0, length_bytes = 0;  // in the file
        std::int64_t stream_to = 0;                      // where in the stream it ends
        bool is_dense = false;                           // it has no holes
    } stretch_;
    bool is_over_ = false;  // the file's end
    PiecesResult result_;
};

}  // namespace

PiecesResult move_by_sieving(const Comm& comm, storage::File& file, const PiecesRequest& request,
                             bool may_fill_holes) {
    PiecesResult result;
    Status status = guarded("accessing the file", [&] {
        result = Sieve(comm, file, request, may_fill_holes).run();
        return Status();
    });
    result.status.keep_first(std::move(status));
    return result;
}

}  // namespace hakobi::io
