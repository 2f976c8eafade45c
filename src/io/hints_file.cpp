#include "io/hints_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>

#include "io/hint_table.hpp"

namespace hakobi::io {
namespace {

constexpr std::string_view blanks = " \t\r\v\f";

std::string_view trimmed(std::string_view text) {
    const auto begin = text.find_first_not_of(blanks);
    return begin == std::string_view::npos ? ""
                                           : text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
}

/// Whether the engine could read the value; that nobody knows a name is said later.
Status check(const std::string& name, const std::string& value) {
    EngineOptions options;
    for (const Hint& hint : hint_table()) {
        if (hint.name == name) return hint.set(name, value, options);
    }
    return {};
}

Result<Hints> read(const std::string& path) {
    errno = 0;
    std::ifstream file(path, std::ios::binary);
    std::string text;
    char part[4096];
    while (file.read(part, sizeof part), file.gcount() > 0)
        text.append(part, static_cast<std::size_t>(file.gcount()));
    if (!file.is_open() || file.bad())  // a folder opens, and cannot be read
        return Status(ErrorCode::io, "cannot read " + path + ": " + std::strerror(errno));
    return parse_hints_file(text, path);
}

}  // namespace

Result<Hints> parse_hints_file(std::string_view text, const std::string& path) {
    Hints hints;
    for (int number = 1; !text.empty(); ++number) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        const std::string_view item = trimmed(line.substr(0, line.find('#')));
        if (item.empty()) continue;
        const auto equals = item.find('=');
        const std::string name(trimmed(item.substr(0, equals)));
        const std::string where = path + ", line " + std::to_string(number) + ": ";
        if (equals == std::string_view::npos || name.empty())
            return Status(ErrorCode::invalid_argument,
                          where + "'" + std::string(item) + "' is not name=value");
        const std::string value(trimmed(item.substr(equals + 1)));
        const Status status = check(name, value);
        if (!status.ok()) return Status(status.code(), where + status.text());
        hints[name] = value;
    }
    return hints;
}

Result<Hints> hints_of_file(const std::string& path) {
    static std::mutex mutex;
    static std::map<std::string, Result<Hints>> known;
    const std::lock_guard lock(mutex);
    const auto found = known.find(path);
    return found != known.end() ? found->second : known.emplace(path, read(path)).first->second;
}

}  // namespace hakobi::io
