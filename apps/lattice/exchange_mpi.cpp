#include <algorithm>
#include <array>
#include <cstdlib>
#include <new>
#include <vector>

#include "exchanges.hpp"

namespace hakobi::lattice {
namespace {

// One message: a face of the field to or from a neighbour.
struct Message {
    MPI_Datatype type;
    int rank, tag;
    bool is_sent;
};

class DatatypeGhosts final : public Ghosts {
  public:
    DatatypeGhosts(MPI_Comm comm, double* data, std::vector<std::vector<Message>> rounds)
        : comm_(comm), data_(data), rounds_(std::move(rounds)) {
        for (const auto& round : rounds_) requests_.resize(std::max(requests_.size(), round.size()));
    }
    ~DatatypeGhosts() override {
        for (auto& round : rounds_) {
            for (Message& message : round) MPI_Type_free(&message.type);
        }
    }

    void start() override {
        if (!rounds_.empty()) post(rounds_.front());
    }
    void wait() override {
        for (std::size_t round = 0; round < rounds_.size(); ++round) {
            if (round > 0) post(rounds_[round]);
            MPI_Waitall(static_cast<int>(rounds_[round].size()), requests_.data(), MPI_STATUSES_IGNORE);
        }
    }

  private:
    void post(const std::vector<Message>& round) {
        for (std::size_t i = 0; i < round.size(); ++i) {
            const Message& message = round[i];
            if (message.is_sent) {
                MPI_Isend(data_, 1, message.type, message.rank, message.tag, comm_, &requests_[i]);
            } else {
                MPI_Irecv(data_, 1, message.type, message.rank, message.tag, comm_, &requests_[i]);
            }
        }
    }

    MPI_Comm comm_;
    double* data_;
    std::vector<std::vector<Message>> rounds_;
    std::vector<MPI_Request> requests_;
};

std::shared_ptr<double> aligned_zeros(std::int64_t num_doubles) {
    const std::size_t bytes = (at(num_doubles) * sizeof(double) + 63) / 64 * 64;
    auto* memory = static_cast<double*>(std::aligned_alloc(64, std::max<std::size_t>(bytes, 64)));
    if (memory == nullptr) throw std::bad_alloc();
    std::fill_n(memory, bytes / sizeof(double), 0.0);
    return {memory, &std::free};
}

// A ghost below comes from the rank below, which sent its upper face: both call it 2 mu.
int tag_of(int mu, int side, bool is_sent) {
    const bool from_below = (side < 0) != is_sent;
    return 2 * mu + (from_below ? 0 : 1);
}

class MpiHalves final : public Halves {
  public:
    MpiHalves(MPI_Comm comm, const Geometry& geometry, const FaceCounts& counts) : comm_(comm) {
        for (int mu = 0; mu < num_directions; ++mu) {
            if (!geometry.is_split(mu)) continue;
            for (const bool is_sent : {false, true}) {
                for (const int face : {0, 1}) {
                    const auto& count = (is_sent ? counts.sent : counts.received)[at(mu)][at(face)];
                    auto& buffer = (is_sent ? to_send_ : received_)[at(mu)][at(face)];
                    const int side = face == 0 ? -1 : 1;
                    buffer = aligned_zeros(12 * count);
                    messages_.push_back({.buffer = buffer.get(),
                                         .num_doubles = static_cast<int>(12 * count),
                                         .rank = geometry.neighbour_rank(mu, side),
                                         .tag = tag_of(mu, side, is_sent),
                                         .is_sent = is_sent});
                }
            }
        }
        requests_.resize(messages_.size());
    }
    double* to_send(int mu, int face) override { return to_send_[at(mu)][at(face)].get(); }
    const double* received(int mu, int face) const override { return received_[at(mu)][at(face)].get(); }
    void start() override {
        for (std::size_t i = 0; i < messages_.size(); ++i) {
            const Message& m = messages_[i];
            if (m.is_sent) {
                MPI_Isend(m.buffer, m.num_doubles, MPI_DOUBLE, m.rank, m.tag, comm_, &requests_[i]);
            } else {
                MPI_Irecv(m.buffer, m.num_doubles, MPI_DOUBLE, m.rank, m.tag, comm_, &requests_[i]);
            }
        }
    }
    void wait() override {
        MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
    }

  private:
    struct Message {
        double* buffer;
        int num_doubles, rank, tag;
        bool is_sent;
    };
    MPI_Comm comm_;
    std::array<std::array<std::shared_ptr<double>, 2>, num_directions> to_send_, received_;
    std::vector<Message> messages_;
    std::vector<MPI_Request> requests_;
};

class MpiExchange final : public Exchange {
  public:
    MpiExchange(const Comm& comm, const Geometry& geometry, bool sends_halves)
        : comm_(comm), geometry_(geometry), sends_halves_(sends_halves) {}

    std::shared_ptr<double> allocate(std::int64_t num_doubles) override { return aligned_zeros(num_doubles); }
    bool sends_halves() const override { return sends_halves_; }
    std::unique_ptr<Halves> plan_halves(const FaceCounts& counts) override {
        return std::make_unique<MpiHalves>(comm_.handle(), geometry_, counts);
    }

    // Faces: one round, all directions in flight at once. Corners: a round a direction, each with the ghosts
    // that the rounds before it have filled.
    std::unique_ptr<Ghosts> plan(double* data, int num_components, Reach reach) override {
        std::vector<std::vector<Message>> rounds;
        for (int mu = 0; mu < num_directions; ++mu) {
            if (!geometry_.is_split(mu)) continue;
            if (rounds.empty() || reach == Reach::corners) rounds.emplace_back();
            for (const bool is_sent : {false, true}) {
                for (const int side : {-1, 1}) {
                    rounds.back().push_back({.type = face(num_components, reach, mu, side, is_sent),
                                             .rank = geometry_.neighbour_rank(mu, side),
                                             .tag = tag_of(mu, side, is_sent),
                                             .is_sent = is_sent});
                }
            }
        }
        return std::make_unique<DatatypeGhosts>(comm_.handle(), data, std::move(rounds));
    }

  private:
    MPI_Datatype face(int num_components, Reach reach, int mu, int side, bool is_sent) const {
        std::array<int, 4> sizes, counts, starts;
        for (int nu = 0; nu < num_directions; ++nu) {
            const auto dim = at(3 - nu);
            const int ghosts = geometry_.num_ghosts(nu);
            const bool has_ghosts_filled = reach == Reach::corners && nu < mu;
            sizes[dim] = static_cast<int>(geometry_.stored()[at(nu)]);
            counts[dim] = static_cast<int>(geometry_.count()[at(nu)]);
            starts[dim] = ghosts;
            if (has_ghosts_filled) {
                counts[dim] = sizes[dim];
                starts[dim] = 0;
            }
        }
        const auto dim = at(3 - mu);
        const int last = counts[dim];  // the block lies at 1 .. last, ghosts at 0 and last + 1
        starts[dim] = is_sent ? (side < 0 ? 1 : last) : (side < 0 ? 0 : last + 1);
        counts[dim] = 1;
        MPI_Datatype site, type;
        MPI_Type_contiguous(num_components, MPI_DOUBLE, &site);
        MPI_Type_create_subarray(4, sizes.data(), counts.data(), starts.data(), MPI_ORDER_C, site, &type);
        MPI_Type_commit(&type);
        MPI_Type_free(&site);
        return type;
    }

    Comm comm_;
    const Geometry& geometry_;
    bool sends_halves_;
};

}  // namespace

std::unique_ptr<Exchange> make_mpi_exchange(const Comm& comm, const Geometry& geometry, bool sends_halves) {
    return std::make_unique<MpiExchange>(comm, geometry, sends_halves);
}

}  // namespace hakobi::lattice
