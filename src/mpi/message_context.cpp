#include "mpi/message_context.hpp"

#include <algorithm>
#include <map>

#include "mpi/comm_state.hpp"

namespace hakobi::mpi {
namespace {

/// Parts of long messages: well below 2^31 bytes, and both sides cut alike.
constexpr std::size_t part_bytes = std::size_t{1} << 30;

template <class Bytes, class Use>
int for_each_part(Bytes bytes, Use use) {
    int num_parts = 0;
    for (; !bytes.empty(); ++num_parts) {
        const std::size_t length = std::min(bytes.size(), part_bytes);
        use(bytes.data(), static_cast<int>(length));
        bytes = bytes.subspan(length);
    }
    return num_parts;
}

}  // namespace

/// A Comm's contexts.
struct MessageContext::Kept final : Attachment {
    std::map<Kind, MessageContext> contexts;
    void free() override {
        for (auto& [kind, context] : contexts) context.free();
    }
};

MessageContext MessageContext::duplicate(const Comm& comm) {
    MessageContext context;
    context.state_ = std::make_shared<State>();
    const MPI_Comm internal = comm.state().internal;
    context.state_->comm =
        made_by([&](MPI_Comm* made) { return MPI_Comm_dup(internal, made); }, "MPI_Comm_dup", internal);
    MPI_Comm_set_errhandler(context.state_->comm, MPI_ERRORS_RETURN);
    context.state_->highest_tag = comm.state().highest_tag;
    return context;
}

MessageContext MessageContext::of(const Comm& comm, Kind kind) {
    auto& contexts = comm.state().attachment_of<Kept>().contexts;
    const auto at = contexts.find(kind);
    return at != contexts.end() ? at->second : contexts.emplace(kind, duplicate(comm)).first->second;
}

Agreed MessageContext::get(const Comm& comm, Kind kind, MessageContext& context) {
    try {
        context = of(comm, kind);
        return {};
    } catch (const Error& error) {
        return {Status(error.code(), error.what()), error.rank()};
    }
}

void MessageContext::free() {
    if (state_ && state_->comm != MPI_COMM_NULL) check(MPI_Comm_free(&state_->comm), "MPI_Comm_free");
}

int MessagesUnderWay::send(std::span<const std::byte> bytes, int to, int tag, int owner) {
    return for_each_part(bytes, [&](const std::byte* data, int length) {
        requests_.push_back(MPI_REQUEST_NULL);
        owners_.push_back(owner);
        check(MPI_Isend(data, length, MPI_BYTE, to, tag, context_.handle(), &requests_.back()), "MPI_Isend");
    });
}

int MessagesUnderWay::receive(std::span<std::byte> bytes, int from, int tag, int owner) {
    return for_each_part(bytes, [&](std::byte* data, int length) {
        requests_.push_back(MPI_REQUEST_NULL);
        owners_.push_back(owner);
        check(MPI_Irecv(data, length, MPI_BYTE, from, tag, context_.handle(), &requests_.back()),
              "MPI_Irecv");
    });
}

std::span<const int> MessagesUnderWay::wait_some() {
    int num_complete = 0;
    indices_.resize(requests_.size());
    check(MPI_Waitsome(static_cast<int>(requests_.size()), requests_.data(), &num_complete, indices_.data(),
                       MPI_STATUSES_IGNORE),
          "MPI_Waitsome");
    return take_complete(num_complete);
}

std::span<const int> MessagesUnderWay::test_some() {
    int num_complete = 0;
    indices_.resize(requests_.size());
    check(MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &num_complete, indices_.data(),
                       MPI_STATUSES_IGNORE),
          "MPI_Testsome");
    return take_complete(num_complete);
}

void MessagesUnderWay::wait_all() {
    check(MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE),
          "MPI_Waitall");
    requests_.clear();
    owners_.clear();
}

std::span<const int> MessagesUnderWay::take_complete(int num_complete) {
    complete_.clear();
    if (num_complete == MPI_UNDEFINED) return {};
    for (int i = 0; i < num_complete; ++i)
        complete_.push_back(owners_[static_cast<std::size_t>(indices_[static_cast<std::size_t>(i)])]);
    // Complete requests are null now; what is left moves together in its order.
    std::size_t kept = 0;
    for (std::size_t i = 0; i < requests_.size(); ++i) {
        if (requests_[i] == MPI_REQUEST_NULL) continue;
        requests_[kept] = requests_[i];
        owners_[kept++] = owners_[i];
    }
    requests_.resize(kept);
    owners_.resize(kept);
    return complete_;
}

}  // namespace hakobi::mpi
