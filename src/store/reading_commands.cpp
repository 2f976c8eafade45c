#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include "overview/statistics.hpp"
#include "storage/file.hpp"
#include "store/commands.hpp"

namespace hakobi::store {

namespace {

struct ListArguments : CommandArguments {
    bool with_replaced = false;
    bool is_long = false;
    bool in_file_order = false;
    bool is_count = false;
    bool is_json = false;
    bool is_short = false;
    std::string output = "-";

    [[nodiscard]] Selection selection() const {
        return {.order = in_file_order ? FieldOrder::file : FieldOrder::key, .with_replaced = with_replaced};
    }
};

void put_out(const std::string& text) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) {
        throw Error(ErrorCode::io, "cannot write the output");
    }
}

/// "2026-11-23T18:00:00.123Z"
std::string time_text(std::int64_t ns) {
    const std::time_t seconds = ns / 1'000'000'000;
    std::tm parts{};
    ::gmtime_r(&seconds, &parts);
    std::array<char, 64> text{};
    const std::size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
    std::snprintf(text.data() + length, text.size() - length, ".%03dZ",
                  static_cast<int>(ns / 1'000'000 % 1000));
    return text.data();
}

/// A line for --json: all that is known of a field.
std::string json_line(const FieldInfo& info) {
    std::string key;
    for (const auto& [keyword, value] : info.key.entries()) {
        key += (key.empty() ? "" : ", ") + overview::json(keyword) + ": " + overview::json(value);
    }
    return "{\"key\": {" + key + "}, \"file\": " + overview::json(info.file) +
           ", \"offset_bytes\": " + std::to_string(info.offset_bytes) +
           ", \"length_bytes\": " + std::to_string(info.length_bytes) + ", \"flushed\": \"" +
           time_text(info.flushed_ns) + "\", \"form\": " + overview::json(info.form) +
           ", \"is_replaced\": " + (info.is_replaced ? "true" : "false") + "}";
}

/// A field's line in the list. `text` has its key already.
void append_columns(const ListArguments& arguments, bool with_place, const FieldInfo& info,
                    std::string& text) {
    if (with_place) {
        text += " " + info.file + " " + std::to_string(info.offset_bytes) + " " +
                std::to_string(info.length_bytes);
    }
    if (arguments.is_long) {
        text += " " + std::to_string(info.length_bytes) + " bytes " + time_text(info.flushed_ns);
        if (!info.form.empty()) text += " " + info.form;
    }
    if (info.is_replaced) text += " replaced";
}

/// The lines of a list for people: what all fields have in common is said once, above them.
class ShortLines {
  public:
    explicit ShortLines(const Listing& fields) : fields_(fields) {
        for (std::string& keyword : fields.keywords()) {
            const std::string first = fields.value(0, keyword);
            std::int64_t same = 1;
            while (same < fields.size() && fields.value(same, keyword) == first) ++same;
            if (same < fields.size()) {
                differing_.push_back(std::move(keyword));
            } else if (!first.empty()) {
                common_ += (common_.empty() ? "" : ",") + keyword + "=" + first;
            }
        }
    }
    [[nodiscard]] std::string head() const {
        return "all " + std::to_string(fields_.size()) + ": " + common_ + "\n";
    }
    void append(std::int64_t index, std::string& text) const {
        const std::size_t begin = text.size();
        for (const std::string& keyword : differing_) {
            const std::string value = fields_.value(index, keyword);
            if (value.empty()) continue;
            text.append(text.size() > begin ? "," : "").append(keyword).append(1, '=').append(value);
        }
        if (text.size() == begin && !differing_.empty()) text.append(differing_.front()).append(1, '=');
    }

  private:
    const Listing& fields_;
    std::string common_;
    std::vector<std::string> differing_;
};

void print_fields(const ListArguments& arguments, bool with_place) {
    const Store store = Store::open(arguments.path);
    const Listing fields = store.list(arguments.text(), arguments.selection());
    print_warnings(store);
    if (arguments.is_count && arguments.is_json) {
        std::printf("{\"fields\": %lld, \"bytes\": %lld}\n", static_cast<long long>(fields.size()),
                    static_cast<long long>(fields.total_bytes()));
        return;
    }
    if (arguments.is_count) {
        std::printf("%lld fields, %s\n", static_cast<long long>(fields.size()),
                    bytes_text(static_cast<double>(fields.total_bytes())).c_str());
        return;
    }
    constexpr std::size_t write_bytes = 1 << 20;
    const bool is_short = !arguments.is_json && arguments.is_short && fields.size() > 1;
    const std::optional<ShortLines> lines = is_short ? std::optional<ShortLines>(fields) : std::nullopt;
    std::string text = lines ? lines->head() : "";
    for (std::int64_t i = 0; i < fields.size(); ++i) {
        if (arguments.is_json) {
            text += json_line(fields[i]);
        } else {
            lines ? lines->append(i, text) : fields.append_text(i, text);
            if (with_place || arguments.is_long || arguments.with_replaced) {
                append_columns(arguments, with_place, fields[i], text);
            }
        }
        text += '\n';
        if (text.size() > write_bytes) {
            put_out(text);
            text.clear();
        }
    }
    put_out(text);
}

void get_fields(const ListArguments& arguments) {
    const Store store = Store::open(arguments.path);
    const Listing fields = store.list(arguments.text(), arguments.selection());
    print_warnings(store);
    if (fields.size() == 0) {
        const std::string request = arguments.text();
        throw Error(ErrorCode::not_found, request.empty()
                                              ? arguments.path + " holds no field"
                                              : "no field of " + arguments.path + " has all of " + request);
    }
    const bool to_stdout = arguments.output == "-";
    if (to_stdout && ::isatty(STDOUT_FILENO) != 0) {
        throw Error(ErrorCode::invalid_argument,
                    "the fields are binary: give a file with -o, or redirect the output");
    }
    if (to_stdout) {
        store.retrieve(fields, [](const FieldInfo&, std::span<const std::byte> bytes) {
            if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size()) {
                throw Error(ErrorCode::io, "cannot write the output");
            }
        });
        return;
    }
    auto file = storage::open_file(arguments.output,
                                   {.read = false, .write = true, .create = true, .truncate = true});
    file.status().throw_if_error();
    std::int64_t end_bytes = 0;
    store.retrieve(fields, [&](const FieldInfo&, std::span<const std::byte> bytes) {
        file.value()->write_at(bytes, end_bytes).throw_if_error();
        end_bytes += std::ssize(bytes);
    });
    file.value()->close().throw_if_error();
    std::fprintf(stderr, "%lld fields, %s in %s\n", static_cast<long long>(fields.size()),
                 bytes_text(static_cast<double>(end_bytes)).c_str(), arguments.output.c_str());
}

}  // namespace

void CommandArguments::add_to(CLI::App& command, bool takes_request) {
    command.add_option("STORE", path, "the store: a folder, s3://bucket/prefix, rados:pool/prefix")
        ->required();
    if (takes_request) add_request_to(command);
}

void CommandArguments::add_request_to(CLI::App& command) {
    command.add_option(
        "REQUEST", items,
        "keyword=value,…: a value may be a list a/b, a range a/to/b/by/c, or *; nothing is everything");
}

std::string CommandArguments::text() const {
    std::string joined;
    for (const std::string& item : items) joined.append(joined.empty() ? "" : ",").append(item);
    return joined;
}

void print_warnings(const Store& store) {
    for (const std::string& warning : store.warnings()) {
        std::fprintf(stderr, "%s: warning: %s\n", program_invocation_short_name, warning.c_str());
    }
}

std::string bytes_text(double bytes) {
    constexpr const char* units[] = {"bytes", "kB", "MB", "GB", "TB", "PB"};
    int unit = 0;
    while (bytes >= 999.5 && unit < 5) {
        bytes /= 1000;
        ++unit;
    }
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), unit == 0 || bytes >= 99.95 ? "%.0f %s" : "%.1f %s", bytes,
                  units[unit]);
    return text.data();
}

void add_reading_commands(CLI::App& app) {
    const auto arguments = std::make_shared<ListArguments>();
    CLI::App* list = app.add_subcommand("list", "Print the fields that a request selects, one a line.");
    arguments->add_to(*list);
    list->add_flag("--all", arguments->with_replaced, "also fields that a later flush replaced");
    list->add_flag("-l,--long", arguments->is_long, "with size, time of the flush and form");
    list->add_flag("--count", arguments->is_count, "only how many there are");
    list->add_flag("--file-order", arguments->in_file_order, "as they lie in the files");
    list->add_flag("--json", arguments->is_json, "JSON lines, one a field, with all that is known of it");
    list->add_flag("--short,!--whole", arguments->is_short,
                   "only the keywords that differ, the others once above them: the default on a terminal");
    list->callback([arguments, list] {
        if (list->count("--short") == 0) arguments->is_short = ::isatty(STDOUT_FILENO) != 0;
        print_fields(*arguments, false);
    });

    CLI::App* where =
        app.add_subcommand("where", "Print for each field its file, offset and length in bytes.");
    arguments->add_to(*where);
    where->add_flag("--all", arguments->with_replaced, "also fields that a later flush replaced");
    where->add_flag("--file-order", arguments->in_file_order, "as they lie in the files");
    where->add_flag("--json", arguments->is_json, "JSON lines, as of list");
    where->callback([arguments] { print_fields(*arguments, true); });

    CLI::App* get =
        app.add_subcommand("get", "Write the fields that a request selects, one behind the other.");
    arguments->add_to(*get);
    get->add_option("-o,--output", arguments->output, "the file to write; - is the standard output");
    get->add_flag("--file-order", arguments->in_file_order, "as they lie in the files: the fastest");
    get->callback([arguments] { get_fields(*arguments); });
}

}  // namespace hakobi::store
