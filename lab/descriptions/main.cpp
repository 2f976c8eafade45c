// How many words of description a rank sends and holds for one collective write between nodes:
// description_words [NODES RANKS_PER_NODE]. By the plan alone, for every rank, or for 10,000 ranks drawn from
// more, each of which then counts for as many. One aggregator a node; phases of 4,096 collective buffers,
// each of 4 MiB or, where there is less to write, as the engine makes them.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "io/descriptions.hpp"

namespace {

using hakobi::Region;

constexpr std::int64_t largest_cb_bytes = 4 << 20, align_bytes = 4096, depth = 8;
constexpr std::int64_t edge = 128, num_values = edge * edge * edge;  // a block's: 16 MiB of doubles
constexpr std::int64_t piece_bytes = 4096;                           // a cyclic piece
constexpr std::int64_t num_indices = 10000;                          // a rank's of the mesh, each a double
constexpr int most_described = 10000;
constexpr std::int64_t summary_words = 9;  // which every rank had of every other before, beside the region

struct Job {
    int num_nodes = 64, ranks_per_node = 8;
    [[nodiscard]] int num_ranks() const { return num_nodes * ranks_per_node; }
};

/// The largest divisor that is no larger than the root.
std::int64_t divisor(std::int64_t number, int root) {
    std::int64_t result = 1;
    for (std::int64_t d = 1; d <= number; ++d) {
        std::int64_t power = 1;
        for (int i = 0; i < root; ++i) power *= d;
        if (power > number) break;
        if (number % d == 0) result = d;
    }
    return result;
}

Region block_of(const Job& job, int rank) {
    const std::int64_t nz = divisor(job.num_ranks(), 3), ny = divisor(job.num_ranks() / nz, 2);
    const std::int64_t nx = job.num_ranks() / nz / ny;
    const std::int64_t global[] = {nz * edge, ny * edge, nx * edge}, count[] = {edge, edge, edge};
    const std::int64_t start[] = {rank / (nx * ny) * edge, rank / nx % ny * edge, rank % nx * edge};
    return Region::subarray(0, global, start, count, sizeof(double));
}

Region cyclic_of(const Job& job, int rank) {
    return Region::strided(rank * piece_bytes,
                           num_values * static_cast<std::int64_t>(sizeof(double)) / piece_bytes,
                           job.num_ranks() * piece_bytes, Region::contiguous(0, piece_bytes));
}

/// Indices anywhere in the mesh: nothing in common with those of the rank's neighbours.
Region mesh_of(const Job& job, int rank) {
    std::mt19937_64 random(static_cast<std::uint64_t>(rank));
    std::uniform_int_distribution<std::int64_t> gap(1, 2 * job.num_ranks() - 1);
    const std::int64_t all = num_indices * job.num_ranks();
    std::vector<std::int64_t> offsets, lengths;
    for (std::int64_t at = gap(random); at < all; at += gap(random)) {
        offsets.push_back(at * static_cast<std::int64_t>(sizeof(double)));
        lengths.push_back(sizeof(double));
    }
    return Region::indexed(offsets, lengths);
}

std::vector<hakobi::io::Domains> phases_of(const Job& job, std::int64_t end_bytes) {
    const hakobi::io::Division division{.num_aggregators = job.num_nodes,
                                        .num_nodes = job.num_nodes,
                                        .cb_bytes = largest_cb_bytes,
                                        .depth = depth,
                                        .align_bytes = align_bytes,
                                        .highest_tag = std::numeric_limits<int>::max()};
    std::vector<hakobi::io::Domains> phases;
    for (std::int64_t begin = 0; begin < end_bytes; begin = phases.back().end_bytes)
        phases.push_back(hakobi::io::divide(begin, end_bytes, division));
    return phases;
}

struct Words {
    std::int64_t all_gathered = 0, most_sent = 0, most_messages = 0, most_held = 0, held = 0;
    double mean_sent = 0;
};

Words count(const Job& job, const std::vector<hakobi::io::Domains>& phases,
            const std::function<Region(const Job&, int)>& region_of) {
    const int step = (job.num_ranks() + most_described - 1) / most_described;
    std::mt19937_64 random(1);
    Words words;
    const auto num_nodes = static_cast<std::size_t>(job.num_nodes);
    std::vector<std::vector<std::int64_t>> held(phases.size(), std::vector<std::int64_t>(num_nodes));
    for (int first = 0; first < job.num_ranks(); first += step) {
        const int weight = std::min(step, job.num_ranks() - first);
        const int rank = first + static_cast<int>(random() % static_cast<unsigned>(weight));
        const Region region = region_of(job, rank);
        words.all_gathered += weight * (region.num_words() + summary_words);
        std::vector<int> local_index(num_nodes, -1);
        local_index[static_cast<std::size_t>(rank / job.ranks_per_node)] = 0;
        hakobi::io::Describer describer(region);
        std::int64_t sent = 0, num_messages = 0;
        for (std::size_t phase = 0; phase < phases.size(); ++phase) {
            for (const hakobi::io::Description& each : describer.due(phases[phase], local_index)) {
                const std::int64_t length = std::ssize(each.words);
                sent += length;
                ++num_messages;
                // A whole region is held as long as it has bytes, another for its phase.
                const bool is_whole = each.words.front() != 0;
                for (std::size_t p = phase; p < phases.size() && (p == phase || is_whole); ++p) {
                    if (p > phase && phases[p].begin_bytes >= region.end_bytes()) break;
                    held[p][static_cast<std::size_t>(each.domain)] += weight * length;
                }
            }
        }
        words.most_sent = std::max(words.most_sent, sent);
        words.most_messages = std::max(words.most_messages, num_messages);
        words.mean_sent += static_cast<double>(weight) * static_cast<double>(sent) / job.num_ranks();
    }
    for (const std::vector<std::int64_t>& of_phase : held) {
        std::int64_t sum = 0;
        for (const std::int64_t of_aggregator : of_phase) {
            words.most_held = std::max(words.most_held, of_aggregator);
            sum += of_aggregator;
        }
        words.held = std::max(words.held, sum);
    }
    return words;
}

void print(const Job& job, const char* name, std::int64_t end_bytes,
           const std::function<Region(const Job&, int)>& region_of) {
    const std::vector<hakobi::io::Domains> phases = phases_of(job, end_bytes);
    const Words words = count(job, phases, region_of);
    std::printf("%-7s %8d %7zu %14lld %12.0f %9lld %9lld %12lld %14lld\n", name, job.num_ranks(),
                phases.size(), static_cast<long long>(words.all_gathered), words.mean_sent,
                static_cast<long long>(words.most_sent), static_cast<long long>(words.most_messages),
                static_cast<long long>(words.most_held), static_cast<long long>(words.held));
}

}  // namespace

int main(int argc, char** argv) {
    std::vector<Job> jobs{{64, 8}, {1000, 100}};
    if (argc == 3) jobs = {{std::atoi(argv[1]), std::atoi(argv[2])}};
    if ((argc != 1 && argc != 3) || jobs[0].num_nodes < 1 || jobs[0].ranks_per_node < 1) {
        std::fprintf(stderr, "usage: description_words [NODES RANKS_PER_NODE]\n");
        return 2;
    }
    std::printf("%-7s %8s %7s %14s %12s %9s %9s %12s %14s\n", "", "ranks", "phases", "before: held",
                "sent, mean", "most", "messages", "held, most", "all aggr.");
    for (const Job& job : jobs) {
        const std::int64_t values_bytes =
            job.num_ranks() * num_values * static_cast<std::int64_t>(sizeof(double));
        print(job, "block", values_bytes, block_of);
        print(job, "cyclic", values_bytes, cyclic_of);
        print(job, "mesh", job.num_ranks() * num_indices * static_cast<std::int64_t>(sizeof(double)),
              mesh_of);
    }
}
