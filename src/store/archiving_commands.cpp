#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <hakobi/grib.hpp>
#include <memory>

#include "store/commands.hpp"
#include "store/folder.hpp"
#include "store/grib_archiver.hpp"

namespace hakobi::store {

namespace {

constexpr int bad_input = 2;

struct ArchivingArguments {
    std::string path, schema, key, file, form;
    std::vector<std::string> files;
    bool is_table = false, is_deep = false;
};

bool begins_as_grib(std::span<const std::byte> bytes) {
    constexpr std::string_view head = "GRIB";
    return bytes.size() > head.size() &&
           std::string_view(reinterpret_cast<const char*>(bytes.data()), head.size()) == head;
}

/// Whether a file that is put is one GRIB message; checked against its key where it is.
bool is_checked_grib(const Schema& schema, const ArchivingArguments& arguments,
                     std::span<const std::byte> bytes) {
    const bool is_said = arguments.form == "grib";
    if (!is_said && (!arguments.form.empty() || !begins_as_grib(bytes))) return false;
    try {
        check_key_of_grib(schema, Key::parse(arguments.key), bytes);
    } catch (const Error& error) {
        if (error.code() == ErrorCode::unsupported) return true;  // without ecCodes nothing can be compared
        if (error.code() == ErrorCode::format && !is_said) return false;
        throw;
    }
    return true;
}

void run_put(const ArchivingArguments& arguments) {
    const auto bytes = storage::read_whole(arguments.file);
    bytes.status().throw_if_error();
    const Folder folder = Folder::open(arguments.path, "");
    const bool is_grib = is_checked_grib(folder.schema(), arguments, bytes.value());
    Store store = Store::open(arguments.path, {.asynchronous = false});
    store.archive(Key::parse(arguments.key), bytes.value(), is_grib ? "grib" : arguments.form);
    store.flush();
    store.close();
}

/// "1 field", "2 fields"
std::string counted(std::int64_t number, const char* noun) {
    return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
}

int run_archive(const ArchivingArguments& arguments) {
    constexpr std::int64_t most_lines = 20;
    namespace fs = std::filesystem;
    const bool is_new = is_on_objects(arguments.path)
                            ? !Folder::is_there(arguments.path)
                            : !fs::exists(arguments.path) ||
                                  (fs::is_directory(arguments.path) && fs::is_empty(arguments.path));
    const std::string schema = is_new && arguments.schema.empty() ? "grib" : arguments.schema;
    for (const std::string& file : arguments.files) {  // before a store is made for nothing
        if (!fs::exists(file)) throw Error(ErrorCode::not_found, "no file " + file);
    }
    Store store = Store::open(arguments.path, {.schema = schema});
    if (is_new) std::printf("made the store %s with the schema %s\n", arguments.path.c_str(), schema.c_str());
    std::int64_t num_lines = 0;
    const auto tell = [&](const std::string& problem) {
        if (++num_lines <= most_lines)
            std::fprintf(stderr, "%s archive: %s\n", program_invocation_short_name, problem.c_str());
    };
    GribArchiver archiver(store, tell, arguments.is_deep);
    for (const std::string& file : arguments.files) archiver.archive_file(file);
    store.close();
    const GribArchiver::Report& report = archiver.report();
    if (num_lines > most_lines) {
        std::fprintf(stderr, "%s archive: … and %lld more that are not archived\n",
                     program_invocation_short_name, static_cast<long long>(num_lines - most_lines));
    }
    const auto whole = [](std::int64_t number) { return static_cast<long long>(number); };
    std::printf("%s of %s archived, %s", counted(report.num_archived, "field").c_str(),
                counted(report.num_messages, "message").c_str(),
                bytes_text(static_cast<double>(report.num_bytes)).c_str());
    if (report.num_replaced > 0)
        std::printf("; %lld replace earlier ones of the same key", whole(report.num_replaced));
    if (report.num_known > 0) std::printf("; %lld more are there already", whole(report.num_known));
    if (report.num_problems > 0) std::printf("; %lld refused", whole(report.num_problems));
    std::printf("\n");
    return report.num_problems > 0 ? bad_input : 0;
}

/// The values that a keyword may have, as a row of the table.
std::string presence_text(const KeywordRule& rule) {
    std::string values;
    for (const std::string& value : rule.values) values.append(values.empty() ? "" : ", ").append(value);
    if (!values.empty()) return "one of " + values;
    switch (rule.presence) {
        case KeywordRule::Presence::required:
            return "required";
        case KeywordRule::Presence::removed:
            return "accepted, not stored";
        case KeywordRule::Presence::optional:
            break;
    }
    return rule.fallback.empty() ? "may be missing" : "default " + rule.fallback;
}

void print_table(const Schema& schema) {
    int number = 0;
    for (const Rule& rule : schema.rules()) {
        std::printf("%srule %d\n%-12s %-12s %-15s %s\n", number > 0 ? "\n" : "", number + 1, "level",
                    "keyword", "type", "value");
        ++number;
        for (int level = 0; level < num_levels; ++level) {
            for (const KeywordRule& keyword : rule.levels[static_cast<std::size_t>(level)]) {
                std::printf("%-12s %-12s %-15s %s\n", std::string(name_of(static_cast<Level>(level))).c_str(),
                            keyword.keyword.name.c_str(), std::string(name_of(keyword.keyword.type)).c_str(),
                            presence_text(keyword).c_str());
            }
        }
    }
}

void run_schema(const ArchivingArguments& arguments) {
    std::string text;
    if (is_on_objects(arguments.path) || std::filesystem::is_directory(arguments.path)) {
        text = Folder::open(arguments.path, "").schema().text();
    } else {
        text = schema_text(arguments.path);
    }
    const Result<Schema> schema = Schema::parse(text, arguments.path);
    schema.status().throw_if_error();
    if (arguments.is_table) {
        print_table(schema.value());
    } else {
        std::fwrite(text.data(), 1, text.size(), stdout);
    }
}

}  // namespace

void add_archiving_commands(CLI::App& app, int& exit_status) {
    const auto shared = std::make_shared<ArchivingArguments>();
    const auto add = [&](const char* name, const char* text) {
        CLI::App* command = app.add_subcommand(name, text);
        command
            ->add_option("STORE", shared->path, "the store: a folder, s3://bucket/prefix, rados:pool/prefix")
            ->required();
        return command;
    };
    CLI::App* create = add("create", "Make an empty store.");
    create
        ->add_option("--schema", shared->schema,
                     "weather, grib, flow, lattice, or a schema file (FDB's own too)")
        ->required();
    create->callback([shared] { (void)Folder::open(shared->path, shared->schema); });

    CLI::App* archive =
        add("archive",
            "Archive every message of GRIB files by its own keywords. The store is made where there is none. "
            "Exit status 2: a message is damaged or refused, and named; the others are archived.");
    archive->add_option("FILE", shared->files, "files of GRIB messages, edition 1 or 2")->required();
    archive->add_option("--schema", shared->schema, "of a store that is made: grib unless told otherwise");
    archive->add_flag("--deep", shared->is_deep, "unpack every field, which finds damaged values");
    archive->callback([shared, &exit_status] { exit_status = run_archive(*shared); });

    CLI::App* put =
        add("put", "Archive a file's bytes as one field, and flush. A GRIB message is held against the key.");
    put->add_option("KEY", shared->key, "keyword=value,…: all that the schema asks for")->required();
    put->add_option("FILE", shared->file, "the file")->required();
    put->add_option("--form", shared->form, "what the bytes are: grib, float64[180,360], …");
    put->callback([shared] { run_put(*shared); });

    CLI::App* schema = app.add_subcommand("schema", "Print a schema: as its text, or as a table.");
    schema
        ->add_option("STORE", shared->path,
                     "a store, a shipped schema (weather, grib, flow, lattice), or a file")
        ->required();
    schema->add_flag("--table", shared->is_table, "levels, keywords, types and defaults");
    schema->callback([shared] { run_schema(*shared); });
}

}  // namespace hakobi::store
