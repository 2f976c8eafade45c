#pragma once

#include <concepts>
#include <hakobi/comm.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/process.hpp"

namespace hakobi::mpi {

/// What another part keeps with a Comm until that is freed.
class Attachment {
  public:
    virtual ~Attachment() = default;
    /// Before any is freed: ends work that uses others. Collective over the Comm.
    virtual void finish(struct CommState& /*comm*/) {}
    /// Collective over the Comm.
    virtual void free() = 0;
};

/// What a Comm shares between its copies. `comm` is the caller's duplicate, `internal` the library's own context,
/// `node` the ranks that share memory with this one (ordered by rank).
struct CommState {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm internal = MPI_COMM_NULL;
    MPI_Comm node = MPI_COMM_NULL;
    /// Of `internal`: Wait looks for a message of that tag, and nobody sends one.
    int highest_tag = 32767;
    int rank = 0, size = 0;
    int node_rank = 0, node_size = 0;
    int node_index = 0, num_nodes = 0;
    std::vector<int> node_of_rank;                         ///< one entry a rank
    std::vector<std::vector<int>> ranks_of_node;           ///< ascending
    std::vector<ProcessId> node_processes;                 ///< by node rank
    std::vector<std::unique_ptr<Attachment>> attachments;  ///< in the same order on all ranks

    /// The one of this type. Makes it where there is none: all ranks ask for it first in the same order.
    template <std::derived_from<Attachment> T>
    [[nodiscard]] T& attachment_of() {
        for (const std::unique_ptr<Attachment>& each : attachments) {
            if (auto* const found = dynamic_cast<T*>(each.get())) return *found;
        }
        auto made = std::make_unique<T>();
        T& result = *made;
        attachments.push_back(std::move(made));
        return result;
    }
};

/// MPI_Abort with the rank and `why` on stderr: for a rank that can neither go on nor tell the others, who would wait for it.
[[noreturn]] void end_program(const std::string& why);
/// MPI_Abort with this line on stderr, and status 1.
[[noreturn]] void abort_all(const std::string& line);
/// `end_program` with call and MPI's text when a communication call failed: agreeing needs what broke.
void check(int mpi_error, const char* call);

}  // namespace hakobi::mpi
