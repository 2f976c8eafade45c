// Hoefler, Siebert, Lumsdaine (2010), "Scalable communication protocols for dynamic sparse data exchange",
// algorithm NBX:
//
//  1. Each rank starts its messages as synchronous sends: one is complete only when its receiver has matched
//     it.
//  2. It receives whatever comes, from any rank.
//  3. When all its sends are complete it enters a nonblocking barrier, and goes on receiving.
//  4. When the barrier is complete every rank has entered it: all messages of this exchange have been
//     matched, and none can come any more. The rank waits for messages that were matched and are still under
//     way.
//
// Two exchanges in a row. A rank that has left the first may send in the second while another has not seen
// yet that the barrier of the first is complete: it must not take that message for one of the first. So each
// exchange has a tag of its own, the next of the context, which all ranks count alike. Two tags would do: no
// rank can be two exchanges ahead, since the barrier between waits for all.
//
// All of it is below any tool: a recorder would keep every look that finds nothing.
//
// A message longer than a part goes as full parts, and then one that is shorter, empty if need be: it ends
// the message. MPI keeps the order of messages from one rank with one tag, so that a rank's parts come in
// order.
#include "mpi/sparse_exchange.hpp"

#include <algorithm>
#include <cassert>
#include <deque>

#include "base/clock.hpp"
#include "mpi/comm_state.hpp"
#include "mpi/wait.hpp"

namespace hakobi::mpi {
namespace {

bool are_complete(std::vector<MPI_Request>& requests) {
    int done = 0;
    check(PMPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE),
          "MPI_Testall");
    return done != 0;
}

class Exchange {
  public:
    Exchange(MessageContext& context, std::int64_t part_words)
        : context_(context), tag_(context.next_tag()), part_words_(part_words) {}

    void send(const WordsTo& message) {
        std::span<const std::int64_t> rest = message.words;
        for (bool is_last = false; !is_last;) {
            const std::size_t length = std::min(rest.size(), static_cast<std::size_t>(part_words_));
            is_last = static_cast<std::int64_t>(length) < part_words_;
            sends_.push_back(MPI_REQUEST_NULL);
            check(PMPI_Issend(rest.data(), static_cast<int>(length), MPI_INT64_T, message.rank, tag_,
                              context_.handle(), &sends_.back()),
                  "MPI_Issend");
            rest = rest.subspan(length);
        }
    }
    /// Whether there was one to receive.
    bool take_next() {
        int has_come = 0, count = 0;
        MPI_Message message = MPI_MESSAGE_NULL;
        MPI_Status status;
        PMPI_Iprobe(MPI_ANY_SOURCE, tag_, context_.handle(), &has_come, MPI_STATUS_IGNORE);
        if (has_come == 0) return false;
        check(PMPI_Improbe(MPI_ANY_SOURCE, tag_, context_.handle(), &has_come, &message, &status),
              "MPI_Improbe");
        if (has_come == 0) return false;
        check(MPI_Get_count(&status, MPI_INT64_T, &count), "MPI_Get_count");
        parts_.push_back({status.MPI_SOURCE, std::vector<std::int64_t>(static_cast<std::size_t>(count))});
        receives_.push_back(MPI_REQUEST_NULL);
        check(PMPI_Imrecv(parts_.back().words.data(), count, MPI_INT64_T, &message, &receives_.back()),
              "MPI_Imrecv");
        return true;
    }
    /// Steps 3 and 4: whether no message can come any more.
    bool is_over() {
        if (!has_entered_) {
            if (!are_complete(sends_)) return false;
            check(PMPI_Ibarrier(context_.handle(), &barrier_), "MPI_Ibarrier");
            has_entered_ = true;
        }
        int done = 0;
        check(PMPI_Test(&barrier_, &done, MPI_STATUS_IGNORE), "MPI_Test");
        return done != 0;
    }
    bool has_received() { return are_complete(receives_); }

    std::vector<WordsFrom> messages() {
        std::ranges::stable_sort(parts_, {}, &WordsFrom::rank);
        std::vector<WordsFrom> result;
        bool is_continued = false;
        for (WordsFrom& part : parts_) {
            const bool is_full = std::ssize(part.words) == part_words_;
            if (is_continued) {
                std::vector<std::int64_t>& words = result.back().words;
                words.insert(words.end(), part.words.begin(), part.words.end());
                part.words = {};
            } else {
                result.push_back(std::move(part));
            }
            is_continued = is_full;
        }
        assert(!is_continued);
        return result;
    }

  private:
    MessageContext& context_;
    int tag_;
    std::int64_t part_words_;
    std::vector<MPI_Request> sends_, receives_;
    std::deque<WordsFrom> parts_;  // in the order in which they were matched
    MPI_Request barrier_ = MPI_REQUEST_NULL;
    bool has_entered_ = false;
};

}  // namespace

std::vector<WordsFrom> sparse_exchange(const Comm& comm, MessageContext& context,
                                       std::span<const WordsTo> messages, std::int64_t part_words) {
    assert(part_words > 0 && part_words <= most_words_of_a_part);
    Exchange exchange(context, part_words);
    for (const WordsTo& message : messages) exchange.send(message);
    // A rank that comes late may be at its file accesses: after a while the others leave it the cores.
    Wait wait(comm), long_wait(comm, {}, 50e-6);
    constexpr double patient_s = 1e-3;
    double since_s = now_s();
    const auto give_way = [&] { now_s() - since_s < patient_s ? wait.yield() : long_wait.pause(); };
    for (bool is_over = false; !is_over;) {
        if (exchange.take_next()) {
            since_s = now_s();
            continue;
        }
        is_over = exchange.is_over();
        if (!is_over) give_way();
    }
    while (!exchange.has_received()) give_way();
    return exchange.messages();
}

}  // namespace hakobi::mpi
