#include "mpi/messages.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>

#include "mpi/comm_state.hpp"

namespace hakobi::mpi {
namespace {

/// Parts of long messages: well below 2^31 bytes, and both sides cut alike.
constexpr std::size_t message_part_bytes = std::size_t{1} << 30;

template <class Bytes, class Use>
void for_each_message_part(Bytes bytes, Use use) {
    while (!bytes.empty()) {
        const std::size_t length = std::min(bytes.size(), message_part_bytes);
        use(bytes.data(), static_cast<int>(length));
        bytes = bytes.subspan(length);
    }
}

/// A value that the ranks' maximum replaces, and one that their sum does.
struct MaxAndSum {
    std::int64_t maximum = std::numeric_limits<std::int64_t>::min();
    std::int64_t sum = 0;
};

extern "C" void reduce_max_and_sum(void* in, void* in_out, int* count, MPI_Datatype*) {
    const auto* from = static_cast<const MaxAndSum*>(in);
    auto* to = static_cast<MaxAndSum*>(in_out);
    for (int i = 0; i < *count; ++i) {
        to[i].maximum = std::max(to[i].maximum, from[i].maximum);
        to[i].sum += from[i].sum;
    }
}

/// all_max for a Comm that is apart from MPI.
void all_max_apart(NodeExchange& exchange, std::span<std::int64_t> values) {
    for (const std::vector<std::byte>& each : exchange.all_gather(std::as_bytes(values))) {
        const auto* const theirs = reinterpret_cast<const std::int64_t*>(each.data());
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::max(values[i], theirs[i]);
    }
}

void greater_into(std::span<std::byte> most, std::span<const std::byte> row) {
    for (std::size_t at = 0; at < most.size(); at += sizeof(std::int64_t)) {
        std::int64_t a = 0, b = 0;
        std::memcpy(&a, &most[at], sizeof a);
        std::memcpy(&b, &row[at], sizeof b);
        if (b > a) std::memcpy(&most[at], &b, sizeof b);
    }
}

struct PairReduction {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Op op = MPI_OP_NULL;
    PairReduction() {
        check(MPI_Type_contiguous(2, MPI_INT64_T, &type), "MPI_Type_contiguous");
        check(MPI_Type_commit(&type), "MPI_Type_commit");
        check(MPI_Op_create(reduce_max_and_sum, 1, &op), "MPI_Op_create");
    }
};

}  // namespace

void all_max_and_sum(const Comm& comm, std::span<std::int64_t> maxima, std::span<std::int64_t> sums) {
    std::vector<MaxAndSum> pairs(std::max(maxima.size(), sums.size()));
    for (std::size_t i = 0; i < maxima.size(); ++i) pairs[i].maximum = maxima[i];
    for (std::size_t i = 0; i < sums.size(); ++i) pairs[i].sum = sums[i];
    static const PairReduction pair;  // until MPI ends, since every call between nodes uses it
    check(MPI_Allreduce(MPI_IN_PLACE, pairs.data(), static_cast<int>(pairs.size()), pair.type, pair.op,
                        comm.state().internal),
          "MPI_Allreduce");
    for (std::size_t i = 0; i < maxima.size(); ++i) maxima[i] = pairs[i].maximum;
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = pairs[i].sum;
}

void all_max(const Comm& comm, std::span<std::int64_t> values) {
    if (comm.state().apart) return all_max_apart(*comm.state().apart, values);
    NodeRound* const round = comm.state().round();
    if (round != nullptr && values.size_bytes() <= NodeRound::row_bytes) {
        return round->reduce(comm, std::as_writable_bytes(values), greater_into);
    }
    check(MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_INT64_T, MPI_MAX,
                        comm.state().internal),
          "MPI_Allreduce");
}

void sum_before(const Comm& comm, std::span<std::int64_t> values, std::span<std::int64_t> totals) {
    const auto num = static_cast<int>(values.size());
    check(MPI_Allreduce(values.data(), totals.data(), num, MPI_INT64_T, MPI_SUM, comm.state().internal),
          "MPI_Allreduce");
    std::vector<std::int64_t> before(values.size(), 0);
    check(MPI_Exscan(values.data(), before.data(), num, MPI_INT64_T, MPI_SUM, comm.state().internal),
          "MPI_Exscan");
    if (comm.rank() == 0) before.assign(values.size(), 0);  // what MPI leaves undefined
    std::ranges::copy(before, values.begin());
}

void node_bit_or(const Comm& comm, std::span<std::byte> bytes) {
    NodeRound& round = comm.state().node.round;
    if (round.is_there() && bytes.size() <= NodeRound::row_bytes) {
        return round.reduce(comm, bytes, [](std::span<std::byte> sum, std::span<const std::byte> row) {
            for (std::size_t i = 0; i < sum.size(); ++i) sum[i] |= row[i];
        });
    }
    check(MPI_Allreduce(MPI_IN_PLACE, bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, MPI_BOR,
                        comm.state().node.comm),
          "MPI_Allreduce");
}

void node_broadcast(const Comm& comm, std::span<std::byte> bytes) {
    if (NodeExchange* const exchange = comm.state().apart.get()) {
        const auto all = exchange->all_gather(comm.node_rank() == 0 ? bytes : bytes.first(0));
        std::ranges::copy(all[0], bytes.begin());
        return;
    }
    check(MPI_Bcast(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, 0, comm.state().node.comm),
          "MPI_Bcast");
}

int node_max(const Comm& comm, int value) {
    if (NodeExchange* const exchange = comm.state().apart.get()) {
        std::int64_t word = value;
        all_max_apart(*exchange, {&word, 1});
        return static_cast<int>(word);
    }
    check(MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_MAX, comm.state().node.comm), "MPI_Allreduce");
    return value;
}

void broadcast(const Comm& comm, std::vector<std::byte>& bytes, int root) {
    if (NodeExchange* const exchange = comm.state().apart.get()) {
        const bool is_root = comm.rank() == root;
        auto all =
            exchange->all_gather(is_root ? std::span<const std::byte>(bytes) : std::span<const std::byte>());
        bytes = std::move(all[static_cast<std::size_t>(root)]);
        return;
    }
    auto size = static_cast<std::int64_t>(bytes.size());
    if (NodeRound* const round = comm.state().round()) {
        // Its size and as much of it as fits go in one round.
        constexpr std::size_t most = NodeRound::most_bytes - sizeof size;
        std::array<std::byte, NodeRound::most_bytes> message;
        if (comm.rank() == root) {
            std::memcpy(message.data(), &size, sizeof size);
            if (!bytes.empty())
                std::memcpy(message.data() + sizeof size, bytes.data(), std::min(bytes.size(), most));
        }
        round->broadcast(comm, message, root);
        std::memcpy(&size, message.data(), sizeof size);
        bytes.resize(static_cast<std::size_t>(size));
        if (bytes.size() <= most) {
            if (!bytes.empty()) std::memcpy(bytes.data(), message.data() + sizeof size, bytes.size());
            return;
        }
    } else {
        check(MPI_Bcast(&size, 1, MPI_INT64_T, root, comm.state().internal), "MPI_Bcast");
        bytes.resize(static_cast<std::size_t>(size));
    }
    for_each_message_part(std::span(bytes), [&](std::byte* data, int length) {
        check(MPI_Bcast(data, length, MPI_BYTE, root, comm.state().internal), "MPI_Bcast");
    });
}

std::vector<std::vector<std::byte>> gather(const Comm& comm, std::span<const std::byte> bytes, int root) {
    constexpr int tag = 7001;
    const bool is_root = comm.rank() == root;
    if (NodeExchange* const exchange = comm.state().apart.get()) {
        auto all = exchange->all_gather(bytes);
        if (!is_root) all.clear();
        return all;
    }
    const auto mine = static_cast<std::int64_t>(bytes.size());
    std::vector<std::int64_t> sizes(is_root ? static_cast<std::size_t>(comm.size()) : 0);
    check(MPI_Gather(&mine, 1, MPI_INT64_T, sizes.data(), 1, MPI_INT64_T, root, comm.state().internal),
          "MPI_Gather");
    if (!is_root) {
        send(comm, bytes, root, tag);
        return {};
    }
    std::vector<std::vector<std::byte>> result(sizes.size());
    Receives receives(comm);
    for (std::size_t from = 0; from < sizes.size(); ++from) {
        if (static_cast<int>(from) == root) {
            result[from].assign(bytes.begin(), bytes.end());
            continue;
        }
        result[from].resize(static_cast<std::size_t>(sizes[from]));
        receives.add(result[from], static_cast<int>(from), tag);
    }
    receives.wait();
    return result;
}

void send(const Comm& comm, std::span<const std::byte> bytes, int to, int tag) {
    for_each_message_part(bytes, [&](const std::byte* data, int length) {
        check(MPI_Send(data, length, MPI_BYTE, to, tag, comm.state().internal), "MPI_Send");
    });
}

void send_value(const Comm& comm, std::int64_t value, int to, int tag) {
    check(MPI_Send(&value, 1, MPI_INT64_T, to, tag, comm.state().internal), "MPI_Send");
}

std::int64_t receive_value(const Comm& comm, int from, int tag) {
    std::int64_t value = 0;
    check(MPI_Recv(&value, 1, MPI_INT64_T, from, tag, comm.state().internal, MPI_STATUS_IGNORE), "MPI_Recv");
    return value;
}

void Receives::add(std::span<std::byte> bytes, int from, int tag) {
    for_each_message_part(bytes, [&](std::byte* data, int length) {
        requests_.emplace_back();
        check(MPI_Irecv(data, length, MPI_BYTE, from, tag, comm_.state().internal, &requests_.back()),
              "MPI_Irecv");
    });
}

void Receives::wait() {
    if (requests_.empty()) return;
    check(MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE),
          "MPI_Waitall");
    requests_.clear();
}

}  // namespace hakobi::mpi
