#include "base/process.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

#include "base/descriptor.hpp"

namespace hakobi {
namespace {

struct ProcessStat {
    char state = '?';
    std::int64_t start_ticks = 0;
};

// proc(5): the state is field 3 and the start 22. Field 2, the name, stands in brackets and may hold any
// character.
std::optional<ProcessStat> parsed(const char* text) {
    constexpr int fields_between = 19;
    const char* at = std::strrchr(text, ')');
    if (at == nullptr || at[1] != ' ') return std::nullopt;
    at += 2;
    ProcessStat stat;
    stat.state = *at;
    for (int field = 0; field < fields_between; ++field) {
        at = std::strchr(at, ' ');
        if (at == nullptr) return std::nullopt;
        ++at;
    }
    stat.start_ticks = std::strtoll(at, nullptr, 10);
    return stat;
}

// Nothing, with errno of the failure, where it cannot be read.
std::optional<ProcessStat> stat_of(std::int64_t pid) {
    const std::string path = "/proc/" + std::to_string(pid) + "/stat";
    errno = 0;
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.get() < 0) return std::nullopt;
    char text[1024];
    const ssize_t length = ::read(file.get(), text, sizeof text - 1);
    if (length <= 0) return std::nullopt;
    text[length] = '\0';
    return parsed(text);
}

std::int64_t own_namespace() {
    struct stat info {};
    return ::stat("/proc/self/ns/pid", &info) == 0 ? static_cast<std::int64_t>(info.st_ino) : 0;
}

}  // namespace

ProcessId own_process() {
    const std::int64_t pid = ::getpid();
    const std::optional<ProcessStat> stat = stat_of(pid);
    if (!stat) return {};
    return {.pid = pid, .start_ticks = stat->start_ticks, .pid_namespace = own_namespace()};
}

bool has_ended(const ProcessId& process) {
    if (process.pid == 0 || process.pid_namespace != own_namespace()) return false;
    const std::optional<ProcessStat> stat = stat_of(process.pid);
    if (!stat) return errno == ENOENT || errno == ESRCH;
    return stat->start_ticks != process.start_ticks || stat->state == 'Z' || stat->state == 'X';
}

}  // namespace hakobi
