#include "series/names.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <charconv>

#include "format/format.hpp"
#include "format/registry.hpp"
#include "overview/overview.hpp"

namespace hakobi::series {
namespace {

constexpr std::size_t fewest_digits = 6, token_digits = 16;
constexpr std::string_view decimal = "0123456789", hexadecimal = "0123456789abcdef";
constexpr std::string_view part_suffix = ".part", whole_suffix = ".whole", stage_suffix = ".stage";
constexpr std::string_view view_infix = ".series", marker_suffix = ".staged", lock_suffix = ".lock";
constexpr std::string_view pieces_suffix = ".pieces", gathered_suffix = ".gathered", mesh_suffix = ".mesh";

/// A text that may stand behind the name of a step.
struct Ending {
    std::string_view text;
    Kind kind;
    Name::Form form = Name::Form::final;
};
constexpr std::array finals = {
    Ending{"", Kind::step},
    Ending{mesh_suffix, Kind::mesh},
    Ending{overview::suffix, Kind::overview},
    Ending{".pieces", Kind::pieces},
    Ending{".pieces.gathered", Kind::pieces, Name::Form::gathered},
    Ending{".mesh.pieces", Kind::mesh_pieces},
    Ending{".mesh.pieces.gathered", Kind::mesh_pieces, Name::Form::gathered},
};
/// The same before what makes a name a temporary one.
constexpr std::array temporaries = {
    Ending{"", Kind::step},
    Ending{mesh_suffix, Kind::mesh},
    Ending{overview::suffix, Kind::overview},
    Ending{commit_suffix, Kind::commit},
};

/// Takes ".0123456789abcdef" off the front.
std::optional<std::uint64_t> take_token(std::string_view& rest) {
    if (rest.size() < 1 + token_digits || rest[0] != '.') return std::nullopt;
    const std::string_view digits = rest.substr(1, token_digits);
    if (digits.find_first_not_of(hexadecimal) != std::string_view::npos) return std::nullopt;
    std::uint64_t token = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), token, 16);
    rest.remove_prefix(1 + token_digits);
    return token;
}

/// Whether `rest` is what a temporary name has behind the final one, and nothing else.
bool take_temporary(std::string_view rest, Name& name) {
    const std::optional<std::uint64_t> token = take_token(rest);
    if (!token || (rest != part_suffix && rest != whole_suffix)) return false;
    name.form = rest == part_suffix ? Name::Form::part : Name::Form::whole;
    name.token = *token;
    return true;
}

/// Takes a format's extension off the front, behind which nothing stands, or a dot.
std::string_view take_extension(std::string_view& rest) {
    for (const format::Format* format : format::formats()) {
        const std::string_view extension = format->extension();
        if (!rest.starts_with(extension)) continue;
        if (rest.size() > extension.size() && rest[extension.size()] != '.') continue;
        rest.remove_prefix(extension.size());
        return extension;
    }
    return {};
}

/// Takes a number off the front that is written as step_path does; -1 where there is none.
std::int64_t take_number(std::string_view& rest) {
    const std::size_t num_digits = std::min(rest.find_first_not_of(decimal), rest.size());
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + num_digits, number);
    const bool is_written_so = num_digits == fewest_digits || (num_digits > fewest_digits && rest[0] != '0');
    if (error != std::errc() || !is_written_so) return -1;
    rest.remove_prefix(num_digits);
    return number;
}

/// "_000012.nc" and what stands behind it.
Name parse_step(std::string_view rest) {
    Name name;
    if (!rest.starts_with('_')) return name;
    rest.remove_prefix(1);
    const std::int64_t step = take_number(rest);
    const std::string_view extension = step < 0 ? std::string_view() : take_extension(rest);
    if (extension.empty()) return name;
    name.step = step;
    name.extension = extension;
    name.kind = Kind::other;
    for (const Ending& ending : finals) {
        if (rest != ending.text) continue;
        name.kind = ending.kind;
        name.form = ending.form;
    }
    for (const Ending& ending : temporaries) {
        if (rest.starts_with(ending.text) && take_temporary(rest.substr(ending.text.size()), name))
            name.kind = ending.kind;
    }
    return name;
}

/// ".series.nc", ".series.000256.nc". That chapters' numbers are steps is not asked: a longer one is a name
/// of ours, too.
Name parse_view(std::string_view rest) {
    Name name;
    if (!rest.starts_with(view_infix)) return name;
    rest.remove_prefix(view_infix.size());
    const bool is_chapter = rest.size() > 1 && rest[0] == '.' && rest[1] >= '0' && rest[1] <= '9';
    if (is_chapter) {
        const std::size_t end = std::min(rest.size(), rest.find_first_not_of(decimal, 1));
        std::from_chars(rest.data() + 1, rest.data() + end, name.step);
        rest.remove_prefix(end);
    }
    name.extension = take_extension(rest);
    const auto shows = [&](const format::Format* format) {
        return format->extension() == name.extension && format->series() != nullptr;
    };
    if (std::ranges::any_of(format::formats(), shows) && (rest.empty() || take_temporary(rest, name)))
        name.kind = is_chapter ? Kind::chapter : Kind::view;
    return name;
}

/// Names that the series has once.
Name parse_single(std::string_view rest) {
    Name name;
    if (rest == lock_suffix) name.kind = Kind::lock;
    if (rest == marker_suffix ||
        (rest.starts_with(marker_suffix) && take_temporary(rest.substr(marker_suffix.size()), name)))
        name.kind = Kind::marker;
    for (const format::Format* format : format::formats()) {
        if (format->store() == nullptr || rest != format->extension()) continue;
        name.kind = Kind::store;
        name.extension = format->extension();
    }
    if (const std::optional<std::uint64_t> token = take_token(rest); token && rest == stage_suffix) {
        name.kind = Kind::stage;
        name.token = *token;
    }
    return name;
}

/// Pieces of a file that has no step's name.
Name parse_pieces(std::string_view path) {
    Name name;
    for (const format::Format* format : format::formats()) {
        for (const Ending& ending : finals) {
            const bool is_of_pieces = ending.kind == Kind::pieces || ending.kind == Kind::mesh_pieces;
            if (!is_of_pieces || !path.ends_with(std::string(format->extension()).append(ending.text)))
                continue;
            name.kind = ending.kind;
            name.form = ending.form;
            name.extension = format->extension();
        }
    }
    return name;
}

struct Transition {
    FileState from;
    Event event;
    FileState to;
};
constexpr std::array transitions = {
    Transition{FileState::absent, Event::make, FileState::part},
    Transition{FileState::part, Event::store, FileState::stored},
    Transition{FileState::stored, Event::call_whole, FileState::whole},
    Transition{FileState::whole, Event::cut, FileState::cut},
    Transition{FileState::cut, Event::name, FileState::named},
    Transition{FileState::stored, Event::name, FileState::named},  // not hidden: there are no receipts
    Transition{FileState::part, Event::discard, FileState::absent},
    Transition{FileState::stored, Event::discard, FileState::absent},
    Transition{FileState::whole, Event::discard, FileState::absent},
    Transition{FileState::cut, Event::discard, FileState::absent},
    Transition{FileState::named, Event::discard, FileState::absent},  // by a run that replaces the series
};

}  // namespace

Name parse(std::string_view path, std::string_view prefix) {
    if (!path.starts_with(prefix)) return {};
    const std::string_view rest = path.substr(prefix.size());
    Name name = parse_step(rest);
    if (name.kind == Kind::none) name = parse_view(rest);
    if (name.kind == Kind::none) name = parse_single(rest);
    if (name.kind == Kind::none) return {};
    name.prefix = prefix;
    return name;
}

Name parse(std::string_view path) {
    const std::size_t begin = path.rfind('/') + 1;
    Name found;
    for (std::size_t at = path.find_first_of("_.", begin); at != std::string_view::npos;
         at = path.find_first_of("_.", at + 1)) {
        Name name = parse(path, path.substr(0, at));
        if (at == begin && !name.is_of_step()) continue;  // a prefix has a name
        if (name.kind != Kind::none && name.kind != Kind::other) return name;
        if (name.kind == Kind::other && found.kind == Kind::none) found = std::move(name);
    }
    return found.kind == Kind::none ? parse_pieces(path) : found;
}

std::optional<FileState> next(FileState state, Event event) {
    for (const Transition& transition : transitions) {
        if (transition.from == state && transition.event == event) return transition.to;
    }
    return std::nullopt;
}

std::optional<Event> to_complete(FileState state) {
    for (const Event event : {Event::call_whole, Event::cut, Event::name}) {
        if (next(state, event)) return event;
    }
    return std::nullopt;
}

std::string step_path(std::string_view prefix, std::int64_t step, std::string_view extension) {
    assert(step >= 0);
    std::string digits = std::to_string(step);
    if (digits.size() < fewest_digits) digits.insert(0, fewest_digits - digits.size(), '0');
    return std::string(prefix).append("_").append(digits).append(extension);
}

namespace {

/// ".0123456789abcdef"
std::string text_of(std::uint64_t token) {
    std::array<char, token_digits> digits{};
    const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), token, 16);
    const std::string_view written(digits.data(), end);
    return std::string(".").append(token_digits - written.size(), '0').append(written);
}

}  // namespace

std::string part_path(const std::string& path, std::uint64_t token) {
    return path + text_of(token).append(part_suffix);
}

std::string whole_path(const std::string& part) {
    assert(part.ends_with(part_suffix));
    return part.substr(0, part.size() - part_suffix.size()).append(whole_suffix);
}

std::string mesh_path(const std::string& step_path) {
    return std::string(step_path).append(mesh_suffix);
}

std::string pieces_folder(const std::string& step_path) {
    return std::string(step_path).append(pieces_suffix);
}

std::string gathered_folder(const std::string& pieces_folder) {
    return std::string(pieces_folder).append(gathered_suffix);
}

std::string folder_of_gathered(const std::string& gathered_folder) {
    assert(gathered_folder.ends_with(gathered_suffix));
    return gathered_folder.substr(0, gathered_folder.size() - gathered_suffix.size());
}

std::string file_of_pieces(const std::string& pieces_folder) {
    assert(pieces_folder.ends_with(pieces_suffix));
    return pieces_folder.substr(0, pieces_folder.size() - pieces_suffix.size());
}

std::string view_path(std::string_view prefix, std::string_view extension) {
    return std::string(prefix).append(view_infix).append(extension);
}

std::string chapter_path(std::string_view prefix, std::int64_t first_step, std::string_view extension) {
    std::string path = step_path(std::string(prefix).append(view_infix), first_step, extension);
    path[prefix.size() + view_infix.size()] = '.';
    return path;
}

std::string lock_path(std::string_view prefix) {
    return std::string(prefix).append(lock_suffix);
}

std::string marker_path(std::string_view prefix) {
    return std::string(prefix).append(marker_suffix);
}

std::string staged_prefix(std::string_view stage, std::string_view prefix, std::uint64_t token) {
    while (stage.size() > 1 && stage.ends_with('/')) stage.remove_suffix(1);
    const std::string name = file_name(prefix);
    return std::string(stage) + "/" + name + text_of(token).append(stage_suffix) + "/" + name;
}

std::string series_on_stage(const std::string& folder) {
    const Name name = parse(folder);
    if (folder.empty() || folder[0] != '/' || name.kind != Kind::stage) return {};
    return folder + "/" + file_name(name.prefix);
}

std::string folder_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos) return ".";
    return slash == 0 ? "/" : path.substr(0, slash);
}

std::string file_name(std::string_view path) {
    return std::string(path.substr(path.rfind('/') + 1));
}

}  // namespace hakobi::series
