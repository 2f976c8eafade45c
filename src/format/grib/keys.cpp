#include "format/grib/keys.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "format/grib/eccodes.hpp"
#include "format/grib/foreign.hpp"
#include "format/grib/message.hpp"

namespace hakobi::format::grib {
namespace {

constexpr std::size_t max_kinds = 16384;  // about 10 MB

enum class Source : std::uint8_t { text, date, time, step_end, step_range, level, number };

struct Noted {
    std::string keyword, text;
    Source source = Source::text;
};

/// The known keywords of a kind of messages.
struct Note {
    std::vector<Noted> keywords;
    bool must_ask = false;
};

/// Keywords that stand for bytes of the kind alone, whatever the product; a kind with others (hdate, channel,
/// …) that might come from bytes that were left out is asked of ecCodes each time.
constexpr std::array<std::string_view, 16> constants{
    "class",  "stream",  "type", "expver",   "levtype", "domain",   "model",       "param",
    "origin", "process", "grid", "steptype", "derived", "quantile", "probability", "chem"};

void append(std::string& text, std::int64_t value) {
    std::array<char, 24> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    text.append(digits.data(), end);
}

std::string value_of(Source source, const Message& message) {
    std::string text;
    switch (source) {
        case Source::date:
            append(text, *message.date);
            break;
        case Source::time:
            append(text, *message.time);
            if (text.size() < 4) text.insert(0, 4 - text.size(), '0');
            break;
        case Source::step_end:
            append(text, *message.step_end);
            break;
        case Source::step_range:
            append(text, *message.step_start);
            text += '-';
            append(text, *message.step_end);
            break;
        case Source::level:
            append(text, *message.level);
            break;
        case Source::number:
            append(text, *message.number);
            break;
        case Source::text:
            break;
    }
    return text;
}

/// The numbers of the message that may stand for a keyword, most usual first; empty for one that never
/// varies.
std::vector<Source> sources_of(std::string_view keyword, const Message& message) {
    const auto one = [](const auto& number, Source source) {
        return number.has_value() ? std::vector<Source>{source} : std::vector<Source>{};
    };
    if (keyword == "date") return one(message.date, Source::date);
    if (keyword == "time") return one(message.time, Source::time);
    if (keyword == "levelist") return one(message.level, Source::level);
    if (keyword == "number") return one(message.number, Source::number);
    if (keyword == "step" && message.step_end) return {Source::step_end, Source::step_range};
    return {};
}

Note make_note(const Keywords& keywords, const Message& message) {
    Note note;
    const bool is_any_left_out = message.date || message.step_end || message.level || message.number;
    for (const auto& [keyword, text] : keywords) {
        Noted noted{.keyword = keyword, .text = text};
        const std::vector<Source> sources = sources_of(keyword, message);
        for (const Source source : sources) {
            if (noted.source == Source::text && value_of(source, message) == text) noted.source = source;
        }
        if (!sources.empty() && noted.source == Source::text) note.must_ask = true;
        const bool may_vary = keyword == "date" || keyword == "time" || keyword == "levelist" ||
                              keyword == "number" || keyword == "step";
        bool is_constant = may_vary;
        for (const std::string_view name : constants) is_constant = is_constant || name == keyword;
        if (!is_constant && is_any_left_out) note.must_ask = true;
        note.keywords.push_back(std::move(noted));
    }
    return note;
}

struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};

class Notes {
  public:
    std::shared_ptr<const Note> find(const std::string& kind) {
        const std::shared_lock lock(mutex_);
        const auto found = notes_.find(kind);
        return found == notes_.end() ? nullptr : found->second;
    }
    void keep(std::string kind, Note note) {
        auto kept = std::make_shared<const Note>(std::move(note));
        const std::unique_lock lock(mutex_);
        if (notes_.size() >= max_kinds) notes_.clear();
        notes_.insert_or_assign(std::move(kind), std::move(kept));
    }
    std::atomic<std::int64_t> num_read = 0, num_asked = 0;

  private:
    std::shared_mutex mutex_;
    std::unordered_map<std::string, std::shared_ptr<const Note>, TextHash, std::equal_to<>> notes_;
};

Notes& notes() {
    static Notes all;
    return all;
}

/// Seconds of a step "1800" or "0-1800", also "0s-1800s" as newer versions of ecCodes write it; empty for
/// other texts.
std::vector<std::int64_t> seconds_of(std::string_view text) {
    std::vector<std::int64_t> seconds;
    while (true) {
        std::int64_t number = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (error != std::errc() || number < 0) return {};
        seconds.push_back(number);
        text.remove_prefix(static_cast<std::size_t>(end - text.data()));
        if (text.starts_with('s')) text.remove_prefix(1);
        if (text.empty()) return seconds;
        if (text[0] != '-') return {};
        text.remove_prefix(1);
    }
}

/// The step as MARS has it: hours, or with a unit what is no whole number of hours ("90m", "0-30m", "45s").
/// Asked by itself such a step is rounded to hours, or given in another unit, by versions of ecCodes before
/// 2.33. Empty if seconds do not say it.
std::string exact_step(Eccodes& eccodes, const Handle& handle, const char* key) {
    const auto set_unit = [&](const char* unit) {
        std::size_t length = std::strlen(unit);
        return eccodes.set_string(handle.get(), "stepUnits", unit, &length) == 0;
    };
    if (!set_unit("s")) return {};
    const std::optional<std::string> in_seconds = handle.text(key);
    (void)set_unit("h");  // as it was
    std::string step;
    for (const std::int64_t seconds : seconds_of(in_seconds.value_or(""))) {
        if (!step.empty()) step += '-';
        const bool is_minutes = seconds % 60 == 0, is_hours = seconds % 3600 == 0;
        append(step, is_hours ? seconds / 3600 : is_minutes ? seconds / 60 : seconds);
        if (!is_hours) step += is_minutes ? 'm' : 's';
    }
    return step;
}

}  // namespace

Result<Keywords> ask_eccodes(std::span<const std::byte> message) {
    Result<Eccodes*> loaded = Eccodes::get();
    if (!loaded.ok()) return loaded.status();
    Eccodes& eccodes = *loaded.value();
    const std::lock_guard lock(eccodes.mutex);
    const Handle handle(eccodes, eccodes.new_from_message(nullptr, message.data(), message.size()));
    if (handle.get() == nullptr) return Status(ErrorCode::format, "ecCodes cannot read this GRIB message");
    Keywords keywords;
    const std::string step = exact_step(eccodes, handle, "step");
    grib_keys_iterator* iterator = eccodes.new_iterator(handle.get(), 0, "mars");
    if (iterator == nullptr)
        return Status(ErrorCode::format, "ecCodes finds no MARS keywords in this GRIB message");
    while (eccodes.next(iterator) != 0) {
        const char* keyword = eccodes.name(iterator);
        if (keyword == nullptr || keyword[0] == '_') continue;  // ecCodes' own
        if (!step.empty() && std::string_view(keyword) == "step") {
            keywords.emplace_back(keyword, step);
        } else if (std::optional<std::string> text = handle.text(keyword)) {
            keywords.emplace_back(keyword, *std::move(text));
        }
    }
    eccodes.delete_iterator(iterator);
    const auto is_class = [](const auto& entry) { return entry.first == "class"; };
    if (std::ranges::any_of(keywords, is_class)) return keywords;
    // MARS has an interval's end alone. Two intervals may end together.
    for (auto& [keyword, text] : keywords) {
        if (keyword != "step") continue;
        if (std::string range = exact_step(eccodes, handle, "stepRange"); !range.empty())
            text = std::move(range);
    }
    return foreign_keywords(handle, keywords);
}

Result<Keywords> keywords_of(std::span<const std::byte> bytes) {
    Result<Message> read = read_message(bytes);
    if (!read.ok()) return read.status();
    const Message& message = read.value();
    const std::shared_ptr<const Note> note = notes().find(message.kind);
    if (note == nullptr || note->must_ask) {
        Result<Keywords> asked = ask_eccodes(bytes);
        if (!asked.ok()) return asked.status();
        notes().num_asked.fetch_add(1, std::memory_order_relaxed);
        if (note == nullptr) notes().keep(message.kind, make_note(asked.value(), message));
        return asked;
    }
    notes().num_read.fetch_add(1, std::memory_order_relaxed);
    Keywords keywords;
    keywords.reserve(note->keywords.size());
    for (const Noted& noted : note->keywords) {
        keywords.emplace_back(noted.keyword,
                              noted.source == Source::text ? noted.text : value_of(noted.source, message));
    }
    return keywords;
}

KeywordCounters keyword_counters() {
    return {notes().num_read.load(), notes().num_asked.load()};
}

}  // namespace hakobi::format::grib
