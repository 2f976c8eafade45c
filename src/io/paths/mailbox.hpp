#pragma once

#include <cstdint>
#include <span>

#include "io/meeting.hpp"
#include "io/slots.hpp"
#include "region/region.hpp"
#include "storage/file.hpp"

namespace hakobi::io {

/// Whether a request fits a mailbox.
[[nodiscard]] bool fits_mailbox(const Region& file);

/// Puts the pieces, and for writing the data, of a small request into its rank's place.
void fill_mailbox(RankPlace& place, const Region& file, const Region& memory, const std::byte* origin,
                  bool is_write);

/// Takes what a read brought out of the mailbox: returns its bytes.
std::int64_t empty_mailbox(const RankPlace& place, const Region& memory, std::byte* origin);

/// Accesses that writing what is in the mailboxes takes: runs of touching pieces. The leader's.
[[nodiscard]] std::int64_t num_written_runs(std::span<RankPlace> places);

/// The leader's work when all requests of the node are small: neighbouring pieces of all ranks are joined,
/// and each run is one file access. Reading sets each place's bytes_read.
Status serve_mailboxes(storage::File& file, std::span<RankPlace> places, bool is_write);

namespace paths {

/// Small requests of the only node's ranks: each is in its rank's place in shared memory when the ranks meet,
/// and the leader makes the file accesses while the others wait. So a small call is one round.
class Mailbox {
  public:
    Mailbox(const FileSetting& setting, OpenedFile& file, SharedControl& control)
        : setting_(setting), file_(file), control_(control) {}

    /// Before each meeting: puts this rank's request into its place if it fits and `is_first`, of its call.
    void post(const Request& request, const Progress& progress, bool is_first);
    /// The leader's, while the ranks meet.
    LeadersPart serve(const Facts& facts);
    /// After that: takes what a read brought.
    void collect(const Request& request, Progress& progress);

  private:
    const FileSetting& setting_;
    OpenedFile& file_;
    SharedControl& control_;
};

}  // namespace paths
}  // namespace hakobi::io
