// hakobi-simulated-collectives: how long collective operations take on a network that SimGrid's SMPI
// simulates. Compiled with SMPI's mpi.h from the library's own sources, and started by `hakobi study
// collectives`, which makes the platform.
//
//     program TOPOLOGY CONTENDER LATENCY_S OVERHEAD_S BANDWIDTH OPERATION:BYTES...
//
// CONTENDER is "hakobi" (the form that the model chooses, with the costs given) or "mpi" (what SMPI is told
// to do). BYTES are the vector for an allreduce and a broadcast, else one rank's block. Rank 0 prints one
// JSON line each. Time is simulated: all ranks begin at one moment of its clock, and the last one's end
// counts.
#include <stdlib.h>  // malloc: SMPI may share it between ranks, and then there is nothing to verify
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <hakobi/collectives.hpp>
#include <hakobi/error.hpp>
#include <string>

namespace {

using namespace hakobi;

struct Work {
    std::string operation;
    std::int64_t bytes = 0;
};

Work parse_work(const std::string& text) {
    const std::size_t colon = text.find(':');
    if (colon == std::string::npos)
        throw Error(ErrorCode::invalid_argument, text + " is not OPERATION:BYTES");
    return {text.substr(0, colon), std::stoll(text.substr(colon + 1))};
}

/// One rank's memory, and what must be in it.
class Data {
  public:
    Data(const Work& work, int rank, int num_ranks) : work_(work), rank_(rank), num_(num_ranks) {
        const bool is_block = work.operation == "alltoall" || work.operation == "allgather";
        input_bytes_ = work.operation == "alltoall" ? work.bytes * num_ : work.bytes;
        output_bytes_ = is_block ? work.bytes * num_ : work.bytes;
        input_ =
            static_cast<double*>(malloc(static_cast<std::size_t>(std::max<std::int64_t>(input_bytes_, 8))));
        output_ =
            static_cast<double*>(malloc(static_cast<std::size_t>(std::max<std::int64_t>(output_bytes_, 8))));
    }
    ~Data() {
        free(input_);
        free(output_);
    }
    Data(const Data&) = delete;
    Data& operator=(const Data&) = delete;

    void fill() {
        for (std::int64_t i = 0; i < input_bytes_ / 8; ++i) input_[i] = element(rank_, i);
        for (std::int64_t i = 0; i < output_bytes_ / 8; ++i)
            output_[i] = work_.operation == "broadcast" && rank_ == 0 ? element(0, i) : -1;
    }
    [[nodiscard]] bool is_right() const {
        const std::int64_t block = std::max<std::int64_t>(work_.bytes / 8, 1);
        for (std::int64_t i = 0; i < output_bytes_ / 8; ++i) {
            const auto from = static_cast<int>(i / block);
            double expected = element(0, i);
            if (work_.operation == "alltoall") expected = element(from, rank_ * block + i % block);
            if (work_.operation == "allgather") expected = element(from, i % block);
            if (work_.operation == "allreduce")
                expected = 0.5 * num_ * (num_ - 1) + static_cast<double>(i % 1000) * num_;
            if (output_[i] != expected) return false;
        }
        return true;
    }
    [[nodiscard]] double* input() const { return input_; }
    [[nodiscard]] double* output() const { return output_; }

  private:
    static double element(int rank, std::int64_t index) { return rank + static_cast<double>(index % 1000); }

    Work work_;
    int rank_, num_;
    std::int64_t input_bytes_ = 0, output_bytes_ = 0;
    double *input_ = nullptr, *output_ = nullptr;
};

CollectivePlan plan_of(Collectives& collectives, const Work& work) {
    if (work.operation == "allreduce")
        return collectives.allreduce(ElementType::float64, Reduction::sum, work.bytes / 8);
    if (work.operation == "alltoall") return collectives.alltoall(work.bytes);
    if (work.operation == "allgather") return collectives.allgather(work.bytes);
    if (work.operation == "broadcast") return collectives.broadcast(work.bytes, 0);
    throw Error(ErrorCode::invalid_argument, "operation " + work.operation + " is none of the four");
}

/// All ranks leave at one moment of the simulated clock; returns it.
double start_together() {
    double now_s = MPI_Wtime(), latest_s = 0;
    MPI_Allreduce(&now_s, &latest_s, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    const double start_s = latest_s + 1.0;  // longer than the allreduce's last message
    const double pause_s = start_s - MPI_Wtime();
    timespec pause{static_cast<time_t>(pause_s), 0};
    pause.tv_nsec = static_cast<long>((pause_s - static_cast<double>(pause.tv_sec)) * 1e9);
    nanosleep(&pause, nullptr);
    return start_s;
}

void run(Collectives& collectives, const Work& work, int rank, int num_ranks, bool is_verified) {
    CollectivePlan plan = plan_of(collectives, work);
    Data data(work, rank, num_ranks);
    if (is_verified) data.fill();
    const double start_s = start_together();
    plan.execute(data.input(), data.output());
    double taken_s = MPI_Wtime() - start_s, longest_s = 0;
    MPI_Allreduce(&taken_s, &longest_s, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    int is_right = !is_verified || data.is_right() ? 1 : 0, all_right = 0;
    MPI_Allreduce(&is_right, &all_right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (rank != 0) return;
    std::printf(
        "{\"operation\": \"%s\", \"bytes\": %lld, \"time_s\": %.9g, \"is_correct\": %s, \"form\": \"%s\"}\n",
        work.operation.c_str(), static_cast<long long>(work.bytes), longest_s,
        !is_verified ? "null" : (all_right != 0 ? "true" : "false"), plan.explain().c_str());
    std::fflush(stdout);
}

int simulate(int argc, char** argv) {
    int rank = 0, num_ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
    if (argc < 7) {
        if (rank == 0)
            std::fprintf(stderr, "hakobi-simulated-collectives: started by 'hakobi study collectives'\n");
        return 2;
    }
    try {
        const bool is_ours = std::strcmp(argv[2], "hakobi") == 0;
        const bool is_verified = getenv("HAKOBI_SIMULATED_SHARED") == nullptr;
        Comm comm = Comm::duplicate(MPI_COMM_WORLD);
        Collectives collectives = Collectives::create(
            comm, {.shape = NetworkShape::parse(argv[1]),
                   .method = is_ours ? "model" : "mpi",
                   .costs = {std::stod(argv[3]), std::stod(argv[4]), std::stod(argv[5])}});
        for (int i = 6; i < argc; ++i) run(collectives, parse_work(argv[i]), rank, num_ranks, is_verified);
    } catch (const std::exception& error) {
        if (rank == 0) std::fprintf(stderr, "hakobi-simulated-collectives: %s\n", error.what());
        return 2;
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const int status = simulate(argc, argv);
    MPI_Finalize();
    return status;
}
