#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

namespace hakobi::storage {
struct Request;
}

namespace hakobi::io {

/// Times of one aggregator's accesses to one server. Plain data: it travels to rank 0 as it is.
struct ServerTimes {
    std::int64_t server = 0;
    std::int64_t num_requests = 0, num_bytes = 0;
    double seconds = 0;    ///< summed over requests
    double longest_s = 0;  ///< of one; of one that has not been answered, so far
    double until_s =
        0;  ///< from the aggregator's first request of the file, to any server, to the last one's end here
    [[nodiscard]] double mean_s() const {
        return num_requests > 0 ? seconds / static_cast<double>(num_requests) : 0;
    }
};

/// The servers of one file, as one aggregator's accesses see them: holds back what would be too many requests
/// in flight for one of them, and knows who is late. Any thread.
class ServerWatch {
  public:
    /// `servers`: of each object of the file; empty: nothing is known, all requests go to one that has no
    /// name. `most_requests`: in flight for each, at least 1.
    ServerWatch(std::vector<int> servers, int most_requests);

    /// Whether the request for this object may begin, now; else it is kept until `end` or `take_late` names
    /// it.
    [[nodiscard]] bool begin(storage::Request& request, int object, double now_s);
    struct Ended {
        bool is_taken = false;             ///< `take_late` has had it: somebody else has done what follows
        storage::Request* next = nullptr;  ///< may begin now in its place, and has
    };
    /// A request that has begun is over.
    [[nodiscard]] Ended end(const storage::Request& request, std::int64_t num_bytes, double now_s);

    struct Late {
        std::int64_t server = 0;  ///< -1: it has no name
        double waited_s = 0;      ///< 0: has not begun
        storage::Request* request = nullptr;
    };
    /// Takes the requests that have been in flight for `least_s`, and those that wait behind them.
    [[nodiscard]] std::vector<Late> take_late(double least_s, double now_s);
    /// Requests that have come to be in flight for `least_s` since this was asked last, one a server.
    [[nodiscard]] std::vector<Late> newly_late(double least_s, double now_s);
    /// The times of all servers that have had requests, with the requests in flight.
    [[nodiscard]] std::vector<ServerTimes> times(double now_s) const;

  private:
    struct InFlight {
        storage::Request* request;
        double since_s;
        bool is_told = false;
    };
    struct Server {
        ServerTimes times;
        std::vector<InFlight> in_flight;
        std::deque<storage::Request*> waiting;
        void count(double seconds, std::int64_t num_bytes, double until_s);
    };
    [[nodiscard]] Server& server_of(int object);

    const int most_requests_;
    std::vector<std::size_t> index_;  // of each object's server
    mutable std::mutex mutex_;        // of what follows
    double first_s_ = 0;              // when the first request began; 0: none has
    std::vector<Server> servers_;
};

/// "server 5"; "the storage" where it has no name.
[[nodiscard]] std::string name_of_server(std::int64_t server);
/// Adds up what several aggregators saw, by server.
[[nodiscard]] std::vector<ServerTimes> summed(const std::vector<ServerTimes>& all);
/// Those that stand out: a request took a second or more, and ten times the mean of the others' requests.
/// Slowest first. Pure.
[[nodiscard]] std::vector<ServerTimes> late_of(const std::vector<ServerTimes>& servers);
/// "server 5 answered after 10.0 s; the others after 0.02 s on average"; "" where none stands out.
[[nodiscard]] std::string words_of_late(const std::vector<ServerTimes>& servers);

}  // namespace hakobi::io
