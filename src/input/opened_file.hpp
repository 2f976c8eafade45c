#pragma once

#include <hakobi/comm.hpp>
#include <memory>
#include <string>
#include <utility>

#include "input/destination.hpp"
#include "io/device_memory.hpp"
#include "io/engine.hpp"
#include "mpi/agree.hpp"
#include "storage/file.hpp"

namespace hakobi::input {

/// The file that contiguous values were read from last, which stays open for the next field: by an engine of
/// `comm`, or, where that is empty, by this process alone.
///
/// Invariant: `path_` is the open file's; "" where none is.
class OpenedFile {
  public:
    explicit OpenedFile(Comm comm = {}, io::EngineOptions options = {})
        : comm_(std::move(comm)), options_(std::move(options)) {}

    /// Reads the array's block that begins at `offset_bytes` of the file. `device` has the destination where
    /// it is on one. Collective over `comm`.
    mpi::Agreed read(const std::string& path, std::int64_t offset_bytes, const Destination& to,
                     io::DeviceMemory& device);
    /// Collective over `comm`; the next read opens its file again.
    mpi::Agreed close() noexcept;

  private:
    mpi::Agreed read_by_engine(const std::string& path, std::int64_t offset_bytes, const Destination& to,
                               io::DeviceMemory& device);
    Status read_alone(const std::string& path, std::int64_t offset_bytes, const Destination& to);

    Comm comm_;
    io::EngineOptions options_;
    std::string path_;
    std::unique_ptr<io::Engine> engine_;
    storage::FilePtr file_;  // alone
};

}  // namespace hakobi::input
