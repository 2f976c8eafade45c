#include <algorithm>
#include <hakobi/store.hpp>

namespace hakobi {

Key::Key(std::initializer_list<Entry> entries) {
    for (const auto& [keyword, value] : entries) set(keyword, value);
}

Key Key::parse(std::string_view text) {
    Key key;
    const auto trimmed = [](std::string_view part) {
        constexpr std::string_view blanks = " \t\r\n";
        part.remove_prefix(std::min(part.find_first_not_of(blanks), part.size()));
        return part.substr(0, part.find_last_not_of(blanks) + 1);
    };
    while (!text.empty()) {
        const std::string_view item = text.substr(0, text.find(','));
        text.remove_prefix(std::min(text.size(), item.size() + 1));
        const std::size_t equals = item.find('=');
        const std::string_view keyword = trimmed(item.substr(0, equals));
        if (equals == std::string_view::npos || keyword.empty()) {
            throw Error(ErrorCode::invalid_argument, "'" + std::string(item) + "' is not keyword=value");
        }
        if (!key.get(keyword).empty()) {
            throw Error(ErrorCode::invalid_argument, "the keyword " + std::string(keyword) + " stands twice");
        }
        key.set(keyword, trimmed(item.substr(equals + 1)));
    }
    return key;
}

Key& Key::set(std::string_view keyword, std::string_view value) {
    const auto found = std::ranges::find(entries_, keyword, &Entry::first);
    if (found != entries_.end()) {
        found->second = value;
    } else {
        entries_.emplace_back(keyword, value);
    }
    return *this;
}

std::string_view Key::get(std::string_view keyword) const noexcept {
    for (const Entry& entry : entries_) {
        if (entry.first == keyword) return entry.second;
    }
    return {};
}

std::string Key::text() const {
    std::string text;
    for (const auto& [keyword, value] : entries_) {
        if (!text.empty()) text += ',';
        text.append(keyword).append("=").append(value);
    }
    return text;
}

}  // namespace hakobi
