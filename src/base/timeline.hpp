#pragma once

#include <cassert>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace hakobi {

/// The events of one process with their times, for a trace viewer (the Trace Event Format that Perfetto
/// opens). Recording is off unless HAKOBI_TRACE names a file; then an event costs a lock and a push.
/// Thread-safe.
class Timeline {
  public:
    /// A row of the viewer within this process: 0 is the rank itself, i + 1 its I/O thread i.
    struct Event {
        const char* name = "";  ///< a literal
        int row = 0;
        double start_s = 0, end_s = 0;
        std::int64_t number = -1;  ///< the cycle, or -1
    };
    [[nodiscard]] static bool is_wanted();  ///< HAKOBI_TRACE is set
    [[nodiscard]] static std::string wanted_path();

    void add(const Event& event) {
        assert(event.row >= 0 && event.start_s <= event.end_s);
        if (!is_on_) return;
        const std::scoped_lock lock(mutex_);
        events_.push_back(event);
    }
    /// This process's events as lines of the trace's JSON array, each ending in ",\n"; `rank` names the
    /// process.
    [[nodiscard]] std::string to_json_lines(int rank) const;
    void clear();

  private:
    bool is_on_ = is_wanted();
    mutable std::mutex mutex_;
    std::vector<Event> events_;
};

}  // namespace hakobi
