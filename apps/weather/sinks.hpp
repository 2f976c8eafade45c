#pragma once

#include <cstdint>
#include <hakobi/store.hpp>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace hakobi::weather {

/// Bytes and times of one file, from counters that the writing keeps.
struct FileProfile {
    std::string name;
    double seconds = 0;  ///< in calls that write
    std::int64_t num_bytes = 0, num_calls = 0;
};

/// Where one writer's messages go. Local; throws Error.
class Sink {
  public:
    virtual ~Sink() = default;
    virtual void archive(const Key& key, std::span<const std::byte> message, bool is_spectral) = 0;
    /// Returns when the archived fields are on stable storage and in their place.
    virtual void end_step() = 0;
    /// Ends the writing: the files and what each took.
    virtual std::vector<FileProfile> close() = 0;
};

/// The argument of `--output`: "files:PREFIX", "store:PATH", "fdb" (configured as FDB's own programs are).
struct SinkOptions {
    std::string kind = "none", path;
    bool sync = true;
    StoreOptions store;
};

std::unique_ptr<Sink> make_sink(const SinkOptions& options);

}  // namespace hakobi::weather
