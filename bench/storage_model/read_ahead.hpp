#pragma once

#include <algorithm>
#include <cstdint>
#include <map>

#include "storage_model/service_state.hpp"

namespace hakobi::storage {

/// A client's read-ahead of one open file, as Lustre's: behind a read that goes on where the last one ended,
/// more is asked for before anybody wants it. The window is twice that read, and doubles up to
/// ServiceModel::ahead_bytes; a read elsewhere ends it. Reads that come in another order than their offsets,
/// by several threads, go on as long as they are within a whole window of the last one's end. What was asked
/// for is in the client's memory when the servers have sent it, and takes no time from there, once.
class ReadAhead {
  public:
    /// When the model completes a read; the client reads ahead up to `file_bytes`. Requests are only queued:
    /// nobody sleeps on the way. Not for two threads at once.
    std::int64_t pass(const ServiceModel& model, ServiceState& state, const ServiceRequest& request,
                      std::int64_t file_bytes, std::vector<Served>* log = nullptr) {
        const std::int64_t begin = request.offset, end = begin + request.length;
        const bool goes_on = next_ >= 0 && begin >= next_ - window_ && begin <= next_ + window_;
        window_ = goes_on ? std::min(model.ahead_bytes, 2 * std::max(window_, request.length)) : 0;
        if (!goes_on) {
            asked_.clear();
            asked_end_ = 0;
        }
        next_ = goes_on ? std::max(next_, end) : end;

        const auto queue = [&](std::int64_t from, std::int64_t to) {
            ServiceRequest part = request;
            part.offset = from;
            part.length = to - from;
            return Passage(model, state, part, log).run([](std::int64_t) {});
        };
        std::int64_t done_ns = request.length > 0 ? request.arrival_ns : queue(begin, end);
        for (std::int64_t at = begin; at < end;) {
            const auto next = asked_.upper_bound(at);
            const auto piece = next != asked_.begin() ? std::prev(next) : asked_.end();
            const bool is_asked = piece != asked_.end() && piece->second.end > at;
            std::int64_t to = end;
            if (is_asked) {
                to = std::min(end, piece->second.end);
                done_ns = std::max(done_ns, piece->second.here_ns);
                take(piece, at, to);
            } else {
                if (next != asked_.end()) to = std::min(end, next->first);
                done_ns = std::max(done_ns, queue(at, to));
            }
            at = to;
        }
        asked_end_ = std::max(asked_end_, end);
        for (const std::int64_t last = std::min(file_bytes, end + window_); asked_end_ < last;) {
            const std::int64_t to = std::min(last, (asked_end_ / message_bytes + 1) * message_bytes);
            asked_[asked_end_] = {to, queue(asked_end_, to)};
            asked_end_ = to;
        }
        return done_ns;
    }

  private:
    static constexpr std::int64_t message_bytes = 1 << 20;
    struct Piece {
        std::int64_t end, here_ns;
    };
    using Pieces = std::map<std::int64_t, Piece>;

    /// Forgets what is read: nothing is kept as in a cache.
    void take(Pieces::iterator piece, std::int64_t from, std::int64_t to) {
        const Piece whole = piece->second;
        if (piece->first < from)
            piece->second.end = from;
        else
            asked_.erase(piece);
        if (to < whole.end) asked_[to] = whole;
    }

    Pieces asked_;  // by offset; none overlaps another
    std::int64_t asked_end_ = 0;
    std::int64_t next_ = -1;  // where the last read ended
    std::int64_t window_ = 0;
};

}  // namespace hakobi::storage
