#pragma once

#include <cstdint>
#include <hakobi/comm.hpp>
#include <memory>

#include "io/choice.hpp"
#include "io/opened_file.hpp"
#include "io/options.hpp"
#include "io/pieces.hpp"
#include "io/report.hpp"
#include "io/request.hpp"
#include "io/shared_control.hpp"
#include "storage/access.hpp"

namespace hakobi::io::paths {

/// A rank moves its own pieces of the file, without a shuffle. Local.
class OwnPieces {
  public:
    OwnPieces(const Comm& comm, const FileSetting& setting, const EngineOptions& options, OpenedFile& file,
              const SharedControl& control, Account& account)
        : comm_(comm),
          setting_(setting),
          options_(options),
          file_(file),
          control_(control),
          account_(account) {}

    /// Moves the rest of the request and records the outcome in the progress. Keeps what the accesses show of
    /// the storage.
    void carry_out(const Request& request, bool is_in_flight, bool may_fill_holes, Progress& progress);
    /// Ends the threads, before the file closes.
    void close() { access_.reset(); }

  private:
    PiecesResult move(Way way, bool may_fill_holes, const PiecesRequest& pieces);
    storage::Access* access();

    const Comm& comm_;
    const FileSetting& setting_;
    const EngineOptions& options_;
    OpenedFile& file_;
    const SharedControl& control_;
    Account& account_;
    std::unique_ptr<storage::Access> access_;  // for several accesses under way
};

}  // namespace hakobi::io::paths
