// A case is a form of message, a size, and which rank is late. In each
//   1. every rank begins its message to the right neighbour, and from the left one, as the form says; the
//      late rank sleeps before the part that needs another rank, so that the others are in the call by then;
//   2. it makes the call;
//   3. it completes what is pending, and looks at what it received.
// All of them are legal: MPI_Recv, MPI_Send and the like end when their partner is anywhere in MPI, or in a
// call that stands for MPI's.
#include "pending/across.hpp"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

namespace hakobi::pending {
namespace {

constexpr int tag = 5;
constexpr int late_us = 3000;  // a waiting rank spins and yields less than that
constexpr int most_s = 30;     // for one case

/// The arguments for one case's messages.
struct Messages {
    MPI_Comm comm = MPI_COMM_WORLD;
    int rank = 0, size = 1;
    bool is_late = false;
    int bytes = 0;
    std::vector<char> in, out;
    MPI_Win window = MPI_WIN_NULL;
    std::vector<MPI_Request> requests;

    [[nodiscard]] int left() const { return (rank + size - 1) % size; }
    [[nodiscard]] int right() const { return (rank + 1) % size; }
    void be_late() const {
        if (is_late) usleep(late_us);
    }
    MPI_Request& request() { return requests.emplace_back(MPI_REQUEST_NULL); }
    void receive_later() { MPI_Irecv(in.data(), bytes, MPI_BYTE, left(), tag, comm, &request()); }
    void receive() { MPI_Recv(in.data(), bytes, MPI_BYTE, left(), tag, comm, MPI_STATUS_IGNORE); }
    void wait() {
        MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
        requests.clear();
    }
};

/// A form of message: its first part, up to the call, and the second.
struct Form {
    const char* name;
    bool receives;  // the left neighbour's bytes
    void (*begin)(Messages&);
    void (*end)(Messages&) = [](Messages& m) { m.wait(); };
};

const Form forms[] = {
    {"Irecv pending, Send", true,
     [](Messages& m) {
         m.receive_later();
         m.be_late();
         MPI_Send(m.out.data(), m.bytes, MPI_BYTE, m.right(), tag, m.comm);
     }},
    {"Irecv pending, Ssend", true,
     [](Messages& m) {
         m.receive_later();
         m.be_late();
         MPI_Ssend(m.out.data(), m.bytes, MPI_BYTE, m.right(), tag, m.comm);
     }},
    {"Isend pending, Recv", true,
     [](Messages& m) {
         MPI_Isend(m.out.data(), m.bytes, MPI_BYTE, m.right(), tag, m.comm, &m.request());
         m.be_late();
         m.receive();
     }},
    {"Issend pending, Recv", true,
     [](Messages& m) {
         MPI_Issend(m.out.data(), m.bytes, MPI_BYTE, m.right(), tag, m.comm, &m.request());
         m.be_late();
         m.receive();
     }},
    {"Isend pending, Probe, Recv", true,
     [](Messages& m) {
         MPI_Isend(m.out.data(), m.bytes, MPI_BYTE, m.right(), tag, m.comm, &m.request());
         m.be_late();
         MPI_Probe(m.left(), tag, m.comm, MPI_STATUS_IGNORE);
         m.receive();
     }},
    {"Irecv and Isend pending", true,
     [](Messages& m) {
         m.receive_later();
         m.be_late();
         MPI_Request sent = MPI_REQUEST_NULL;
         MPI_Isend(m.out.data(), m.bytes, MPI_BYTE, m.right(), tag, m.comm, &sent);
         if (m.is_late) MPI_Wait(&sent, MPI_STATUS_IGNORE);
         m.request() = sent;
     }},
    {"Sendrecv", true,
     [](Messages& m) {
         m.be_late();
         MPI_Sendrecv(m.out.data(), m.bytes, MPI_BYTE, m.right(), tag, m.in.data(), m.bytes, MPI_BYTE,
                      m.left(), tag, m.comm, MPI_STATUS_IGNORE);
     }},
    {"persistent Recv pending, persistent Ssend", true,
     [](Messages& m) {
         MPI_Request& receive = m.request();
         MPI_Recv_init(m.in.data(), m.bytes, MPI_BYTE, m.left(), tag, m.comm, &receive);
         MPI_Start(&receive);
         m.be_late();
         MPI_Request send = MPI_REQUEST_NULL;
         MPI_Ssend_init(m.out.data(), m.bytes, MPI_BYTE, m.right(), tag, m.comm, &send);
         MPI_Start(&send);
         MPI_Wait(&send, MPI_STATUS_IGNORE);
         MPI_Request_free(&send);
     },
     [](Messages& m) {
         MPI_Wait(&m.requests[0], MPI_STATUS_IGNORE);
         MPI_Request_free(&m.requests[0]);
         m.requests.clear();
     }},
    {"Ibcast pending", false,
     [](Messages& m) {
         m.be_late();
         MPI_Ibcast(m.rank == 0 ? m.out.data() : m.in.data(), m.bytes, MPI_BYTE, 0, m.comm, &m.request());
         if (m.is_late) m.wait();
     }},
    {"Iallgather pending", false,
     [](Messages& m) {
         m.be_late();
         const int each = m.bytes / m.size;
         MPI_Iallgather(m.out.data(), each, MPI_BYTE, m.in.data(), each, MPI_BYTE, m.comm, &m.request());
         if (m.is_late) m.wait();
     }},
    {"Put in a passive epoch", false,
     [](Messages& m) {
         m.be_late();
         MPI_Win_lock(MPI_LOCK_EXCLUSIVE, m.right(), 0, m.window);
         MPI_Put(m.out.data(), m.bytes, MPI_BYTE, m.right(), 0, m.bytes, MPI_BYTE, m.window);
         MPI_Win_unlock(m.right(), m.window);
     }},
};
constexpr int sizes[] = {0, 1, 1000, 64 << 10, 256 << 10, 4 << 20};

/// Ends the program when one case takes too long.
class Watchdog {
  public:
    Watchdog() : thread_([this](const std::stop_token& stop) { watch(stop); }) {}
    void begin(const std::string& what) {
        const std::scoped_lock lock(mutex_);
        what_ = what;
        ++case_;
    }
    void end() { begin({}); }

  private:
    void watch(const std::stop_token& stop) {
        std::unique_lock lock(mutex_);
        for (long last = -1; !stop.stop_requested();) {
            last = case_;
            changed_.wait_for(lock, stop, std::chrono::seconds(most_s), [&] { return case_ != last; });
            if (stop.stop_requested() || case_ != last || what_.empty()) continue;
            std::fprintf(stderr, "hangs: %s\n", what_.c_str());
            std::fflush(stderr);
            _exit(3);
        }
    }
    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::string what_;
    long case_ = 0;
    std::jthread thread_;
};

// Two ranks run every case. More ranks than that run a part of them, another one for each call: a library
// that spins while it waits takes long where cores are few.
int stride_of(int num_ranks) {
#ifdef MPICH
    constexpr int stride = 13;
#else
    constexpr int stride = 5;
#endif
    return num_ranks > 2 ? stride : 1;
}

void check_received(const Messages& messages, const std::string& what) {
    const auto last = static_cast<std::size_t>(messages.bytes) - 1;
    const char expected = static_cast<char>('a' + messages.left());
    if (messages.bytes > 0 && (messages.in[0] != expected || messages.in[last] != expected))
        ADD_FAILURE() << what << ": other bytes than sent";
}

}  // namespace

void make_across_messages(const Row& row) {
    Messages messages;
    MPI_Comm_rank(messages.comm, &messages.rank);
    MPI_Comm_size(messages.comm, &messages.size);
    messages.out.assign(sizes[std::size(sizes) - 1], static_cast<char>('a' + messages.rank));
    messages.in.resize(messages.out.size());
    void* exposed = nullptr;
    MPI_Win_allocate(static_cast<MPI_Aint>(messages.in.size()), 1, MPI_INFO_NULL, messages.comm, &exposed,
                     &messages.window);
    Watchdog watchdog;
    watchdog.begin("preparing " + row.name);
    const std::unique_ptr<Call> call = row.make();
    const int stride = stride_of(messages.size);
    int number = static_cast<int>(std::hash<std::string>()(row.name) % 97);
    for (const Form& form : forms) {
        for (const int bytes : sizes) {
            if (++number % stride != 0) continue;
            const int late_rank = number / stride % messages.size;
            const std::string what = std::string(form.name) + " of " + std::to_string(bytes) +
                                     " bytes across " + row.name + ", rank " + std::to_string(late_rank) +
                                     " late";
            watchdog.begin("before " + what);
            messages.is_late = messages.rank == late_rank;
            messages.bytes = bytes;
            std::fill_n(messages.in.begin(), bytes, '\0');
            call->prepare();
            MPI_Barrier(messages.comm);
            watchdog.begin(what);
            form.begin(messages);
            call->run();
            form.end(messages);
            watchdog.begin("after " + what);
            if (form.receives) check_received(messages, what);
            MPI_Barrier(messages.comm);
            call->finish();
        }
    }
    watchdog.end();
    MPI_Win_free(&messages.window);
}

}  // namespace hakobi::pending
