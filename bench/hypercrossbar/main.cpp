// hakobi-bench-hypercrossbar: how much of its links does a node fill when it sends, receives, or does both in
// 1, 2, ... dimensions at once? Rank 0 is the node; rank d is its partner in dimension d.
//
//  1. A sample moves messages of one size for about --seconds: as many on every link and way as its declared
//     rate carries in that time, a few of them under way at once. Time is rank 0's, from a meeting of all
//     ranks until every partner has said that it has everything, so it includes the last message's way.
//  2. Contenders take turns, each with memory of its own: plain MPI, hakobi::Halo, hakobi::BufferArrays.
//  3. The percentage is of the payload that the links' declared rates carry together (--payload-mb-s of one
//     link and way), both ways counted when both are used.
//  4. Senders write each message anew, and receivers compare every word.
//
// Exit status: 0 measured; 1 something that came was wrong; 2 bad input.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>

#include "base/clock.hpp"
#include "entrant.hpp"
#include "histogram.hpp"
#include "measure/record.hpp"
#include "measure/statistics.hpp"
#include "options.hpp"

namespace hakobi::bench {
namespace {

constexpr int tag_done = 2, tag_begin = 4;

struct Case {
    int dimensions = 1;
    std::string way;
    std::int64_t bytes = 0;
};

class Benchmark {
  public:
    Benchmark(const HypercrossbarOptions& options, std::vector<Link>& links, int rank, int num_ranks)
        : options_(options), links_(links), rank_(rank), num_ranks_(num_ranks) {}

    /// Collective. Whether all was measured and written: then `all_right` says the rest. An error is rank
    /// 0's.
    Status run() {
        auto writer = measure::RecordWriter::open(rank_ == 0 ? options_.json_path : "");
        if (all_min(writer.ok() ? 1 : 0) == 0) return writer.ok() ? Status() : writer.status();
        writer_ = std::make_unique<measure::RecordWriter>(std::move(writer).value());
        write(measure::conditions("hypercrossbar", num_ranks_, measure::Topology::load()));
        if (options_.num_histogram == 0)
            say("dimensions way          bytes contender           MB/s        %  % of the samples\n");
        for (const std::string& way : options_.ways) {
            for (const std::int64_t bytes : options_.sizes) {
                const Payload payload{bytes, options_.row_bytes, way_of(way)};
                std::vector<Entrant> entrants;
                for (const auto& [name, num_under_way] : options_.contenders)
                    entrants.emplace_back(name, links_, payload,
                                          options_.num_histogram > 0 ? 1 : num_under_way);
                for (const int dimensions : options_.dimensions) measure({dimensions, way, bytes}, entrants);
            }
        }
        return write_status_;
    }
    /// Whether all that came was what had been sent.
    [[nodiscard]] bool all_right() const { return all_right_; }

  private:
    [[nodiscard]] int links_of(int dimensions) const {
        if (rank_ == 0) return dimensions;
        return rank_ <= dimensions ? 1 : 0;
    }
    /// The bytes that the case moves over all links and ways in one message each.
    [[nodiscard]] static double bytes_of(const Case& c) {
        return (c.way == "both" ? 2.0 : 1.0) * c.dimensions * static_cast<double>(c.bytes);
    }
    [[nodiscard]] double links_mb_s(const Case& c) const {
        return (c.way == "both" ? 2.0 : 1.0) * c.dimensions * options_.payload_mb_s;
    }
    void say(const char* text) const {
        if (rank_ != 0) return;
        std::fputs(text, stdout);
        std::fflush(stdout);
    }
    void write(const measure::Record& record) {
        if (rank_ == 0) write_status_.keep_first(writer_->write(record));  // no rank leaves early
    }
    /// Collective: whether `is_right` on all ranks.
    bool check(bool is_right) {
        const bool all = all_min(is_right ? 1 : 0) != 0;
        all_right_ = all_right_ && all;
        return all;
    }

    void measure(const Case& c, std::vector<Entrant>& entrants) {
        if (options_.num_histogram > 0) {
            for (Entrant& entrant : entrants) measure_histogram(c, entrant);
            return;
        }
        std::vector<std::vector<double>> rates(entrants.size());
        std::vector<bool> are_right(entrants.size(), true);
        for (int i = 0; i < options_.samples; ++i) {
            for (std::size_t e = 0; e < entrants.size(); ++e) {
                rates[e].push_back(sample(c, entrants[e]));
                are_right[e] = check(entrants[e].is_right()) && are_right[e];
            }
        }
        for (std::size_t e = 0; e < entrants.size(); ++e) report(c, entrants[e], rates[e], are_right[e]);
    }

    /// Collective: MB/s at rank 0.
    double sample(const Case& c, Entrant& entrant) {
        const double rate = options_.payload_mb_s > 0 ? options_.payload_mb_s : assumed_mb_s;
        const int num = std::max(entrant.num_under_way(), static_cast<int>(options_.seconds * rate * 1e6 /
                                                                           static_cast<double>(c.bytes)));
        (void)all_min(1);
        const double began_s = now_s();
        entrant.run(links_of(c.dimensions), num, [&] { come_late(); });
        meet_at_the_end(c);
        return bytes_of(c) * num / (now_s() - began_s) * 1e-6;
    }

    /// All ranks of the case's links begin now.
    void meet(const Case& c) const {
        if (rank_ > c.dimensions) return;
        const int first = rank_ == 0 ? 1 : 0, last = rank_ == 0 ? c.dimensions : 0;
        for (const bool is_sending : {rank_ != 0, rank_ == 0}) {
            for (int peer = first; peer <= last; ++peer) {
                if (is_sending) {
                    MPI_Send(nullptr, 0, MPI_BYTE, peer, tag_begin, MPI_COMM_WORLD);
                } else {
                    MPI_Recv(nullptr, 0, MPI_BYTE, peer, tag_begin, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                }
            }
        }
    }

    void come_late() const {
        if (rank_ != 0 && options_.late_us > 0)
            std::this_thread::sleep_for(std::chrono::microseconds(options_.late_us));
    }

    void meet_at_the_end(const Case& c) const {
        if (rank_ == 0) {
            for (int peer = 1; peer <= c.dimensions; ++peer)
                MPI_Recv(nullptr, 0, MPI_BYTE, peer, tag_done, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (rank_ <= c.dimensions) {
            MPI_Send(nullptr, 0, MPI_BYTE, 0, tag_done, MPI_COMM_WORLD);
        }
    }

    /// As --contenders takes it.
    [[nodiscard]] static std::string label_of(const Entrant& entrant) {
        const int num = entrant.num_under_way();
        return entrant.name() + (num > 1 ? ':' + std::to_string(num) : std::string());
    }

    void report(const Case& c, const Entrant& entrant, const std::vector<double>& rates, bool is_right) {
        const auto summary = measure::summarize(rates);
        const double percent = links_mb_s(c) > 0 ? 100 / links_mb_s(c) : 0;
        char line[160];
        std::snprintf(line, sizeof line, "%-10d %-8s %9lld %-14s %9.1f %8.2f %8.2f-%.2f%s\n", c.dimensions,
                      c.way.c_str(), static_cast<long long>(c.bytes), label_of(entrant).c_str(),
                      summary.median, percent * summary.median, percent * summary.min, percent * summary.max,
                      is_right ? "" : "  WRONG");
        say(line);
        measure::Record record = record_of("summary", c, entrant.name());
        record["under_way"] = entrant.num_under_way();
        record["row_bytes"] = options_.row_bytes;
        record["late_us"] = options_.late_us;
        record["num_calls"] = entrant.num_calls();
        record["is_correct"] = is_right;
        record["mb_s"] = summary.median;
        record["spread"] = summary.spread();
        record["samples"] = rates;
        if (percent > 0) record["percent"] = percent * summary.median;
        write(record);
    }

    [[nodiscard]] static measure::Record record_of(const char* kind, const Case& c, const std::string& name) {
        return {{"kind", kind},
                {"dimensions", c.dimensions},
                {"way", c.way},
                {"bytes", c.bytes},
                {"contender", name}};
    }

    /// Collective.
    void measure_histogram(const Case& c, Entrant& entrant) {
        for (const bool is_alternating : {false, true}) {
            (void)all_min(1);
            std::vector<double> rates;
            std::vector<double> field(is_alternating ? words_to_sweep : 0, 1.0);
            for (int i = 0; i < options_.num_histogram; ++i) {
                for (double& value : field) value = 0.999 * value + 1e-3;
                meet(c);
                const double began_s = now_s();
                entrant.run(links_of(c.dimensions), 1);
                rates.push_back(bytes_of(c) / (now_s() - began_s) * 1e-6);
            }
            meet_at_the_end(c);
            const bool is_right = check(entrant.is_right());
            const RateHistogram histogram = histogram_of(rates, links_mb_s(c));
            const char* const what = is_alternating ? "alternating with computing" : "alone";
            say(histogram_text(entrant.name() + ", " + what, histogram).c_str());
            measure::Record record = record_of("histogram", c, entrant.name());
            record["alternating"] = is_alternating;
            record["is_correct"] = is_right;
            add_histogram(record, histogram);
            write(record);
        }
    }

    static constexpr double assumed_mb_s = 1000;
    static constexpr std::size_t words_to_sweep = std::size_t{1} << 18;
    const HypercrossbarOptions& options_;
    std::vector<Link>& links_;
    int rank_, num_ranks_;
    std::unique_ptr<measure::RecordWriter> writer_;
    Status write_status_;
    bool all_right_ = true;
};

int run(int argc, char** argv) {
    int rank = 0, num_ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
    std::string help;
    const auto options = parse_hypercrossbar_options(argc, argv, num_ranks, help);
    if (!help.empty()) {
        if (rank == 0) std::fputs(help.c_str(), stdout);
        return 0;
    }
    if (!options.ok()) {
        if (rank == 0)
            std::fprintf(stderr, "hakobi-bench-hypercrossbar: %s\n", options.status().text().c_str());
        return 2;
    }
    std::vector<Link> links = make_links();
    Benchmark benchmark(options.value(), links, rank, num_ranks);
    const Status status = benchmark.run();
    if (!status.ok()) std::fprintf(stderr, "hakobi-bench-hypercrossbar: %s\n", status.text().c_str());
    free_links(links);
    return !status.ok() ? 2 : benchmark.all_right() ? 0 : 1;
}

}  // namespace
}  // namespace hakobi::bench

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const int status = hakobi::bench::run(argc, argv);
    MPI_Finalize();
    return status;
}
