// GHEX (a C++ library for halo exchange, BSD licence) as a contender; built where GHEX is found.
#include <array>
#include <ghex/communication_object.hpp>
#include <ghex/config.hpp>
#include <ghex/context.hpp>
#include <ghex/structured/pattern.hpp>
#include <ghex/structured/regular/domain_descriptor.hpp>
#include <ghex/structured/regular/field_descriptor.hpp>
#include <ghex/structured/regular/halo_generator.hpp>
#include <ghex/structured/regular/make_pattern.hpp>
#include <gridtools/common/layout_map.hpp>
#include <hakobi/error.hpp>
#include <vector>

#include "contender.hpp"

namespace hakobi::bench {
namespace {

using Domain = ghex::structured::regular::domain_descriptor<int, std::integral_constant<int, 3>>;
using Generator = ghex::structured::regular::halo_generator<int, std::integral_constant<int, 3>>;
using Place = std::array<int, 3>;

Place place_of(const HaloCase& made, int rank) {
    return {rank / (made.ranks[1] * made.ranks[2]), rank / made.ranks[2] % made.ranks[1],
            rank % made.ranks[2]};
}

Domain domain_of(const HaloCase& made, int rank) {
    const int extent = static_cast<int>(made.extent);
    Place first = place_of(made, rank), last{};
    for (std::size_t d = 0; d < 3; ++d) {
        first[d] *= extent;
        last[d] = first[d] + extent - 1;
    }
    return {rank, first, last};
}

Generator generator_of(const HaloCase& made) {
    Place first{}, last{};
    for (std::size_t d = 0; d < 3; ++d) last[d] = static_cast<int>(made.extent) * made.ranks[d] - 1;
    std::array<int, 6> halos{};
    halos.fill(static_cast<int>(made.ghost));
    std::array<bool, 3> periodic{};
    periodic.fill(made.is_periodic);
    return {first, last, halos, periodic};
}

/// An element of the field is its `Num` components: what lies together is copied together.
template <int Num>
class Ghex final : public HaloContender {
  public:
    Ghex(const Comm& comm, const HaloCase& made)
        : context_(comm.handle(), false),
          domains_{domain_of(made, comm.rank())},
          pattern_(ghex::make_pattern<ghex::structured::grid>(context_, generator_of(made), domains_)),
          exchange_(ghex::make_communication_object<Pattern>(context_)),
          values_(static_cast<std::size_t>(made.num_values()) / Num),
          field_(ghex::wrap_field<ghex::cpu, gridtools::layout_map<0, 1, 2>>(
              domains_[0], values_.data(), filled(made.ghost), filled(made.extent + 2 * made.ghost))) {}
    void exchange() override { exchange_.exchange(pattern_(field_)).wait(); }
    double* values() override { return values_.front().data(); }

  private:
    using Element = std::array<double, Num>;
    using Pattern = decltype(ghex::make_pattern<ghex::structured::grid>(
        std::declval<ghex::context&>(), std::declval<Generator>(), std::declval<std::vector<Domain>&>()));
    using Exchange = decltype(ghex::make_communication_object<Pattern>(std::declval<ghex::context&>()));
    using Field = decltype(ghex::wrap_field<ghex::cpu, gridtools::layout_map<0, 1, 2>>(
        std::declval<const Domain&>(), std::declval<Element*>(), Place{}, Place{}));

    static Place filled(std::int64_t value) {
        Place place{};
        place.fill(static_cast<int>(value));
        return place;
    }

    ghex::context context_;
    std::vector<Domain> domains_;
    Pattern pattern_;
    Exchange exchange_;
    std::vector<Element> values_;
    Field field_;
};

}  // namespace

std::unique_ptr<HaloContender> make_ghex_contender(const Comm& comm, const HaloCase& made) {
    const bool is_known = made.num_dims() == 3 && !made.components_first && made.corners &&
                          made.num_directions == 3 && made.is_both_ways;
    if (is_known && made.num_components == 8) return std::make_unique<Ghex<8>>(comm, made);
    if (is_known && made.num_components == 1) return std::make_unique<Ghex<1>>(comm, made);
    throw Error(
        ErrorCode::invalid_argument,
        "the contender ghex takes 3 dimensions, 1 or 8 components that vary fastest, corners, and all "
        "directions both ways");
}

}  // namespace hakobi::bench
