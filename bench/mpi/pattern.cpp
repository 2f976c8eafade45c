#include "pattern.hpp"

#include <array>

#include "mpi/comm_state.hpp"

namespace hakobi::bench {
namespace {

using mpi::check;

/// Messages of 2 GiB and more are not asked for (main.cpp limits sizes), so an int holds every count.
int count_of(std::int64_t bytes) {
    return static_cast<int>(bytes);
}

/// Rank 0 sends to 1 and gets an answer; a reported time is one way.
class PingPong : public Pattern {
  public:
    using Pattern::Pattern;
    [[nodiscard]] double times_per_iteration() const override { return 2; }
    void run(const Buffers& buffers, std::int64_t bytes, std::int64_t /*number*/) override {
        const int count = count_of(bytes);
        if (rank() == 0) {
            check(MPI_Send(buffers.send.data(), count, MPI_BYTE, 1, 0, handle()), "MPI_Send");
            check(MPI_Recv(buffers.receive.data(), count, MPI_BYTE, 1, 0, handle(), MPI_STATUS_IGNORE),
                  "MPI_Recv");
        } else if (rank() == 1) {
            check(MPI_Recv(buffers.receive.data(), count, MPI_BYTE, 0, 0, handle(), MPI_STATUS_IGNORE),
                  "MPI_Recv");
            check(MPI_Send(buffers.send.data(), count, MPI_BYTE, 0, 0, handle()), "MPI_Send");
        }
    }
    [[nodiscard]] std::vector<Arrival> arrivals(std::int64_t bytes, std::int64_t /*number*/) const override {
        if (rank() > 1) return {};
        return {{0, 1 - rank(), 0, bytes}};
    }
};

/// Ranks form a periodic chain: each sends to the right and receives from the left.
class SendRecv : public Pattern {
  public:
    using Pattern::Pattern;
    [[nodiscard]] double counted_bytes(std::int64_t bytes) const override {
        return 2.0 * static_cast<double>(bytes);
    }
    void run(const Buffers& buffers, std::int64_t bytes, std::int64_t /*number*/) override {
        check(MPI_Sendrecv(buffers.send.data(), count_of(bytes), MPI_BYTE, (rank() + 1) % size(), 0,
                           buffers.receive.data(), count_of(bytes), MPI_BYTE, left(), 0, handle(),
                           MPI_STATUS_IGNORE),
              "MPI_Sendrecv");
    }
    [[nodiscard]] std::vector<Arrival> arrivals(std::int64_t bytes, std::int64_t /*number*/) const override {
        return {{0, left(), 0, bytes}};
    }

  private:
    [[nodiscard]] int left() const { return (rank() + size() - 1) % size(); }
};

/// Each rank sends to and receives from both neighbours of the periodic chain: a halo exchange in one
/// dimension.
class Exchange : public Pattern {
  public:
    using Pattern::Pattern;
    [[nodiscard]] std::int64_t send_bytes(std::int64_t bytes) const override { return 2 * bytes; }
    [[nodiscard]] std::int64_t receive_bytes(std::int64_t bytes) const override { return 2 * bytes; }
    [[nodiscard]] double counted_bytes(std::int64_t bytes) const override {
        return 4.0 * static_cast<double>(bytes);
    }
    void run(const Buffers& buffers, std::int64_t bytes, std::int64_t /*number*/) override {
        const int count = count_of(bytes);
        const int left = (rank() + size() - 1) % size();
        const int right = (rank() + 1) % size();
        std::array<MPI_Request, 4> requests{};
        // Tags tell the directions apart where both neighbours are one rank.
        check(MPI_Irecv(buffers.receive.data(), count, MPI_BYTE, left, to_right, handle(), &requests[0]),
              "MPI_Irecv");
        check(MPI_Irecv(buffers.receive.data() + bytes, count, MPI_BYTE, right, to_left, handle(),
                        &requests[1]),
              "MPI_Irecv");
        check(MPI_Isend(buffers.send.data(), count, MPI_BYTE, left, to_left, handle(), &requests[2]),
              "MPI_Isend");
        check(
            MPI_Isend(buffers.send.data() + bytes, count, MPI_BYTE, right, to_right, handle(), &requests[3]),
            "MPI_Isend");
        check(MPI_Waitall(4, requests.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
    }
    [[nodiscard]] std::vector<Arrival> arrivals(std::int64_t bytes, std::int64_t /*number*/) const override {
        return {{0, (rank() + size() - 1) % size(), bytes, bytes}, {bytes, (rank() + 1) % size(), 0, bytes}};
    }

  private:
    static constexpr int to_left = 1, to_right = 2;
};

/// Ranks 0 and 1 send to each other at once, nonblocking.
class Bidirectional : public Pattern {
  public:
    using Pattern::Pattern;
    [[nodiscard]] double counted_bytes(std::int64_t bytes) const override {
        return 2.0 * static_cast<double>(bytes);
    }
    void run(const Buffers& buffers, std::int64_t bytes, std::int64_t /*number*/) override {
        if (rank() > 1) return;
        std::array<MPI_Request, 2> requests{};
        check(MPI_Irecv(buffers.receive.data(), count_of(bytes), MPI_BYTE, 1 - rank(), 0, handle(),
                        &requests[0]),
              "MPI_Irecv");
        check(
            MPI_Isend(buffers.send.data(), count_of(bytes), MPI_BYTE, 1 - rank(), 0, handle(), &requests[1]),
            "MPI_Isend");
        check(MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
    }
    [[nodiscard]] std::vector<Arrival> arrivals(std::int64_t bytes, std::int64_t /*number*/) const override {
        if (rank() > 1) return {};
        return {{0, 1 - rank(), 0, bytes}};
    }
};

class Allreduce : public Pattern {
  public:
    using Pattern::Pattern;
    void run(const Buffers& buffers, std::int64_t bytes, std::int64_t /*number*/) override {
        const bool words = bytes % 8 == 0;
        // No sum of bytes: with Open MPI 4.1.4 MPI_SUM of MPI_UINT8_T came out wrong here at 4,099 and 65,537
        // bytes.
        check(MPI_Allreduce(buffers.send.data(), buffers.receive.data(), count_of(words ? bytes / 8 : bytes),
                            words ? MPI_UINT64_T : MPI_UINT8_T, words ? MPI_SUM : MPI_BXOR, handle()),
              "MPI_Allreduce");
    }
    [[nodiscard]] std::vector<Arrival> arrivals(std::int64_t bytes, std::int64_t /*number*/) const override {
        return {{0, 0, 0, bytes}};
    }
    [[nodiscard]] bool is_reduced() const override { return true; }
};

/// `bytes` from each rank to each rank; the bytes that come from other ranks count.
class Alltoall : public Pattern {
  public:
    using Pattern::Pattern;
    [[nodiscard]] std::int64_t send_bytes(std::int64_t bytes) const override { return bytes * size(); }
    [[nodiscard]] std::int64_t receive_bytes(std::int64_t bytes) const override { return bytes * size(); }
    [[nodiscard]] double counted_bytes(std::int64_t bytes) const override {
        return static_cast<double>(bytes) * (size() - 1);
    }
    void run(const Buffers& buffers, std::int64_t bytes, std::int64_t /*number*/) override {
        check(MPI_Alltoall(buffers.send.data(), count_of(bytes), MPI_BYTE, buffers.receive.data(),
                           count_of(bytes), MPI_BYTE, handle()),
              "MPI_Alltoall");
    }
    [[nodiscard]] std::vector<Arrival> arrivals(std::int64_t bytes, std::int64_t /*number*/) const override {
        std::vector<Arrival> all;
        for (int source = 0; source < size(); ++source)
            all.push_back({source * bytes, source, rank() * bytes, bytes});
        return all;
    }
};

/// The root goes round from iteration to iteration.
class Bcast : public Pattern {
  public:
    using Pattern::Pattern;
    void run(const Buffers& buffers, std::int64_t bytes, std::int64_t number) override {
        const bool is_root = root(number) == rank();
        check(MPI_Bcast(is_root ? buffers.send.data() : buffers.receive.data(), count_of(bytes), MPI_BYTE,
                        root(number), handle()),
              "MPI_Bcast");
    }
    [[nodiscard]] std::vector<Arrival> arrivals(std::int64_t bytes, std::int64_t number) const override {
        if (root(number) == rank()) return {};
        return {{0, root(number), 0, bytes}};
    }

  private:
    [[nodiscard]] int root(std::int64_t number) const { return static_cast<int>(number % size()); }
};

class Barrier : public Pattern {
  public:
    using Pattern::Pattern;
    [[nodiscard]] bool has_bytes() const override { return false; }
    void run(const Buffers& /*buffers*/, std::int64_t /*bytes*/, std::int64_t /*number*/) override {
        check(MPI_Barrier(handle()), "MPI_Barrier");
    }
    [[nodiscard]] std::vector<Arrival> arrivals(std::int64_t /*bytes*/,
                                                std::int64_t /*number*/) const override {
        return {};
    }
};

/// Rank 0 accesses rank 1's memory in one passive epoch that lasts for all iterations; each ends with a
/// flush, after which the bytes are there.
class OneSided : public Pattern {
  public:
    OneSided(const Comm& comm, bool is_put) : Pattern(comm), is_put_(is_put) {}
    void begin(std::span<std::byte> send_window, std::span<std::byte> receive_window) override {
        const auto exposed = is_put_ ? receive_window : send_window;
        check(MPI_Win_create(exposed.data(), static_cast<MPI_Aint>(exposed.size()), 1, MPI_INFO_NULL,
                             handle(), &window_),
              "MPI_Win_create");
        check(MPI_Win_lock_all(MPI_MODE_NOCHECK, window_), "MPI_Win_lock_all");
    }
    void end() override {
        check(MPI_Win_unlock_all(window_), "MPI_Win_unlock_all");
        check(MPI_Win_free(&window_), "MPI_Win_free");
    }
    void settle() override { check(MPI_Win_sync(window_), "MPI_Win_sync"); }
    void run(const Buffers& buffers, std::int64_t bytes, std::int64_t /*number*/) override {
        if (rank() != 0) return;
        const int count = count_of(bytes);
        if (is_put_) {
            check(MPI_Put(buffers.send.data(), count, MPI_BYTE, 1, buffers.receive_offset_bytes, count,
                          MPI_BYTE, window_),
                  "MPI_Put");
        } else {
            check(MPI_Get(buffers.receive.data(), count, MPI_BYTE, 1, buffers.send_offset_bytes, count,
                          MPI_BYTE, window_),
                  "MPI_Get");
        }
        check(MPI_Win_flush(1, window_), "MPI_Win_flush");
    }
    [[nodiscard]] std::vector<Arrival> arrivals(std::int64_t bytes, std::int64_t /*number*/) const override {
        if (rank() != (is_put_ ? 1 : 0)) return {};
        return {{0, 1 - rank(), 0, bytes}};
    }

  private:
    bool is_put_;
    MPI_Win window_ = MPI_WIN_NULL;
};

constexpr std::array<std::string_view, 10> names{"pingpong",  "sendrecv", "exchange", "bidirectional",
                                                 "allreduce", "alltoall", "bcast",    "barrier",
                                                 "put",       "get"};

}  // namespace

std::span<const std::string_view> pattern_names() {
    return names;
}

std::unique_ptr<Pattern> make_pattern(std::string_view name, const Comm& comm) {
    if (name == "pingpong") return std::make_unique<PingPong>(comm);
    if (name == "sendrecv") return std::make_unique<SendRecv>(comm);
    if (name == "exchange") return std::make_unique<Exchange>(comm);
    if (name == "bidirectional") return std::make_unique<Bidirectional>(comm);
    if (name == "allreduce") return std::make_unique<Allreduce>(comm);
    if (name == "alltoall") return std::make_unique<Alltoall>(comm);
    if (name == "bcast") return std::make_unique<Bcast>(comm);
    if (name == "barrier") return std::make_unique<Barrier>(comm);
    if (name == "put") return std::make_unique<OneSided>(comm, true);
    if (name == "get") return std::make_unique<OneSided>(comm, false);
    return nullptr;
}

}  // namespace hakobi::bench
