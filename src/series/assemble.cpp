#include "series/assemble.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <functional>
#include <queue>

#include "region/cursor.hpp"
#include "region/region.hpp"

namespace hakobi::series {
namespace {

/// Runs at least this long are written from where they are: a copy would only delay them.
constexpr std::int64_t direct_bytes = 256 << 10;
/// Runs that a window lists at most: bounds the list where runs are tiny.
constexpr std::size_t max_window_runs = 65536;

struct Run {
    int request;  // index in the window's requests
    std::int64_t file_bytes, length_bytes;
};

/// Collects neighbouring bytes and writes them together.
class OrderedWriter {
  public:
    OrderedWriter(storage::File& file, std::span<std::byte> buffer) : file_(file), buffer_(buffer) {}

    Status put(std::int64_t offset_bytes, std::span<const std::byte> data) {
        const bool joins = length_ > 0 && offset_bytes == offset_ + static_cast<std::int64_t>(length_);
        const bool is_large = static_cast<std::int64_t>(data.size()) >= direct_bytes;
        if (!joins || is_large || length_ + data.size() > buffer_.size()) {
            if (Status status = flush(); !status.ok()) return status;
        }
        if (is_large || data.size() > buffer_.size()) return file_.write_at(data, offset_bytes);
        if (length_ == 0) offset_ = offset_bytes;
        std::memcpy(buffer_.data() + length_, data.data(), data.size());
        length_ += data.size();
        return {};
    }
    Status flush() {
        const std::size_t length = std::exchange(length_, 0);
        return length == 0 ? Status() : file_.write_at(buffer_.first(length), offset_);
    }

  private:
    storage::File& file_;
    std::span<std::byte> buffer_;
    std::int64_t offset_ = 0;
    std::size_t length_ = 0;
};

/// All members' runs in file order, cut into windows.
class Windows {
  public:
    explicit Windows(std::span<const Region> regions)
        : request_of_member_(regions.size(), -1), cursors_(regions.begin(), regions.end()) {
        for (std::size_t m = 0; m < cursors_.size(); ++m) {
            if (!cursors_[m].at_end()) heap_.emplace(cursors_[m].offset(), static_cast<int>(m));
        }
    }

    /// The next window of at most `room` bytes; no requests at the end.
    void next(std::int64_t room, std::vector<Members::Request>& requests, std::vector<Run>& runs) {
        requests.clear();
        runs.clear();
        while (room > 0 && !heap_.empty() && runs.size() < max_window_runs) {
            const auto [file_bytes, member] = heap_.top();
            heap_.pop();
            Cursor& cursor = cursors_[static_cast<std::size_t>(member)];
            const std::int64_t length_bytes = std::min(room, cursor.remaining());
            int& request = request_of_member_[static_cast<std::size_t>(member)];
            if (request < 0) {
                request = static_cast<int>(requests.size());
                requests.push_back({.member = member});
            }
            requests[static_cast<std::size_t>(request)].length_bytes += length_bytes;
            if (!runs.empty() && runs.back().request == request &&
                runs.back().file_bytes + runs.back().length_bytes == file_bytes) {
                runs.back().length_bytes += length_bytes;
            } else {
                runs.push_back({request, file_bytes, length_bytes});
            }
            cursor.advance(length_bytes);
            if (!cursor.at_end()) heap_.emplace(cursor.offset(), member);
            room -= length_bytes;
        }
        for (const Members::Request& request : requests) {
            request_of_member_[static_cast<std::size_t>(request.member)] = -1;
        }
    }

  private:
    using Head = std::pair<std::int64_t, int>;  // where a member's next run is in the file, and the member
    std::vector<int> request_of_member_;
    std::vector<Cursor> cursors_;  // one a member
    std::priority_queue<Head, std::vector<Head>, std::greater<>> heap_;
};

}  // namespace

Status assemble(std::span<const Region> regions, Members& members, storage::File& file,
                std::span<std::byte> buffer) {
    const std::int64_t window_bytes = std::ssize(buffer) / 2;
    const std::span<std::byte> taken = buffer.first(static_cast<std::size_t>(window_bytes));
    OrderedWriter writer(file, buffer.subspan(static_cast<std::size_t>(window_bytes)));
    Windows windows(regions);
    std::vector<Members::Request> requests;
    std::vector<Run> runs;
    while (true) {
        windows.next(window_bytes, requests, runs);
        if (requests.empty()) return writer.flush();
        std::byte* space = taken.data();
        for (Members::Request& request : requests) {
            request.space = space;
            space += request.length_bytes;
        }
        assert(space <= taken.data() + taken.size());
        if (Status status = members.take(requests); !status.ok()) return status;
        for (const Run& run : runs) {
            const std::byte*& data = requests[static_cast<std::size_t>(run.request)].data;
            Status status = writer.put(run.file_bytes, {data, static_cast<std::size_t>(run.length_bytes)});
            if (!status.ok()) return status;
            data += run.length_bytes;
        }
    }
}

}  // namespace hakobi::series
