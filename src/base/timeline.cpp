#include "base/timeline.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/classic_locale.hpp"

namespace hakobi {

std::string Timeline::wanted_path() {
    const char* path = std::getenv("HAKOBI_TRACE");
    return path != nullptr ? path : "";
}
bool Timeline::is_wanted() {
    return !wanted_path().empty();
}

std::string Timeline::to_json_lines(int rank) const {
    const std::scoped_lock lock(mutex_);
    const ClassicLocale classic;
    std::string lines;
    char line[256];
    std::snprintf(line, sizeof line,
                  R"({"ph":"M","pid":%d,"name":"process_name","args":{"name":"rank %d"}},)"
                  "\n",
                  rank, rank);
    lines += line;
    int last_row = 0;
    for (const Event& event : events_) last_row = std::max(last_row, event.row);
    for (int row = 0; row <= last_row; ++row) {
        const std::string name = row == 0 ? "shuffle" : "I/O thread " + std::to_string(row - 1);
        std::snprintf(line, sizeof line,
                      R"({"ph":"M","pid":%d,"tid":%d,"name":"thread_name","args":{"name":"%s"}},)"
                      "\n",
                      rank, row, name.c_str());
        lines += line;
    }
    for (const Event& event : events_) {
        std::snprintf(
            line, sizeof line,
            R"({"ph":"X","pid":%d,"tid":%d,"name":"%s","ts":%.3f,"dur":%.3f,"args":{"cycle":%lld}},)"
            "\n",
            rank, event.row, event.name, event.start_s * 1e6, (event.end_s - event.start_s) * 1e6,
            static_cast<long long>(event.number));
        lines += line;
    }
    return lines;
}

void Timeline::clear() {
    const std::scoped_lock lock(mutex_);
    events_.clear();
}

}  // namespace hakobi
