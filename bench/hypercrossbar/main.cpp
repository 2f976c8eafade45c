// hakobi-bench-hypercrossbar: how much of its links a node fills when it sends, receives, or does both in 1, 2, ... dimensions
// at once. Rank 0 is the node; rank d is its partner in dimension d. Started by `hakobi bench hypercrossbar`, which makes the links.
//
//  1. A sample moves messages of one size for about --seconds: as many on every link and way as its declared rate carries in
//     that time, a few of them under way at once. Time is rank 0's, from a meeting of all ranks until every partner has said that it has
//     everything, so it includes the last message's way.
//  2. The percentage is of the payload that the links' declared rates carry together (--payload-mb-s of one link and way),
//     both ways counted when both are used.
//  3. Receivers hold the first and last word of each message against what was sent.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <hakobi/comm.hpp>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace {

enum class Way { send, receive, both };
constexpr const char* names[] = {"send", "receive", "both"};
constexpr int tag_data = 1, tag_done = 2, tag_together = 3;
constexpr int most_under_way = 4;

struct Options {
    double payload_mb_s = 23.9, seconds = 1.0;
    std::vector<std::int64_t> sizes = {64 << 10, 1 << 20, 4 << 20, 16 << 20};
    int samples = 3;
};

/// Messages of one size from or to one peer, a few under way at once.
class Stream {
  public:
    Stream(int peer, bool is_sending, std::int64_t words, int num_messages)
        : peer_(peer), is_sending_(is_sending), words_(words), num_messages_(num_messages) {
        buffers_.assign(static_cast<std::size_t>(std::min(most_under_way, num_messages)),
                        std::vector<std::int64_t>(static_cast<std::size_t>(words), -1));
    }
    [[nodiscard]] std::size_t num_slots() const { return buffers_.size(); }
    /// Starts the next message in a slot; MPI_REQUEST_NULL when all have been.
    MPI_Request start(std::size_t slot) {
        MPI_Request request = MPI_REQUEST_NULL;
        if (num_started_ == num_messages_) return request;
        std::vector<std::int64_t>& buffer = buffers_[slot];
        if (is_sending_) {
            buffer.front() = buffer.back() = num_started_;
            MPI_Isend(buffer.data(), static_cast<int>(words_), MPI_INT64_T, peer_, tag_data, MPI_COMM_WORLD,
                      &request);
        } else {
            MPI_Irecv(buffer.data(), static_cast<int>(words_), MPI_INT64_T, peer_, tag_data, MPI_COMM_WORLD,
                      &request);
        }
        ++num_started_;
        return request;
    }
    void finish(std::size_t slot) {
        if (is_sending_) return;
        const std::int64_t expected = num_finished_++;  // messages of one peer are received in order
        is_right_ = is_right_ && buffers_[slot].front() == expected && buffers_[slot].back() == expected;
    }
    [[nodiscard]] bool is_right() const { return is_right_; }

  private:
    int peer_;
    bool is_sending_, is_right_ = true;
    std::int64_t words_;
    int num_messages_, num_started_ = 0;
    std::int64_t num_finished_ = 0;
    std::vector<std::vector<std::int64_t>> buffers_;
};

/// Runs all streams at once to their end; slots of one stream are reused in turn, so messages keep their order.
bool run(std::vector<Stream>& streams) {
    std::vector<MPI_Request> requests;
    std::vector<std::pair<std::size_t, std::size_t>> owners;
    for (std::size_t stream = 0; stream < streams.size(); ++stream) {
        for (std::size_t slot = 0; slot < streams[stream].num_slots(); ++slot) {
            requests.push_back(streams[stream].start(slot));
            owners.emplace_back(stream, slot);
        }
    }
    std::vector<std::size_t> next(streams.size(), 0), first(streams.size(), 0);
    for (std::size_t i = owners.size(); i-- > 0;) first[owners[i].first] = i;
    for (;;) {
        // The oldest message of each stream is the one to wait for.
        std::vector<MPI_Request> oldest;
        for (std::size_t stream = 0; stream < streams.size(); ++stream)
            oldest.push_back(requests[first[stream] + next[stream]]);
        int done = 0;
        MPI_Waitany(static_cast<int>(oldest.size()), oldest.data(), &done, MPI_STATUS_IGNORE);
        if (done == MPI_UNDEFINED) break;
        const auto stream = static_cast<std::size_t>(done);
        const std::size_t slot = next[stream];
        streams[stream].finish(slot);
        requests[first[stream] + slot] = streams[stream].start(slot);
        next[stream] = (slot + 1) % streams[stream].num_slots();
    }
    return std::all_of(streams.begin(), streams.end(), [](const Stream& each) { return each.is_right(); });
}

struct Case {
    int dims = 1;
    Way way = Way::send;
    std::int64_t bytes = 0;
};

/// The least of all ranks' values, on all ranks; none leaves before all have come. By way of rank 0, since the partners share
/// no line with each other.
int all_min(int value, int rank, int num_ranks) {
    if (rank != 0) {
        MPI_Send(&value, 1, MPI_INT, 0, tag_together, MPI_COMM_WORLD);
        MPI_Recv(&value, 1, MPI_INT, 0, tag_together, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        return value;
    }
    for (int peer = 1; peer < num_ranks; ++peer) {
        int other = 0;
        MPI_Recv(&other, 1, MPI_INT, peer, tag_together, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        value = std::min(value, other);
    }
    for (int peer = 1; peer < num_ranks; ++peer)
        MPI_Send(&value, 1, MPI_INT, peer, tag_together, MPI_COMM_WORLD);
    return value;
}

/// One sample; returns MB/s at rank 0, negative when something was wrong.
double sample(const Case& c, const Options& options, int rank, int num_ranks) {
    const int num_messages = std::max(
        most_under_way,
        static_cast<int>(options.seconds * options.payload_mb_s * 1e6 / static_cast<double>(c.bytes)));
    std::vector<Stream> streams;
    for (int peer = rank == 0 ? 1 : 0; peer <= (rank == 0 ? c.dims : 0); ++peer) {
        const bool sends = rank == 0 ? c.way != Way::receive : c.way != Way::send;
        const bool receives = rank == 0 ? c.way != Way::send : c.way != Way::receive;
        if (sends) streams.emplace_back(peer, true, c.bytes / 8, num_messages);
        if (receives) streams.emplace_back(peer, false, c.bytes / 8, num_messages);
    }
    (void)all_min(1, rank, num_ranks);
    const double begin_s = MPI_Wtime();
    int is_right = 1;
    if (rank <= c.dims) is_right = run(streams) ? 1 : 0;
    if (rank == 0) {
        for (int peer = 1; peer <= c.dims; ++peer)
            MPI_Recv(nullptr, 0, MPI_BYTE, peer, tag_done, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank <= c.dims) {
        MPI_Send(nullptr, 0, MPI_BYTE, 0, tag_done, MPI_COMM_WORLD);
    }
    const double seconds = MPI_Wtime() - begin_s;
    const bool all_right = all_min(is_right, rank, num_ranks) != 0;
    const double ways = c.way == Way::both ? 2 : 1;
    const double moved = ways * c.dims * num_messages * static_cast<double>(c.bytes);
    return all_right ? moved / seconds * 1e-6 : -1;
}

int measure(const Options& options, int rank, int num_ranks) {
    if (rank == 0)
        std::printf("%-10s %-8s %10s %10s %8s %16s\n", "dimensions", "way", "bytes", "MB/s", "%",
                    "% of the samples");
    std::vector<std::string> records;
    bool is_right = true;
    for (int dims = 1; dims < num_ranks; ++dims) {
        for (const Way way : {Way::send, Way::receive, Way::both}) {
            for (const std::int64_t bytes : options.sizes) {
                std::vector<double> rates;
                for (int i = 0; i < options.samples; ++i)
                    rates.push_back(sample({dims, way, bytes}, options, rank, num_ranks));
                std::sort(rates.begin(), rates.end());
                is_right = is_right && rates.front() >= 0;
                const double links = options.payload_mb_s * dims * (way == Way::both ? 2 : 1);
                const double median = rates[rates.size() / 2];
                if (rank != 0) continue;
                std::printf("%-10d %-8s %10lld %10.1f %8.2f %8.2f-%.2f\n", dims, names[static_cast<int>(way)],
                            static_cast<long long>(bytes), median, 100 * median / links,
                            100 * rates.front() / links, 100 * rates.back() / links);
                std::fflush(stdout);
                char text[256];
                std::snprintf(
                    text, sizeof text,
                    "{\"kind\": \"summary\", \"dimensions\": %d, \"way\": \"%s\", \"bytes\": %lld, \"mb_s\": "
                    "%.4f, "
                    "\"percent\": %.3f, \"min_percent\": %.3f, \"max_percent\": %.3f, \"is_correct\": %s}",
                    dims, names[static_cast<int>(way)], static_cast<long long>(bytes), median,
                    100 * median / links, 100 * rates.front() / links, 100 * rates.back() / links,
                    rates.front() >= 0 ? "true" : "false");
                records.emplace_back(text);
            }
        }
    }
    for (const std::string& record : records) std::printf("%s\n", record.c_str());
    return is_right ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0, num_ranks = 0, status = 2;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
    Options options;
    CLI::App app(
        "How much of its links a node fills in several dimensions at once (started by hakobi bench "
        "hypercrossbar)");
    app.add_option("--payload-mb-s", options.payload_mb_s, "What a link carries one way")
        ->check(CLI::PositiveNumber);
    app.add_option("--seconds", options.seconds, "Length of a sample")->check(CLI::PositiveNumber);
    app.add_option("--sizes", options.sizes, "Bytes of a message, multiples of 8")
        ->delimiter(',')
        ->check(CLI::Range(16, 1 << 30));
    app.add_option("--samples", options.samples, "Of each case")->check(CLI::Range(1, 1000));
    try {
        app.parse(argc, argv);
        if (num_ranks < 2) throw CLI::ValidationError("--np", "at least 2 ranks");
        status = measure(options, rank, num_ranks);
    } catch (const CLI::ParseError& error) {
        if (rank == 0) status = app.exit(error);
    }
    MPI_Finalize();
    return status;
}
