#include "storage/backend.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>

#include "storage/joined.hpp"
#include "storage/memory.hpp"
#include "storage/null.hpp"
#include "storage/objects/object_files.hpp"
#include "storage/posix.hpp"
#include "storage/posix_layout.hpp"

namespace hakobi::storage {
namespace {

// ROMIO's names of file systems that are all reached by the same calls.
constexpr std::array<std::string_view, 6> posix_schemes = {"posix", "ufs", "nfs", "xfs", "lustre", "gpfs"};
constexpr std::array<std::string_view, 1> null_schemes = {"null"}, memory_schemes = {"memory"},
                                          joined_schemes = {"joined"}, rados_schemes = {"rados"},
                                          s3_schemes = {"s3"};

constexpr Layouts posix_layouts = {posix_layout_facts, make_laid_out_posix};

/// The first serves paths without a scheme.
constexpr std::array backends = {
    Backend{posix_schemes, open_posix, commit_posix,
            [](const std::string& path) { return remove_posix(path); },
            [](const std::string& folder) { return list_posix(folder); }, true, true, false, &posix_layouts,
            "a path"},
    Backend{null_schemes, open_null, commit_null, remove_null, list_null},
    Backend{memory_schemes, open_memory, commit_memory, remove_memory, list_memory},
    Backend{rados_schemes, open_rados, commit_rados, remove_rados, list_rados, false, true, false, nullptr,
            "rados:pool/prefix", true},
    Backend{s3_schemes, open_s3, commit_s3, remove_s3, list_s3, false, true, false, nullptr,
            "s3://bucket/prefix", true, false},
    Backend{joined_schemes, open_joined, commit_joined, remove_joined, list_joined, false, true, true},
};

struct Decorators {
    std::mutex mutex;
    std::vector<Decorator> all;
};
Decorators& decorators() {
    static Decorators registered;
    return registered;
}

std::optional<Decorator> find_decorator(std::string_view name) {
    const std::scoped_lock lock(decorators().mutex);
    const auto found = std::ranges::find(decorators().all, name, &Decorator::name);
    return found == decorators().all.end() ? std::nullopt : std::optional(*found);
}

const Backend* find_backend(std::string_view scheme) {
    const auto* const found = std::ranges::find_if(backends, [&](const Backend& backend) {
        return std::ranges::find(backend.schemes, scheme) != backend.schemes.end();
    });
    return found == backends.end() ? nullptr : found;
}

}  // namespace

Location locate(const std::string& path) {
    Location location{backends.data(), path, {}};
    for (;;) {
        const std::size_t colon = location.path.find(':');
        if (colon == std::string::npos) return location;
        const std::string prefix = location.path.substr(0, colon);
        if (const Backend* const backend = find_backend(prefix)) {
            location.backend = backend;
            location.path.erase(0, colon + 1);
            return location;
        }
        const std::optional<Decorator> decorator = find_decorator(prefix);
        if (!decorator) return location;
        const std::size_t end = std::min(location.path.find(':', colon + 1), location.path.size());
        location.decorations.push_back({*decorator, location.path.substr(colon + 1, end - colon - 1)});
        location.path.erase(0, std::min(end + 1, location.path.size()));
    }
}

std::string_view scheme_of_address(std::string_view path) {
    const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    const std::string_view scheme = path.substr(0, path.find(':'));
    if (!path.substr(scheme.size()).starts_with("://") || scheme.empty() || !is_letter(scheme[0])) return {};
    const bool is_scheme = std::ranges::all_of(scheme, [&](char c) {
        return is_letter(c) || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
    });
    return is_scheme ? scheme : std::string_view();
}

Status no_such_storage(std::string_view path) {
    std::string text(path);
    text += ": there is no storage '" + std::string(scheme_of_address(path)) + "' here: give ";
    std::vector<std::string_view> examples;
    for (const Backend& backend : backends) {
        if (!backend.example.empty()) examples.push_back(backend.example);
    }
    for (std::size_t i = 0; i < examples.size(); ++i)
        text.append(i == 0 ? "" : i + 1 < examples.size() ? ", " : " or ").append(examples[i]);
    return {ErrorCode::unsupported, text};
}

Status check_address(const std::string& path) {
    if (const std::string_view scheme = scheme_of_address(path); !scheme.empty()) {
        const Backend* const backend = find_backend(scheme);
        const bool names_host = !std::string_view(path).substr(scheme.size() + 3).starts_with('/');
        const bool is_known = backend != nullptr ? !backend->has_system_paths || !names_host
                                                 : find_decorator(scheme).has_value();
        return is_known ? Status() : no_such_storage(path);
    }
    const std::string decorated = locate(path).path;
    return scheme_of_address(decorated).empty() ? Status() : no_such_storage(decorated);
}

void add_decorator(const Decorator& decorator) {
    const std::scoped_lock lock(decorators().mutex);
    decorators().all.push_back(decorator);
}

}  // namespace hakobi::storage
