#include "storage/objects/xml.hpp"

#include <array>
#include <charconv>
#include <system_error>
#include <utility>

namespace hakobi::storage {
namespace {

constexpr std::array<std::pair<std::string_view, char>, 5> entities = {
    {{"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}, {"&amp;", '&'}}};

void append_utf8(std::string& text, unsigned code) {
    const auto add = [&](unsigned bits) { text += static_cast<char>(bits); };
    if (code < 0x80) return add(code);
    if (code < 0x800) {
        add(0xc0 | code >> 6);
    } else if (code < 0x10000) {
        add(0xe0 | code >> 12);
        add(0x80 | (code >> 6 & 0x3f));
    } else {
        add(0xf0 | (code >> 18 & 7));
        add(0x80 | (code >> 12 & 0x3f));
        add(0x80 | (code >> 6 & 0x3f));
    }
    add(0x80 | (code & 0x3f));
}

std::string unescaped(std::string_view text) {
    std::string plain;
    while (!text.empty()) {
        if (text.starts_with("&#")) {
            const std::size_t end = text.find(';');
            const bool is_hex = text.size() > 2 && text[2] == 'x';
            const char* const digits = text.data() + (is_hex ? 3 : 2);
            constexpr unsigned most_code = 0x10ffff;
            unsigned code = 0;
            std::from_chars_result read{digits, std::errc::invalid_argument};
            if (end != std::string_view::npos)
                read = std::from_chars(digits, text.data() + end, code, is_hex ? 16 : 10);
            if (read.ec == std::errc() && read.ptr == text.data() + end && code > 0 && code <= most_code) {
                append_utf8(plain, code);
                text.remove_prefix(end + 1);
                continue;
            }
        }
        std::size_t length = 1;
        char c = text.front();
        for (const auto& [entity, meant] : entities) {
            if (!text.starts_with(entity)) continue;
            length = entity.size();
            c = meant;
        }
        plain += c;
        text.remove_prefix(length);
    }
    return plain;
}

struct Found {
    std::string_view inside, behind;
};

std::optional<Found> find_element(std::string_view xml, std::string_view name) {
    for (std::size_t at = 0; (at = xml.find('<', at)) != std::string_view::npos; ++at) {
        std::string_view rest = xml.substr(at + 1);
        if (!rest.starts_with(name)) continue;
        rest.remove_prefix(name.size());
        if (rest.empty() || (rest.front() != '>' && rest.front() != ' ' && rest.front() != '/')) continue;
        const std::size_t head_end = rest.find('>');
        if (head_end == std::string_view::npos) return {};
        const bool is_empty = head_end > 0 && rest[head_end - 1] == '/';
        rest.remove_prefix(head_end + 1);
        if (is_empty) return Found{{}, rest};
        const std::string end_tag = "</" + std::string(name) + ">";
        const std::size_t end = rest.find(end_tag);
        if (end == std::string_view::npos) return {};
        return Found{rest.substr(0, end), rest.substr(end + end_tag.size())};
    }
    return {};
}

}  // namespace

std::optional<std::string_view> xml_element(std::string_view xml, std::string_view name) {
    const std::optional<Found> found = find_element(xml, name);
    return found ? std::optional(found->inside) : std::nullopt;
}

std::vector<std::string_view> xml_elements(std::string_view xml, std::string_view name) {
    std::vector<std::string_view> all;
    while (const std::optional<Found> found = find_element(xml, name)) {
        all.push_back(found->inside);
        xml = found->behind;
    }
    return all;
}

std::string xml_text(std::string_view xml, std::string_view name) {
    return unescaped(xml_element(xml, name).value_or(""));
}

std::string xml_escaped(std::string_view text) {
    std::string escaped;
    for (const char c : text) {
        bool is_special = false;
        for (const auto& [entity, meant] : entities) {
            if (c != meant) continue;
            escaped += entity;
            is_special = true;
        }
        if (!is_special) escaped += c;
    }
    return escaped;
}

}  // namespace hakobi::storage
