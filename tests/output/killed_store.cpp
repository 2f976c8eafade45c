// A run of the format zarr that one of its ranks ends at a random moment, and who looks at what it left;
// tests/output/killed_store.sh starts both:
//
//   killed_store write PREFIX NOTES METHOD HIDDEN SEED   resumes PREFIX and writes steps until it is killed
//   killed_store check PREFIX NOTES                      prints the number of steps, all whole, or says what is wrong
//
// NOTES.told has the last step whose end_step returned where output is not hidden: it must be there
// afterwards.
#include <unistd.h>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <hakobi/hakobi.hpp>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

const std::vector<std::int64_t> extents = {60, 101};

double value_at(std::int64_t step, std::int64_t element) {
    return static_cast<double>(1000 * step + element % 997);
}

int write(const std::string& prefix, const std::string& notes, const std::string& method, bool is_hidden,
          unsigned seed) {
    MPI_Init(nullptr, nullptr);
    const auto comm = hakobi::Comm::duplicate(MPI_COMM_WORLD);
    std::mt19937 random(seed);
    const auto after_us = std::uniform_int_distribution(0, 60'000)(random);
    const int victim = static_cast<int>(random() % static_cast<unsigned>(comm.size()));
    auto out = hakobi::Output::create(comm, prefix,
                                      {.method = method,
                                       .format = "zarr",
                                       .asynchronous = is_hidden,
                                       .if_exists = hakobi::IfExists::resume});
    if (comm.rank() == victim) {
        std::thread([after_us] {
            std::this_thread::sleep_for(std::chrono::microseconds(after_us));
            kill(getpid(), SIGKILL);
        }).detach();
    }
    const auto block = hakobi::split(extents, comm.size(), comm.rank());
    std::int64_t step = 0;
    if (std::ifstream first(notes + ".next"); first) first >> step;
    for (;; ++step) {
        std::vector<double> values;
        for (std::int64_t y = 0; y < block.count[0]; ++y) {
            for (std::int64_t x = 0; x < block.count[1]; ++x)
                values.push_back(value_at(step, (block.start[0] + y) * extents[1] + block.start[1] + x));
        }
        out.begin_step(static_cast<double>(step));
        out.put(
            {.name = "eta", .compression = "zstd", .block = block, .data = std::span<const double>(values)});
        out.put({.name = "raw", .block = block, .data = std::span<const double>(values)});
        out.end_step();
        if (comm.rank() == 0 && !is_hidden) std::ofstream(notes + ".told") << step << "\n";
    }
}

int check(const std::string& prefix, const std::string& notes) {
    std::int64_t told = -1;
    if (std::ifstream file(notes + ".told"); file) file >> told;
    std::int64_t num = 0;
    try {
        auto in = hakobi::Input::open(prefix);
        std::vector<double> values(static_cast<std::size_t>(extents[0] * extents[1]));
        for (const std::int64_t step : in.steps()) {
            if (step != num++)
                return std::printf("step %lld is missing\n", static_cast<long long>(num - 1)), 1;
            for (const char* name : {"eta", "raw"}) {
                in.read({.name = name,
                         .step = step,
                         .block = {extents, {0, 0}, extents},
                         .data = std::span<double>(values)});
                for (std::size_t i = 0; i < values.size(); ++i) {
                    if (values[i] != value_at(step, static_cast<std::int64_t>(i)))
                        return std::printf("step %lld is torn: %s\n", static_cast<long long>(step), name), 1;
                }
            }
        }
    } catch (const hakobi::Error& error) {
        if (error.code() != hakobi::ErrorCode::not_found) return std::printf("%s\n", error.what()), 1;
    }
    if (told >= num) return std::printf("step %lld was ended and is lost\n", static_cast<long long>(told)), 1;
    std::ofstream(notes + ".next") << num << "\n";
    std::printf("%lld\n", static_cast<long long>(num));
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string what = argc > 1 ? argv[1] : "";
    if (what == "write" && argc == 7)
        return write(argv[2], argv[3], argv[4], std::string(argv[5]) == "1",
                     static_cast<unsigned>(std::stoul(argv[6])));
    if (what == "check" && argc == 4) return check(argv[2], argv[3]);
    return 2;
}
