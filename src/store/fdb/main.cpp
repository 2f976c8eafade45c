// Copies fields between a store and ECMWF's FDB 5, bit for bit: hakobi-store-fdb export|import STORE --fdb
// CONFIG.
//
//  1. export lists the store's fields, archives each in FDB under its own keywords and flushes; import goes
//     the other way, without keywords that have no value and those that the store's schema does not know and
//     that are the same for every field of FDB's schemas (domain=g).
//  2. Every field is then read back from where it was copied to, and compared with what it was copied from.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <hakobi/store.hpp>

#include "store/fdb/fdb.hpp"
#include "store/schema.hpp"

namespace hakobi::fdb {
namespace {

struct Options {
    std::string store, config, request, schema = "weather";
};

void check(std::span<const std::byte> got, std::span<const std::byte> expected, const std::string& name) {
    if (!std::ranges::equal(got, expected))
        throw Error(ErrorCode::format, name + " came back with other bytes");
}

std::int64_t export_fields(const Options& options) {
    const Store store = Store::open(options.store);
    const Listing all = store.list(options.request);
    Fdb fdb;
    store.retrieve(all, [&](const FieldInfo& field, std::span<const std::byte> bytes) {
        fdb.archive(field.key.entries(), bytes);
    });
    fdb.flush();
    Fdb reader;
    store.retrieve(all, [&](const FieldInfo& field, std::span<const std::byte> bytes) {
        check(reader.retrieve(field.key.entries()), bytes, field.key.text());
    });
    return all.size();
}

/// The store's schema, or that of the store that is to be made.
store::Schema schema_of(const Options& options) {
    std::string text(store::shipped_schema(options.schema));
    if (std::filesystem::exists(options.store)) {
        text = Store::open(options.store).schema();
    } else if (text.empty()) {
        std::ifstream file(options.schema);
        if (!file) throw Error(ErrorCode::not_found, "no schema '" + options.schema + "'");
        text.assign(std::istreambuf_iterator<char>(file), {});
    }
    Result<store::Schema> schema = store::Schema::parse(text, options.schema);
    schema.status().throw_if_error();
    return std::move(schema).value();
}

/// The request's keywords and values. One that the store's schema does not have would select nothing that it
/// could take.
Entries request_of(const Options& options) {
    const store::Schema schema = schema_of(options);
    Key wanted = Key::parse(options.request);
    for (const auto& [keyword, value] : wanted.entries()) {
        if (!schema.has_keyword(keyword)) {
            throw Error(ErrorCode::invalid_argument,
                        "the schema has no keyword '" + keyword + "': " + schema.suggestion(keyword));
        }
    }
    return wanted.entries();
}

std::int64_t import_fields(const Options& options) {
    const Entries request = request_of(options);
    Fdb fdb;
    std::vector<Entries> keys;
    fdb.list(request, [&](const Entries& key) {
        Entries kept;
        std::ranges::copy_if(key, std::back_inserter(kept),
                             [](const auto& entry) { return !entry.second.empty(); });
        keys.push_back(std::move(kept));
    });
    if (keys.empty()) return 0;
    Store store =
        Store::open(options.store, {.schema = std::filesystem::exists(options.store) ? "" : options.schema});
    std::vector<Key> archived;
    for (const Entries& entries : keys) {
        Key key;
        for (const auto& [keyword, value] : entries) {
            if (keyword != "domain" || value != "g") key.set(keyword, value);
        }
        const std::vector<std::byte> bytes = fdb.retrieve(entries);
        const bool is_grib = bytes.size() > 4 && std::equal(bytes.begin(), bytes.begin() + 4,
                                                            reinterpret_cast<const std::byte*>("GRIB"));
        store.archive(key, bytes, is_grib ? "grib" : "");
        archived.push_back(std::move(key));
    }
    store.flush();
    for (std::size_t i = 0; i < keys.size(); ++i)
        check(store.retrieve(archived[i]), fdb.retrieve(keys[i]), archived[i].text());
    store.close();
    return static_cast<std::int64_t>(keys.size());
}

int run_all(int argc, char** argv) {
    Options options;
    CLI::App app{"Copies fields between a field store and ECMWF's FDB 5, and compares every one.",
                 program_invocation_short_name};
    app.require_subcommand(1);
    auto* out = app.add_subcommand("export", "from the store to FDB");
    auto* in = app.add_subcommand("import", "from FDB to the store");
    for (auto* command : {out, in}) {
        command->add_option("store", options.store, "the store's folder")->required();
        command->add_option("request", options.request, "keyword=value,…: only these fields");
        command->add_option("--fdb", options.config, "FDB's configuration file (default: FDB5_CONFIG_FILE)");
    }
    in->add_option("--schema", options.schema, "of a store that is not there yet")->capture_default_str();
    try {
        app.parse(argc, argv);
        if (!options.config.empty()) {
            if (!std::filesystem::exists(options.config))
                throw Error(ErrorCode::not_found, "--fdb " + options.config + ": no such file");
            setenv("FDB5_CONFIG_FILE", std::filesystem::absolute(options.config).c_str(), 1);
        } else if (std::getenv("FDB5_CONFIG_FILE") == nullptr) {
            throw Error(ErrorCode::invalid_argument, "--fdb CONFIG is needed, or FDB5_CONFIG_FILE");
        }
        const std::int64_t count = out->parsed() ? export_fields(options) : import_fields(options);
        if (count == 0) {
            throw Error(ErrorCode::not_found, (out->parsed() ? options.store : "FDB") + " has no field" +
                                                  (options.request.empty() ? "" : " of " + options.request));
        }
        std::printf("%lld fields %s, every one read back and equal\n", static_cast<long long>(count),
                    out->parsed() ? "exported" : "imported");
    } catch (const CLI::CallForHelp&) {
        std::fputs(
            app.get_subcommands().empty() ? app.help().c_str() : app.get_subcommands()[0]->help().c_str(),
            stdout);
    } catch (const CLI::ParseError& error) {
        std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, error.what());
        return 2;
    } catch (const Error& error) {
        std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, error.what());
        return error.code() == ErrorCode::io || error.code() == ErrorCode::internal ? 1 : 2;
    }
    return 0;
}

}  // namespace
}  // namespace hakobi::fdb

int main(int argc, char** argv) {
    return hakobi::fdb::run_all(argc, argv);
}
