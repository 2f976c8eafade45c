#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace hakobi::fdb {

using Entries = std::vector<std::pair<std::string, std::string>>;

/// ECMWF's FDB 5 by its C interface, for comparisons: libfdb5.so is loaded when an object is made, from
/// $HAKOBI_FDB_LIBRARY or where the system's loader finds it; nothing of it is needed to build. Configured as
/// FDB's own programs are ($FDB5_CONFIG_FILE). Every call throws Error with FDB's text; unsupported without
/// the library.
class Fdb {
  public:
    /// `yaml`: FDB's configuration as text; "": as FDB's own programs find it.
    explicit Fdb(const std::string& yaml = {});
    ~Fdb();
    Fdb(const Fdb&) = delete;
    Fdb& operator=(const Fdb&) = delete;

    void archive(const Entries& key, std::span<const std::byte> bytes);
    /// A message whose keys FDB reads itself.
    void archive_message(std::span<const std::byte> message);
    void flush();
    /// The bytes of the one field of this key.
    [[nodiscard]] std::vector<std::byte> retrieve(const Entries& key);
    /// Every field of the request, called for each with its key; returns their number. Values may be lists
    /// a/b and ranges a/to/b/by/c; an empty request is everything.
    std::size_t list(const Entries& request, const std::function<void(const Entries& key)>& visit = {});

  private:
    struct Library;
    static Library& library();
    void* handle_ = nullptr;
};

}  // namespace hakobi::fdb
