#include "entrant.hpp"

namespace hakobi::bench {
namespace {

Way opposite(Way way) {
    return way == Way::send ? Way::receive : way == Way::receive ? Way::send : Way::both;
}

}  // namespace

Entrant::Entrant(std::string_view name, const std::vector<Link>& links, Payload payload, int num_under_way)
    : name_(name) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    if (rank_ != 0) payload.way = opposite(payload.way);
    way_ = payload.way;
    for (const Link& link : links) {
        peers_.push_back(link.peer);
        const auto maker = make_transfer_maker(name, link, payload);
        auto& transfers = slots_.emplace_back();
        for (int slot = 0; slot < num_under_way; ++slot) transfers.push_back(maker->make(slot));
    }
}

void Entrant::start(std::size_t link, int number) {
    Transfer& transfer = *slots_[link][static_cast<std::size_t>(number) % slots_[link].size()];
    if (way_ != Way::receive) transfer.face().fill(number, rank_);
    transfer.start();
}

void Entrant::finish(std::size_t link, int number) {
    Transfer& transfer = *slots_[link][static_cast<std::size_t>(number) % slots_[link].size()];
    transfer.wait();
    if (way_ != Way::send) is_right_ = transfer.face().holds(number, peers_[link]) && is_right_;
}

void Entrant::run(int num_links, int num, const std::function<void()>& before) {
    for (int number = 0; number < num + num_under_way(); ++number) {
        if (before && number < num) before();
        for (std::size_t link = 0; link < static_cast<std::size_t>(num_links); ++link) {
            if (number >= num_under_way()) finish(link, number - num_under_way());
            if (number < num) start(link, number);
        }
    }
}

}  // namespace hakobi::bench
