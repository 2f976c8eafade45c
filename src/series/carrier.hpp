#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/status.hpp"
#include "format/store_format.hpp"
#include "storage/paced_copy.hpp"

namespace hakobi::series {

/// A whole file of a step that goes from a stage to its place.
struct Carried {
    std::int64_t step = 0;
    std::string from, to;
    std::uint64_t token = 0;      ///< of the name that it has at its place until it is whole there
    std::int64_t file_bytes = 0;  ///< its size, or its members'; what has another one is damaged
    /// A file of that size at its place is its copy: a kill, or an error, came between its final name and the
    /// end here.
    bool may_be_there = false;
};

/// Copies a file to its place under a temporary name, gives it its final name there, and removes it from the
/// stage; its overview goes before it. On S3 it is put as one object. A step that its format keeps in a store
/// is added there (StoreFormat::add_step); `store` is for the next one.
/// Done again after a kill at any point it does the rest. With `sync` the copy is on stable storage before
/// the original goes. format where the file is not what it was, exists where something else has its place, or
/// has changed the store; other errors leave the file where it is, and may pass. Local; no MPI and no HDF5,
/// any thread.
Status carry(const Carried& carried, bool sync, const storage::Pace& pace, format::LeftStore& store);

/// Carries files in their order, in a thread, until it is destroyed. A copy that fails is tried again, at
/// longer and longer intervals, while the files behind it wait; a damaged file, or one that is in the way,
/// ends the carrier. All local, for one thread.
class Carrier {
  public:
    struct Options {
        std::string name;          ///< for messages
        std::int64_t bytes_s = 0;  ///< of carrying, in the mean; 0: no limit
        bool sync = false;
    };
    explicit Carrier(Options options) : options_(std::move(options)) {}
    /// Leaves what has not arrived on the stage.
    ~Carrier();
    Carrier(const Carrier&) = delete;
    Carrier& operator=(const Carrier&) = delete;

    void add(Carried carried);
    /// From now on without the limit.
    void sprint();

    struct State {
        std::int64_t waiting_bytes = 0;           ///< of files that have not arrived
        std::int64_t oldest = -1, youngest = -1;  ///< their steps; -1: all have arrived
        Status ended;                             ///< why nothing more is carried
        Status failing;        ///< what failed last and is tried again; ok while files arrive
        double failing_s = 0;  ///< for how long nothing has been copied
    };
    [[nodiscard]] State state() const;
    /// The steps whose files have arrived since the last call.
    [[nodiscard]] std::vector<std::int64_t> take_arrived();

  private:
    void run();
    /// Waits as the limit says; false when the carrier is to end.
    [[nodiscard]] bool pace(std::int64_t bytes);
    void note_failure(const Carried& carried, Status status);

    const Options options_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Carried> waiting_;
    std::vector<std::int64_t> arrived_;
    Status ended_, failing_;
    double copied_s_ = 0;  // when something was, or had to be, last
    double due_s_ = 0;     // when the limit lets the next piece go
    bool is_ending_ = false, is_sprinting_ = false;
    std::optional<std::thread> thread_;
};

}  // namespace hakobi::series
