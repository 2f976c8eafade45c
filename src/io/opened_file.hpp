#pragma once

#include <algorithm>
#include <hakobi/comm.hpp>
#include <mutex>
#include <string>
#include <utility>

#include "io/summary.hpp"
#include "storage/file.hpp"

namespace hakobi::io {

/// The file of an engine. It must exist (the caller made it).
struct EngineFile {
    std::string path;  ///< by which this rank opens it, when it has to; may differ between ranks
    bool is_writable = false;
    std::string shown = path;  ///< what messages call it
    /// Ranks of one node that move their own pieces do not wait for each other's errors, as MPI lets them:
    /// what such a call returns is the rank's own (Agreed::is_own). Equal on all ranks.
    bool has_own_errors = false;
    bool has_other_nodes = false;  ///< nodes that the engine's Comm does not have use the file, too
};

/// An engine's file on one rank, opened when this rank has to access it, and what is known of its storage: as
/// much as any file of that device has taught this process (storage/storage_profile.hpp), or the other ranks
/// have said.
class OpenedFile {
  public:
    OpenedFile(const Comm& comm, EngineFile name, bool is_direct_io)
        : comm_(comm), name_(std::move(name)), is_direct_io_(is_direct_io) {}

    /// Opens it where it is not open. Local; any thread.
    Status need();
    /// Collective where there are several nodes: opens it again until all that have it open have the same
    /// one.
    Status agree();
    Status close();
    /// Leaves it open for an access that may never end. Local.
    void abandon() { (void)file_.release(); }

    [[nodiscard]] const EngineFile& name() const { return name_; }
    [[nodiscard]] bool is_open() const { return file_ != nullptr; }
    [[nodiscard]] storage::File& operator*() const { return *file_; }
    [[nodiscard]] storage::File* operator->() const { return file_.get(); }
    [[nodiscard]] storage::File* get() const { return file_.get(); }

    [[nodiscard]] Service service() const { return service_; }
    /// Takes over another rank's knowledge of the storage.
    void hear(Service service) { service_ = std::max(service_, service); }
    /// Takes over what this rank's accesses have shown, for the device's other files, too. The file is open.
    void learn(Service service);

  private:
    Comm comm_;
    EngineFile name_;
    bool is_direct_io_;
    std::mutex opening_;
    storage::FilePtr file_;
    Service service_ = Service::unknown;
};

}  // namespace hakobi::io
