#pragma once

#include <hakobi/comm.hpp>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "case.hpp"

namespace hakobi::bench {

/// One way to exchange a case's ghosts, planned once, with memory of its own.
class HaloContender {
  public:
    virtual ~HaloContender() = default;
    /// Starts and completes an exchange. Every rank calls it.
    virtual void exchange() = 0;
    [[nodiscard]] virtual double* values() = 0;
    [[nodiscard]] virtual std::string explain() const { return ""; }
};

/// "neighbor-alltoallw", "datatypes", "packed", "phases-datatypes", "phases-packed": plain MPI; "hakobi"
/// (memory of allocate_shared), "hakobi-own-memory" (memory of malloc), and "hakobi-<path>" for each of
/// halo_paths(); "ghex" where this is built with it.
[[nodiscard]] std::span<const std::string_view> halo_contender_names();
[[nodiscard]] inline bool is_ours(std::string_view name) {
    return name.starts_with("hakobi");
}

/// Collective. Throws invalid_argument for a name that is none.
[[nodiscard]] std::unique_ptr<HaloContender> make_halo_contender(std::string_view name, const Comm& comm,
                                                                 const HaloCase& halo_case);
/// Collective; throws invalid_argument for a case that it is not written for. Built with GHEX only.
[[nodiscard]] std::unique_ptr<HaloContender> make_ghex_contender(const Comm& comm, const HaloCase& halo_case);

}  // namespace hakobi::bench
