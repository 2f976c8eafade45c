#include "fdb.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <hakobi/error.hpp>

// FDB's objects are opaque to its C interface; here all of them are void*.

namespace hakobi::fdb {

struct Fdb::Library {
    int (*initialise)() = nullptr;
    const char* (*error_string)(int) = nullptr;
    int (*new_handle)(void**) = nullptr;
    int (*new_handle_from_yaml)(void**, const char*, const char*) = nullptr;
    int (*delete_handle)(void*) = nullptr;
    int (*new_key)(void**) = nullptr;
    int (*key_add)(void*, const char*, const char*) = nullptr;
    int (*delete_key)(void*) = nullptr;
    int (*new_request)(void**) = nullptr;
    int (*request_add)(void*, const char*, const char**, int) = nullptr;
    int (*expand_request)(void*) = nullptr;
    int (*delete_request)(void*) = nullptr;
    int (*archive)(void*, void*, const char*, std::size_t) = nullptr;
    int (*archive_multiple)(void*, void*, const char*, std::size_t) = nullptr;
    int (*flush)(void*) = nullptr;
    int (*list)(void*, const void*, void**, bool, int) = nullptr;
    int (*list_next)(void*) = nullptr;
    int (*delete_list)(void*) = nullptr;
    int (*list_key)(void*, void*) = nullptr;
    int (*new_splitkey)(void**) = nullptr;
    int (*splitkey_next)(void*, const char**, const char**, std::size_t*) = nullptr;
    int (*delete_splitkey)(void*) = nullptr;
    int (*retrieve)(void*, void*, void*) = nullptr;
    int (*new_reader)(void**) = nullptr;
    int (*reader_open)(void*, long*) = nullptr;
    int (*reader_read)(void*, void*, long, long*) = nullptr;
    int (*reader_close)(void*) = nullptr;
    int (*delete_reader)(void*) = nullptr;

    void check(int code, const char* what) const {
        if (code != 0) throw Error(ErrorCode::io, std::string("FDB, ") + what + ": " + error_string(code));
    }
};

namespace {

constexpr const char* wheels[] = {"fdb5lib", "metkitlib", "eckitlib", "eccodeslib"};

/// Opens `file`. Libraries that it needs and the loader does not find are looked for in the folders of the
/// wheels in `packages`: PyPI has each of FDB's libraries in a wheel of its own. Null, with the loader's
/// reason, where that does not suffice.
void* open_with_needed(const std::string& file, const std::filesystem::path& packages, std::string& why,
                       int depth = 0) {
    for (std::string before; depth < 8;) {
        if (void* const opened = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) return opened;
        const char* const said = dlerror();
        why = said != nullptr ? said : "?";
        // "libmetkit.so: cannot open shared object file: …" names the first that is missing.
        const std::string missing = why.substr(0, why.find(':'));
        if (missing == file || missing == before) return nullptr;
        before = missing;
        for (const char* wheel : wheels) {
            const std::filesystem::path candidate = packages / wheel / "lib64" / missing;
            std::error_code error;
            if (!std::filesystem::exists(candidate, error)) continue;
            if (open_with_needed(candidate.string(), packages, why, depth + 1) == nullptr) return nullptr;
        }
    }
    return nullptr;
}

/// The packages of the Python environment at `prefix` that have FDB; empty where there are none.
std::filesystem::path packages_below(const std::filesystem::path& prefix) {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(prefix / "lib", error)) {
        std::filesystem::path packages = entry.path() / "site-packages";
        if (std::filesystem::exists(packages / "fdb5lib" / "lib64" / "libfdb5.so", error)) return packages;
    }
    return {};
}

/// HAKOBI_FDB_LIBRARY, or what the loader finds, or the wheel of the active Python environment or of the one
/// that this program is installed in. Throws Error with what to do.
void* open_library() {
    std::string why;
    const char* const named = std::getenv("HAKOBI_FDB_LIBRARY");
    std::filesystem::path packages;
    if (named != nullptr && *named != '\0') {
        packages = std::filesystem::path(named).parent_path().parent_path().parent_path();
    } else {
        if (void* const opened = dlopen("libfdb5.so", RTLD_NOW | RTLD_LOCAL)) return opened;
        const char* const said = dlerror();
        why = said != nullptr ? said : "?";
        std::error_code error;
        const char* const environment = std::getenv("VIRTUAL_ENV");
        if (environment != nullptr && *environment != '\0') packages = packages_below(environment);
        const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
        if (packages.empty()) packages = packages_below(program.parent_path().parent_path());
    }
    if (!packages.empty()) {
        // Its own ecCodes first: the loader might find the system's, of another version.
        std::error_code error;
        const std::filesystem::path eccodes = packages / "eccodeslib" / "lib64" / "libeccodes.so";
        if (std::filesystem::exists(eccodes, error)) open_with_needed(eccodes.string(), packages, why);
        const std::string file = named != nullptr && *named != '\0'
                                     ? named
                                     : (packages / "fdb5lib" / "lib64" / "libfdb5.so").string();
        if (void* const opened = open_with_needed(file, packages, why)) return opened;
    }
    throw Error(
        ErrorCode::unsupported,
        "ECMWF's FDB is not there (" + why +
            "): pip install fdb5lib, then export HAKOBI_FDB_LIBRARY=\"$(python3 -c 'import fdb5lib as f; "
            "print(f.__path__[0])')/lib64/libfdb5.so\"");
}

/// Throws Error where FDB has no configuration: it would archive nothing, and name a schema inside its own
/// package.
void check_environment() {
    const auto value = [](const char* name) {
        const char* const text = std::getenv(name);
        return std::string(text != nullptr ? text : "");
    };
    const std::string file = value("FDB5_CONFIG_FILE");
    std::error_code error;
    if (!file.empty() && !std::filesystem::is_regular_file(file, error))
        throw Error(ErrorCode::invalid_argument, "FDB5_CONFIG_FILE=" + file + ": there is no such file");
    if (file.empty() && value("FDB5_CONFIG").empty() && value("FDB5_HOME").empty() &&
        value("FDB_HOME").empty())
        throw Error(
            ErrorCode::invalid_argument,
            "FDB has no configuration: write one, with its schema (docs/weather.md has both), and name "
            "it in FDB5_CONFIG_FILE");
}

constexpr int iteration_complete = 3;  // FDB_ITERATION_COMPLETE of fdb5/api/fdb_c.h

/// Deletes an object of FDB's at the end of a scope.
class Owned {
  public:
    Owned(void* object, int (*remove)(void*)) : object_(object), remove_(remove) {}
    ~Owned() { remove_(object_); }
    Owned(const Owned&) = delete;
    Owned& operator=(const Owned&) = delete;

  private:
    void* object_;
    int (*remove_)(void*);
};

}  // namespace

Fdb::Library& Fdb::library() {
    static Library* const loaded = [] {
        void* file = open_library();
        auto* all = new Library;
        const auto find = [&](const char* name, auto& function) {
            function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(file, name));
            if (function == nullptr)
                throw Error(ErrorCode::unsupported, std::string("FDB's library lacks ") + name);
        };
        find("fdb_initialise", all->initialise);
        find("fdb_error_string", all->error_string);
        find("fdb_new_handle", all->new_handle);
        find("fdb_new_handle_from_yaml", all->new_handle_from_yaml);
        find("fdb_delete_handle", all->delete_handle);
        find("fdb_new_key", all->new_key);
        find("fdb_key_add", all->key_add);
        find("fdb_delete_key", all->delete_key);
        find("fdb_new_request", all->new_request);
        find("fdb_request_add", all->request_add);
        find("fdb_expand_request", all->expand_request);
        find("fdb_delete_request", all->delete_request);
        find("fdb_archive", all->archive);
        find("fdb_archive_multiple", all->archive_multiple);
        find("fdb_flush", all->flush);
        find("fdb_list", all->list);
        find("fdb_listiterator_next", all->list_next);
        find("fdb_delete_listiterator", all->delete_list);
        find("fdb_listiterator_splitkey", all->list_key);
        find("fdb_new_splitkey", all->new_splitkey);
        find("fdb_splitkey_next_metadata", all->splitkey_next);
        find("fdb_delete_splitkey", all->delete_splitkey);
        find("fdb_retrieve", all->retrieve);
        find("fdb_new_datareader", all->new_reader);
        find("fdb_datareader_open", all->reader_open);
        find("fdb_datareader_read", all->reader_read);
        find("fdb_datareader_close", all->reader_close);
        find("fdb_delete_datareader", all->delete_reader);
        all->check(all->initialise(), "start");
        return all;
    }();
    return *loaded;
}

Fdb::Fdb(const std::string& yaml) {
    Library& all = library();
    if (yaml.empty()) check_environment();
    // It reads its configuration here and now: what goes wrong is in that.
    const int code =
        yaml.empty() ? all.new_handle(&handle_) : all.new_handle_from_yaml(&handle_, yaml.c_str(), "");
    if (code != 0)
        throw Error(ErrorCode::invalid_argument,
                    std::string("FDB's configuration: ") + all.error_string(code));
}

Fdb::~Fdb() {
    if (handle_ != nullptr) library().delete_handle(handle_);
}

void Fdb::archive(const Entries& key, std::span<const std::byte> bytes) {
    Library& all = library();
    void* made = nullptr;
    all.check(all.new_key(&made), "key");
    const Owned owned(made, all.delete_key);
    for (const auto& [keyword, value] : key)
        all.check(all.key_add(made, keyword.c_str(), value.c_str()), "key");
    all.check(all.archive(handle_, made, reinterpret_cast<const char*>(bytes.data()), bytes.size()),
              "archive");
}

void Fdb::archive_message(std::span<const std::byte> message) {
    Library& all = library();
    all.check(
        all.archive_multiple(handle_, nullptr, reinterpret_cast<const char*>(message.data()), message.size()),
        "archive");
}

void Fdb::flush() {
    library().check(library().flush(handle_), "flush");
}

std::vector<std::byte> Fdb::retrieve(const Entries& key) {
    Library& all = library();
    void* request = nullptr;
    all.check(all.new_request(&request), "request");
    const Owned owned(request, all.delete_request);
    for (const auto& [keyword, value] : key) {
        const char* text = value.c_str();
        all.check(all.request_add(request, keyword.c_str(), &text, 1), "request");
    }
    void* reader = nullptr;
    all.check(all.new_reader(&reader), "reader");
    const Owned owned_reader(reader, all.delete_reader);
    all.check(all.retrieve(handle_, request, reader), "retrieve");
    long size = 0;
    all.check(all.reader_open(reader, &size), "retrieve");
    std::vector<std::byte> bytes(static_cast<std::size_t>(size));
    long got = 0;
    while (got < size) {
        long now = 0;
        all.check(all.reader_read(reader, bytes.data() + got, size - got, &now), "retrieve");
        if (now <= 0) break;
        got += now;
    }
    bytes.resize(static_cast<std::size_t>(got));
    all.check(all.reader_close(reader), "retrieve");
    return bytes;
}

std::size_t Fdb::list(const Entries& wanted, const std::function<void(const Entries& key)>& visit) {
    Library& all = library();
    void* request = nullptr;
    all.check(all.new_request(&request), "request");
    const Owned owned(request, all.delete_request);
    for (const auto& [keyword, value] : wanted) {
        std::vector<std::string> parts;
        for (std::size_t at = 0; at <= value.size();) {
            const std::size_t end = std::min(value.find('/', at), value.size());
            parts.push_back(value.substr(at, end - at));
            at = end + 1;
        }
        std::vector<const char*> texts;
        for (const std::string& part : parts) texts.push_back(part.c_str());
        all.check(all.request_add(request, keyword.c_str(), texts.data(), static_cast<int>(texts.size())),
                  "request");
    }
    // Ranges (0/to/24/by/6) become lists. No request at all is everything, which an empty one is not.
    if (!wanted.empty()) all.check(all.expand_request(request), "request");
    void* iterator = nullptr;
    all.check(all.list(handle_, wanted.empty() ? nullptr : request, &iterator, false, 3), "list");
    const Owned owned_list(iterator, all.delete_list);
    void* split = nullptr;
    all.check(all.new_splitkey(&split), "list");
    const Owned owned_split(split, all.delete_splitkey);
    std::size_t count = 0;
    Entries key;
    const auto goes_on = [&](int code) {
        if (code != iteration_complete) all.check(code, "list");
        return code == 0;
    };
    while (goes_on(all.list_next(iterator))) {
        ++count;
        key.clear();
        all.check(all.list_key(iterator, split), "list");
        const char *keyword = nullptr, *value = nullptr;
        std::size_t level = 0;
        while (goes_on(all.splitkey_next(split, &keyword, &value, &level))) key.emplace_back(keyword, value);
        if (visit) visit(key);
    }
    return count;
}

}  // namespace hakobi::fdb
