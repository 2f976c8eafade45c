#include "exchange/halo_paths.hpp"

#include <algorithm>

#include "exchange/halo_notes.hpp"
#include "mpi/comm_state.hpp"

namespace hakobi::exchange {
namespace {

constexpr std::string_view names[] = {"direct", "deposit", "cma",   "ipc",     "staged",
                                      "aware",  "packed",  "parts", "datatype"};

bool is_by_message(Path path) {
    return path == Path::aware || path == Path::packed || path == Path::parts || path == Path::datatype;
}

}  // namespace

std::string_view to_string(Path path) {
    return path == Path::self ? "a copy" : names[static_cast<std::size_t>(path)];
}

std::span<const std::string_view> path_names() {
    return names;
}

PathRules::PathRules(const Comm& comm, const Wishes& wishes, const HaloChoice& choice,
                     std::vector<Place> places)
    : comm_(comm), choice_(choice), places_(std::move(places)) {
    if (wishes.path != any_path) wish_ = static_cast<Path>(wishes.path);
}

bool PathRules::meets_on_node() const {
    return comm_.node_size() > 1 && !(wish_ && is_by_message(*wish_));
}

int PathRules::node_rank_of(int rank) const {
    const mpi::Nodes& nodes = comm_.state().nodes;
    if (!nodes.is_own(rank)) return -1;
    const auto& ranks = nodes.own_ranks();
    return static_cast<int>(std::lower_bound(ranks.begin(), ranks.end(), rank) - ranks.begin());
}

bool PathRules::are_on_host(int sender, int receiver) const {
    return places_[static_cast<std::size_t>(sender)] == Place::host &&
           places_[static_cast<std::size_t>(receiver)] == Place::host;
}

bool PathRules::are_aware(int sender, int receiver) const {
    return !are_on_host(sender, receiver) && places_[static_cast<std::size_t>(sender)] != Place::device &&
           places_[static_cast<std::size_t>(receiver)] != Place::device;
}

Path PathRules::message_between(int sender, int receiver) const {
    if (are_aware(sender, receiver) && (wish_ ? *wish_ == Path::aware : choice_.is_aware)) return Path::aware;
    const Path path = !wish_ ? choice_.by_message : is_by_message(*wish_) ? *wish_ : Path::packed;
    const bool can_be = path != Path::aware && (path != Path::datatype || are_on_host(sender, receiver));
    return can_be ? path : Path::packed;
}

Path PathRules::between(int sender, int receiver) const {
    if (sender == receiver) return Path::self;
    const Path by_message = message_between(sender, receiver);
    const int from = node_rank_of(sender), to = node_rank_of(receiver);
    if (notes_ == nullptr || from < 0 || to < 0) return by_message;
    return are_on_host(sender, receiver) ? between_hosts(from, to, by_message)
                                         : between_devices(from, to, by_message);
}

Path PathRules::between_hosts(int sender, int receiver, Path by_message) const {
    const bool pulls = notes_->maps(receiver, sender) != std::byte{0};
    const bool deposits = notes_->maps(sender, receiver) != std::byte{0};
    const bool reads = notes_->reads(receiver, sender) != std::byte{0};
    if (!wish_) {
        if (pulls) return Path::direct;
        return choice_.on_node == Path::cma && !reads ? Path::staged : choice_.on_node;
    }
    const bool can_be = (*wish_ == Path::direct && pulls) || (*wish_ == Path::deposit && deposits) ||
                        (*wish_ == Path::cma && reads) || *wish_ == Path::staged;
    return can_be ? *wish_ : by_message;
}

Path PathRules::between_devices(int sender, int receiver, Path by_message) const {
    if (may_open() && notes_->opens(receiver, sender) != std::byte{0}) return Path::ipc;
    const Path staged = wish_.value_or(choice_.on_node);
    // With "auto", cma is the other way through the node's memory, for ranks on the host.
    return staged == Path::staged || (!wish_ && staged == Path::cma) ? Path::staged : by_message;
}

}  // namespace hakobi::exchange
