#include "base/available_memory.hpp"

#include <algorithm>
#include <fstream>
#include <new>
#include <sstream>
#include <string>

namespace hakobi {
namespace {

/// The number that stands first in a file, or behind `name` in it; unknown_memory where there is none
/// ("max").
std::int64_t number_in(const std::string& path, const std::string& name = "") {
    std::ifstream file(path);
    std::int64_t number = 0;
    if (name.empty()) return file >> number ? number : unknown_memory;
    for (std::string word; file >> word;) {
        if (word == name) return file >> number ? number : unknown_memory;
    }
    return unknown_memory;
}

std::int64_t left_of(const std::string& limit, const std::string& usage, const std::string& stat,
                     const std::string& cache) {
    const std::int64_t limit_bytes = number_in(limit), used_bytes = number_in(usage);
    if (limit_bytes == unknown_memory || used_bytes == unknown_memory) return unknown_memory;
    // Pages of files that nobody has looked at for long are given up when memory is asked for.
    const std::int64_t cached_bytes = number_in(stat, cache);
    const std::int64_t kept_bytes = used_bytes - (cached_bytes == unknown_memory ? 0 : cached_bytes);
    return std::max<std::int64_t>(0, limit_bytes - kept_bytes);
}

/// The memory that the control group named in a line of /proc/self/cgroup still allows; version 2 has one
/// line, "0::PATH".
std::int64_t left_of_group(const std::string& line) {
    std::istringstream parts(line);
    std::string number, controllers, path;
    std::getline(parts, number, ':');
    std::getline(parts, controllers, ':');
    std::getline(parts, path);
    if (controllers.empty()) {
        const std::string folder = "/sys/fs/cgroup" + path;
        return left_of(folder + "/memory.max", folder + "/memory.current", folder + "/memory.stat",
                       "inactive_file");
    }
    if (controllers != "memory") return unknown_memory;
    const std::string folder = "/sys/fs/cgroup/memory" + path;
    return left_of(folder + "/memory.limit_in_bytes", folder + "/memory.usage_in_bytes",
                   folder + "/memory.stat", "total_inactive_file");
}

}  // namespace

std::int64_t available_memory_bytes() try {
    std::int64_t available = number_in("/proc/meminfo", "MemAvailable:");
    if (available != unknown_memory) available *= 1024;
    std::ifstream groups("/proc/self/cgroup");
    for (std::string line; std::getline(groups, line);) available = std::min(available, left_of_group(line));
    return available;
} catch (const std::bad_alloc&) {
    return 0;  // not even for the look
}

}  // namespace hakobi
