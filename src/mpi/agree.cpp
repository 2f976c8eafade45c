#include "mpi/agree.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "mpi/comm_state.hpp"
#include "mpi/messages.hpp"

namespace hakobi::mpi {
namespace {

Agreed agree_apart(NodeExchange& exchange, const Status& local) {
    std::vector<std::byte> mine(1 + local.text().size());
    mine[0] = static_cast<std::byte>(local.code());
    std::memcpy(mine.data() + 1, local.text().data(), local.text().size());
    const auto all = exchange.all_gather(mine);
    const auto worst =
        std::ranges::max_element(all, {}, [](const auto& each) { return static_cast<int>(each[0]); });
    const auto code = static_cast<ErrorCode>((*worst)[0]);
    if (code == ErrorCode::ok) return {};
    const auto* const text = reinterpret_cast<const char*>(worst->data() + 1);
    return {Status(code, std::string(text, worst->size() - 1)), static_cast<int>(worst - all.begin())};
}

}  // namespace

Agreed agree(const Comm& comm, const Status& local) {
    const CommState& state = comm.state();
    if (state.apart) return agree_apart(*state.apart, local);
    // Code above, rank below: the maximum picks the most severe code, and of those the lowest rank.
    const std::int64_t code = static_cast<int>(local.code());
    std::int64_t worst = local.ok() ? 0 : (code << 32) | (0x7fffffff - state.rank);
    all_max(comm, std::span(&worst, 1));
    if (worst == 0) return {};
    Agreed agreed;
    agreed.rank = 0x7fffffff - static_cast<int>(worst & 0xffffffff);
    int length = state.rank == agreed.rank ? static_cast<int>(local.text().size()) : 0;
    check(MPI_Bcast(&length, 1, MPI_INT, agreed.rank, state.internal), "MPI_Bcast");
    std::string text =
        state.rank == agreed.rank ? local.text() : std::string(static_cast<std::size_t>(length), ' ');
    check(MPI_Bcast(text.data(), length, MPI_CHAR, agreed.rank, state.internal), "MPI_Bcast");
    agreed.status = Status(static_cast<ErrorCode>(worst >> 32), std::move(text));
    return agreed;
}

}  // namespace hakobi::mpi
