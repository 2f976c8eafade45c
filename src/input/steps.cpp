// How the ranks learn what the steps say of themselves:
//
//  1. Rank 0 lists the prefix's folder and sends the list.
//  2. Rank r reads the steps r, r + size, …: a folder of thousands of files is opened once, not once a rank.
//  3. Rank 0 gets what they found, keeps one of equal descriptions, and sends the whole to all.
#include "input/steps.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "base/bytes.hpp"
#include "base/guard.hpp"
#include "base/nearest.hpp"
#include "format/calendar.hpp"
#include "format/dimensions.hpp"
#include "mpi/messages.hpp"
#include "series/piece_set.hpp"
#include "series/series.hpp"
#include "series/stage.hpp"
#include "series/steps_reader.hpp"
#include "series/unfinished.hpp"
#include "storage/file.hpp"

namespace hakobi::input {
namespace {

struct Listed {
    std::int64_t number = 0;
    std::string path;
    bool is_pieces = false;
};

/// The series that a file or a store of all its steps belongs to; "" where it belongs to none.
std::string name_of_series(const series::Name& name) {
    const bool is_of_all = name.kind == series::Kind::view || name.kind == series::Kind::chapter ||
                           name.kind == series::Kind::store;
    if (!is_of_all) return "";
    const Result<series::Series> found = series::find_series(name.prefix);
    return found.ok() && found.value().holds_steps() ? name.prefix : "";
}

/// A folder was named: the prefixes in it.
std::string of_folder(const std::string& folder) {
    const Result<std::vector<storage::Listed>> listed = storage::list_folder(folder);
    std::set<std::string> prefixes;
    if (listed.ok()) {
        for (const storage::Listed& each : listed.value()) {
            const series::Name name = series::parse(folder + "/" + each.name);
            const bool is_of_series = name.is_of_step() || name.kind == series::Kind::store;
            if (is_of_series && name.form == series::Name::Form::final) prefixes.insert(name.prefix);
        }
    }
    if (prefixes.empty()) return folder + " is a folder, and no step is in it";
    constexpr std::size_t most = 3;
    std::string text = folder + " is a folder: a prefix is one and how the steps' names begin, as ";
    std::size_t count = 0;
    for (const std::string& prefix : prefixes) {
        if (count == most) break;
        text += (count++ == 0 ? "" : ", ") + prefix;
    }
    return text + (prefixes.size() > most ? ", …" : "");
}

/// A file or a folder was named where a prefix is meant: what it is; "" where it is none.
std::string name_of_file(const std::string& prefix, const std::vector<storage::Listed>& listed) {
    const series::Name parts = series::parse(prefix);
    if (parts.is_of_step())
        return prefix + " names step " + std::to_string(parts.step) + " of the series " + parts.prefix +
               ": open that, and read this step of it";
    const std::string name = series::file_name(prefix);
    const auto found = std::ranges::find(listed, name, &storage::Listed::name);
    if (found == listed.end()) return storage::facts_of(prefix).is_folder() ? of_folder(prefix) : "";
    if (const std::string shown = name_of_series(parts); !shown.empty())
        return prefix + " shows all steps of the series " + shown + ": open that";
    if (found->kind == storage::Listed::Kind::folder) return of_folder(prefix);
    if (found->kind != storage::Listed::Kind::file) return "";
    return prefix + " is a file and no prefix of steps, which are files like " + prefix + "_000000.nc";
}

Status none_of(std::string prefix, std::string reason) {
    while (prefix.size() > 1 && prefix.ends_with('/')) prefix.pop_back();
    const std::string folder = series::folder_of(prefix);
    std::string text = "no whole step of " + prefix + " is there";
    std::vector<std::string> names;
    const Result<std::vector<storage::Listed>> listed = storage::list_folder(folder);
    const std::vector<storage::Listed> there = listed.ok() ? listed.value() : std::vector<storage::Listed>();
    if (std::string file = name_of_file(prefix, there); !file.empty())
        return {ErrorCode::not_found, std::move(file)};
    for (const storage::Listed& each : there) {
        const series::Name name = series::parse(each.name);
        if (name.is_of_step()) names.push_back(name.prefix);
    }
    if (!listed.ok()) text += " (there is no such folder)";
    const std::vector<std::string_view> candidates(names.begin(), names.end());
    const std::string nearest = nearest_name(prefix.substr(prefix.rfind('/') + 1), candidates);
    if (!reason.empty()) {
        text += ": " + std::move(reason);
    } else if (!nearest.empty()) {
        text += ": did you mean '" + nearest + "'?";
    } else if (listed.ok()) {
        text += ": a step is a file like " + prefix + "_000000.nc";
    }
    return {ErrorCode::not_found, text};
}

/// 1. Lists the steps in the folder; a file goes before pieces that have become one.
Result<std::vector<Listed>> list(const std::string& prefix) {
    Result<series::Series> series = series::find_series(prefix);
    if (series.ok() && (!series.value().parts.empty() || series::is_staged(prefix))) {
        series::complete_for_reading(prefix);
        series = series::find_series(prefix);
    }
    if (!series.ok()) return series.status();
    std::map<std::int64_t, Listed> listed;
    for (const series::Series::Entry& entry : series.value().pieces)
        listed[entry.step] = {
            entry.step, series::pieces_folder(series::step_path(prefix, entry.step, entry.extension)), true};
    for (const series::Series::Entry& entry : series.value().files)
        listed[entry.step] = {entry.step, entry.path, false};
    if (listed.empty()) return none_of(prefix, "");
    std::vector<Listed> in_order;
    for (auto& [number, step] : listed) in_order.push_back(std::move(step));
    return in_order;
}

/// Describes pieces as a file of them would be described.
Result<format::FoundStep> read_pieces(const std::string& folder) {
    Result<series::PieceSet> set = series::read_piece_set(folder);
    if (!set.ok()) return set.status();
    const format::StepDescription& step = set.value().description;
    const auto is_on_mesh = [](const format::FieldDescription& field) {
        return field.place != format::Place::grid;
    };
    if (std::ranges::any_of(step.fields, is_on_mesh)) {
        return Status(ErrorCode::unsupported,
                      folder + ": pieces of a mesh's steps are read when they are gathered (hakobi gather)");
    }
    Result<format::Dimensions> dimensions = format::dimensions_of(step);
    if (!dimensions.ok()) return dimensions.status();
    format::FoundStep found{.time = step.time,
                            .title = step.title,
                            .time_units = step.time_units,
                            .calendar = format::calendar_of(step.time_units, step.calendar),
                            .attributes = step.attributes,
                            .axes = step.axes,
                            .fields = {}};
    if (!step.title.empty()) found.attributes["title"] = step.title;
    for (std::size_t f = 0; f < step.fields.size(); ++f) {
        const format::FieldDescription& from = step.fields[f];
        format::FoundField field{.shown = {.name = from.name,
                                           .type = std::string(format::name_of(from.type)),
                                           .dims = {},
                                           .shape = from.global,
                                           .is_static = from.is_static},
                                 .type = from.type};
        for (const int d : dimensions.value().of_field[f])
            field.shown.dims.push_back(dimensions.value().all[static_cast<std::size_t>(d)].name);
        field.shown.attributes = from.attributes;
        const auto put = [&](const char* name, const std::string& text) {
            if (!text.empty()) field.shown.attributes[name] = text;
        };
        put("coordinates", format::coordinates_text(from));
        if (from.fill_value) field.shown.attributes["_FillValue"] = format::attribute_of(*from.fill_value);
        put("units", from.units);
        put("long_name", from.long_name);
        put("standard_name", from.standard_name);
        found.fields.push_back(std::move(field));
    }
    return found;
}

/// Steps as they travel: descriptions as bytes, so that equal ones are seen at once.
struct Told {
    std::vector<std::int64_t> numbers, steps_in_file, descriptions;
    std::vector<double> times;
    std::vector<std::vector<std::byte>> encoded;
    std::map<std::string, std::int64_t> known;     // the same bytes, and where they are
    std::map<std::int64_t, std::string> left_out;  ///< steps in pieces that are not whole, and why not

    void add(std::int64_t number, std::int64_t step_in_file, double time,
             std::vector<std::byte> description) {
        const std::string key(reinterpret_cast<const char*>(description.data()), description.size());
        const auto [at, is_new] = known.emplace(key, std::ssize(encoded));
        if (is_new) encoded.push_back(std::move(description));
        numbers.push_back(number);
        steps_in_file.push_back(step_in_file);
        times.push_back(time);
        descriptions.push_back(at->second);
    }
    [[nodiscard]] std::vector<std::byte> encode() const {
        ByteWriter writer;
        writer.put_all(numbers);
        writer.put_all(steps_in_file);
        writer.put_all(times);
        writer.put_all(descriptions);
        writer.put(std::ssize(left_out));
        for (const auto& [number, why] : left_out) {
            writer.put(number);
            writer.put_text(why);
        }
        for (const auto& description : encoded) writer.put_all(description);
        return writer.take();
    }
    void take(std::span<const std::byte> bytes) {
        ByteReader reader(bytes);
        const auto their_numbers = reader.get_all<std::int64_t>();
        const auto theirs_in_file = reader.get_all<std::int64_t>();
        const auto their_times = reader.get_all<double>();
        const auto their_descriptions = reader.get_all<std::int64_t>();
        for (auto num_left_out = reader.get<std::ptrdiff_t>(); num_left_out > 0 && reader.ok();
             --num_left_out) {
            const auto number = reader.get<std::int64_t>();
            left_out[number] = reader.get_text();
        }
        std::vector<std::vector<std::byte>> theirs;
        while (reader.ok() && !reader.at_end()) theirs.push_back(reader.get_all<std::byte>());
        for (std::size_t i = 0; i < their_numbers.size(); ++i)
            add(their_numbers[i], theirs_in_file[i], their_times[i],
                theirs[static_cast<std::size_t>(their_descriptions[i])]);
    }
};

/// 2.
Status read_own(const Comm& comm, std::span<const Listed> listed, Told& told) {
    assert(std::ranges::is_sorted(listed, {}, &Listed::number));
    const std::size_t first = comm ? static_cast<std::size_t>(comm.rank()) : 0;
    const std::size_t stride = comm ? static_cast<std::size_t>(comm.size()) : 1;
    series::StepsReader reader;
    for (std::size_t i = first; i < listed.size(); i += stride) {
        const Listed& step = listed[i];
        Result<format::FoundStep> found = step.is_pieces ? read_pieces(step.path) : reader.read(step.path);
        if (!found.ok()) {
            const ErrorCode code = found.status().code();
            if (!step.is_pieces || (code != ErrorCode::format && code != ErrorCode::not_found))
                return found.status();
            told.left_out[step.number] = found.status().text();
            continue;
        }
        const std::vector<std::byte> encoded = format::encode_found(found.value());
        for (std::int64_t s = 0; s < format::num_steps_of(found.value()); ++s)
            told.add(step.number + s, s, format::time_of(found.value(), s), encoded);
    }
    return {};
}

void broadcast_list(const Comm& comm, std::vector<Listed>& listed) {
    ByteWriter writer;
    for (const Listed& step : listed) {
        writer.put(step.number);
        writer.put(step.is_pieces);
        writer.put_text(step.path);
    }
    std::vector<std::byte> bytes = writer.take();
    mpi::broadcast(comm, bytes, 0);
    ByteReader reader(bytes);
    listed.clear();
    while (reader.ok() && !reader.at_end()) {
        Listed step;
        step.number = reader.get<std::int64_t>();
        step.is_pieces = reader.get<bool>();
        step.path = reader.get_text();
        listed.push_back(std::move(step));
    }
}

Status decode(const Told& told, std::span<const Listed> listed, Steps& steps) {
    std::map<std::int64_t, std::size_t> order;
    for (std::size_t i = 0; i < told.numbers.size(); ++i) order[told.numbers[i]] = i;
    for (const auto& [number, i] : order) {
        const auto file =
            std::ranges::lower_bound(listed, number - told.steps_in_file[i], {}, &Listed::number);
        assert(file != listed.end() && file->number + told.steps_in_file[i] == number);
        steps.numbers.push_back(number);
        steps.times.push_back(told.times[i]);
        steps.paths.push_back(file->path);
        steps.are_pieces.push_back(file->is_pieces ? 1 : 0);
        steps.steps_in_file.push_back(told.steps_in_file[i]);
        steps.descriptions.push_back(told.descriptions[i]);
    }
    for (const std::vector<std::byte>& encoded : told.encoded) {
        Result<format::FoundStep> found = format::decode_found(encoded);
        if (!found.ok()) return found.status();
        steps.found.push_back(std::move(found).value());
    }
    return {};
}

}  // namespace

mpi::Agreed agree(const Comm& comm, const Status& local) {
    return comm ? mpi::agree(comm, local) : mpi::Agreed{local, -1};
}

namespace {

/// Times are all in the last step's units: one that counts from another date is no number in them.
void leave_out_other_times(Steps& steps) {
    const format::FoundStep& last = steps.found[static_cast<std::size_t>(steps.descriptions.back())];
    for (std::size_t i = 0; i < steps.times.size(); ++i) {
        const format::FoundStep& step = steps.found[static_cast<std::size_t>(steps.descriptions[i])];
        if (step.time_units != last.time_units || step.calendar != last.calendar)
            steps.times[i] = std::numeric_limits<double>::quiet_NaN();
    }
}

}  // namespace

mpi::Agreed find_steps(const Comm& comm, const std::string& prefix, Steps& steps) noexcept {
    std::vector<Listed> listed;
    Status status;
    if (!comm || comm.rank() == 0) {
        status = guarded("listing steps", [&]() -> Status {
            Result<std::vector<Listed>> found = list(prefix);
            if (!found.ok()) return found.status();
            listed = std::move(found).value();
            return {};
        });
    }
    if (mpi::Agreed agreed = agree(comm, status); !agreed.status.ok()) return agreed;
    if (comm) broadcast_list(comm, listed);
    Told told;
    status = guarded("reading what steps say", [&] { return read_own(comm, listed, told); });
    if (mpi::Agreed agreed = agree(comm, status); !agreed.status.ok()) return agreed;
    if (comm) {
        const std::vector<std::vector<std::byte>> all = mpi::gather(comm, told.encode(), 0);
        Told merged;
        for (const std::vector<std::byte>& bytes : all) merged.take(bytes);
        std::vector<std::byte> bytes = merged.encode();
        mpi::broadcast(comm, bytes, 0);
        told = {};
        told.take(bytes);
    }
    if (!comm || comm.rank() == 0) series::tell_of_pieces(prefix, told.left_out);
    status = guarded("reading what steps say", [&]() -> Status {
        if (told.numbers.empty())
            return none_of(prefix, told.left_out.empty() ? "" : told.left_out.rbegin()->second);
        Status decoded = decode(told, listed, steps);
        if (decoded.ok()) leave_out_other_times(steps);
        return decoded;
    });
    return agree(comm, status);
}

}  // namespace hakobi::input
