#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <string_view>

#include "base/nearest.hpp"
#include "capi/guard.hpp"
#include "capi/handles.hpp"

using hakobi::Error;
using hakobi::ErrorCode;
using hakobi::OutputOptions;
using hakobi::capi::guarded;
using hakobi::capi::text_or;

namespace {

[[noreturn]] void refuse_value(std::string_view name, std::string_view value, std::string_view wanted) {
    throw Error(ErrorCode::invalid_argument, "option " + std::string(name) + ": \"" + std::string(value) +
                                                 "\" is not " + std::string(wanted));
}

template <class Integer>
Integer integer(std::string_view name, std::string_view value) {
    Integer number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc{} || end != value.data() + value.size())
        refuse_value(name, value, "a whole number in range");
    return number;
}

bool yes_or_no(std::string_view name, std::string_view value) {
    if (value == "1" || value == "true" || value == "yes") return true;
    if (value == "0" || value == "false" || value == "no") return false;
    refuse_value(name, value, "1 or 0");
}

// One row an option of OutputOptions that is a single value.
struct Setter {
    std::string_view name;
    void (*set)(OutputOptions&, std::string_view name, std::string_view value);
};
constexpr std::array setters{
    Setter{"method", [](OutputOptions& o, std::string_view, std::string_view v) { o.method = v; }},
    Setter{"format", [](OutputOptions& o, std::string_view, std::string_view v) { o.format = v; }},
    Setter{"title", [](OutputOptions& o, std::string_view, std::string_view v) { o.title = v; }},
    Setter{"time_units", [](OutputOptions& o, std::string_view, std::string_view v) { o.time_units = v; }},
    Setter{"calendar", [](OutputOptions& o, std::string_view, std::string_view v) { o.calendar = v; }},
    Setter{"compression", [](OutputOptions& o, std::string_view, std::string_view v) { o.compression = v; }},
    Setter{"significant_bits", [](OutputOptions& o, std::string_view n,
                                  std::string_view v) { o.significant_bits = integer<int>(n, v); }},
    Setter{"sync",
           [](OutputOptions& o, std::string_view n, std::string_view v) { o.sync = yes_or_no(n, v); }},
    Setter{"asynchronous", [](OutputOptions& o, std::string_view n,
                              std::string_view v) { o.asynchronous = yes_or_no(n, v); }},
    Setter{"asynchronous_bytes",
           [](OutputOptions& o, std::string_view n, std::string_view v) {
               o.asynchronous_bytes = integer<std::int64_t>(n, v);
           }},
    Setter{"writer_stride", [](OutputOptions& o, std::string_view n,
                               std::string_view v) { o.writer_stride = integer<int>(n, v); }},
    Setter{"buffer_bytes", [](OutputOptions& o, std::string_view n,
                              std::string_view v) { o.buffer_bytes = integer<std::int64_t>(n, v); }},
    Setter{"resume",
           [](OutputOptions& o, std::string_view n, std::string_view v) { o.resume = yes_or_no(n, v); }},
    Setter{"replace",
           [](OutputOptions& o, std::string_view n, std::string_view v) { o.replace = yes_or_no(n, v); }},
    Setter{"overview",
           [](OutputOptions& o, std::string_view n, std::string_view v) { o.overview = yes_or_no(n, v); }},
    Setter{"keep_pieces",
           [](OutputOptions& o, std::string_view n, std::string_view v) { o.keep_pieces = yes_or_no(n, v); }},
};

void set(OutputOptions& options, std::string_view name, std::string_view value) {
    std::array<std::string_view, setters.size()> names;
    for (std::size_t i = 0; i < setters.size(); ++i) {
        if (setters[i].name == name) {
            setters[i].set(options, name, value);
            return;
        }
        names[i] = setters[i].name;
    }
    std::string text = "there is no option \"" + std::string(name) + "\"";
    if (const std::string nearest = hakobi::nearest_name(name, names); !nearest.empty())
        text += ": did you mean " + nearest + "?";
    throw Error(ErrorCode::invalid_argument, text);
}

// Runs a setter; what it refuses is kept too, so that create tells the other ranks.
template <class Body>
int refusing(hakobi_options* options, Body&& body) {
    return guarded([&] {
        if (options == nullptr) throw Error(ErrorCode::invalid_argument, "options is NULL");
        try {
            body();
        } catch (const Error& error) {
            options->refused.keep_first({error.code(), error.what()});
            throw;
        } catch (const std::bad_alloc&) {
            options->refused.keep_first({ErrorCode::out_of_memory, "out of memory"});
            throw;
        }
    });
}

void require(const void* pointer, const char* what) {
    if (pointer == nullptr) throw Error(ErrorCode::invalid_argument, std::string(what) + " is NULL");
}

}  // namespace

int hakobi_options_create(hakobi_options** options) {
    return guarded([&] {
        require(options, "hakobi_options_create: options");
        *options = nullptr;
        *options = std::make_unique<hakobi_options>().release();
    });
}

int hakobi_options_set(hakobi_options* options, const char* name, const char* value) {
    return refusing(options, [&] {
        require(name, "hakobi_options_set: name");
        require(value, "hakobi_options_set: value");
        set(options->values, name, value);
    });
}

int hakobi_options_set_hint(hakobi_options* options, const char* name, const char* value) {
    return refusing(options, [&] {
        require(name, "hakobi_options_set_hint: name");
        require(value, "hakobi_options_set_hint: value");
        options->values.hints[name] = value;
    });
}

int hakobi_options_add_axis(hakobi_options* options, const char* name, const char* units,
                            const char* standard_name, const double* values, int64_t num_values) {
    return refusing(options, [&] {
        require(name, "hakobi_options_add_axis: name");
        if (num_values < 0 || (values == nullptr && num_values > 0)) {
            throw Error(ErrorCode::invalid_argument, "axis " + std::string(name) + ": no values");
        }
        options->values.axes.push_back({.name = name,
                                        .units = text_or(units, "1"),
                                        .standard_name = text_or(standard_name),
                                        .values = std::vector<double>(values, values + num_values),
                                        .attributes = {}});
    });
}

void hakobi::capi::add_attribute(Attributes& attributes, const hakobi_attribute& attribute) {
    const std::string name = text_or(attribute.name);
    const auto refuse = [&](const char* text) {
        throw Error(ErrorCode::invalid_argument, "attribute '" + name + "': " + text);
    };
    Attribute value;
    if (attribute.text != nullptr) {
        value = attribute.text;
    } else if (attribute.num_values < 0 ||
               (attribute.doubles == nullptr) == (attribute.integers == nullptr)) {
        refuse("it has no text and no numbers");
    } else if (attribute.doubles != nullptr) {
        value = std::vector<double>(attribute.doubles, attribute.doubles + attribute.num_values);
    } else {
        value = std::vector<std::int64_t>(attribute.integers, attribute.integers + attribute.num_values);
    }
    if (!attributes.emplace(name, std::move(value)).second) refuse("it is given twice");
}

int hakobi_options_set_attribute(hakobi_options* options, const char* axis,
                                 const hakobi_attribute* attribute) {
    return refusing(options, [&] {
        require(attribute, "hakobi_options_set_attribute: attribute");
        hakobi::Attributes* attributes = &options->values.attributes;
        if (axis != nullptr) {
            const auto found =
                std::ranges::find(options->values.axes, std::string_view(axis), &hakobi::Axis::name);
            if (found == options->values.axes.end())
                throw Error(ErrorCode::invalid_argument, "there is no axis " + std::string(axis));
            attributes = &found->attributes;
        }
        hakobi::capi::add_attribute(*attributes, *attribute);
    });
}

int hakobi_options_refuse(hakobi_options* options, const char* text) {
    return refusing(options, [&] { throw Error(ErrorCode::invalid_argument, text_or(text)); });
}

void hakobi_options_free(hakobi_options* options) {
    delete options;
}
