#pragma once

#include <cstdint>
#include <vector>

namespace hakobi::recorder {

enum class Call : int {
    send,
    receive,
    isend,
    ireceive,
    sendrecv,
    wait,
    barrier,
    bcast,
    reduce,
    allreduce,
    gather,
    allgather,
    scatter,
    alltoall,
    other
};

struct Event {
    Call call;
    int partner;  ///< world rank of destination, source (-1: any) or root; -1 where all are alike
    int source;   ///< sendrecv: world rank received from
    int tag;
    int communicator;            ///< index into the trace's groups
    std::int64_t bytes;          ///< sent; of a receive: came, or room for where it did not end
    std::int64_t receive_bytes;  ///< sendrecv only, as receive_tag
    std::uint64_t address, receive_address;
    int receive_tag;
    double begin_s, end_s;
    std::vector<std::int64_t> requests;  ///< wait only: event numbers
    bool is_cancel_asked;  ///< ireceive: nobody's, unless it turns out that a message came first
};

/// An event of a call whose messages are not kept.
inline Event not_replayed() {
    Event event{};
    event.call = Call::other;
    event.partner = -1;
    event.tag = -1;
    return event;
}

}  // namespace hakobi::recorder
