// How long do archive and flush, single retrieves and a listing of everything take, in this store, in ECMWF's
// FDB and by plain writes of the same bytes?
//
//  1. Each case is a size and number of fields. In every round each contender takes its turn, keyed and from
//     messages, in a new folder; open, flush and close are in the time, the slowest process counts. From
//     messages only up to 10,000 fields: FDB takes about 2 ms to read one's keys, and no more is to be learnt
//     from minutes of it.
//     --place names object storage where the store takes a turn of its own, in a prefix that is empty before.
//  2. Process 0 then retrieves every 7th of its fields one by one and lists everything; every byte retrieved
//     is compared.
//  3. Medians over the rounds, every sample in the records.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <hakobi/comm.hpp>
#include <hakobi/error.hpp>
#include <map>
#include <nlohmann/json.hpp>

#include "contender.hpp"
#include "measure/statistics.hpp"

namespace hakobi::bench {
namespace {

struct Case {
    std::int64_t field_bytes = 0, num_fields = 0;
};

constexpr std::int64_t most_unkeyed_fields = 10'000;

struct Options {
    std::vector<std::string> contenders = {"hakobi", "dd"};
    std::vector<std::string> cases = {"20480x100000", "72000x4000", "1000000x1000", "4000000x250"};
    std::string folder = ".", json;
    int rounds = 5;
    bool only_keyed = false;
};

struct What {
    std::string operation, contender;
    bool is_keyed = true;
    auto operator<=>(const What&) const = default;
};

double slowest(double seconds) {
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return seconds;
}

/// Seconds of a call that every process makes, the slowest's. A failure on one process ends the program.
template <class Call>
double timed(Call call) {
    MPI_Barrier(MPI_COMM_WORLD);
    const auto start = std::chrono::steady_clock::now();
    call();
    return slowest(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
}

class Bench {
  public:
    Bench(Options options, const Comm& comm)
        : options_(std::move(options)), rank_(comm.rank()), size_(comm.size()) {
        if (rank_ == 0 && !options_.json.empty()) records_.open(options_.json, std::ios::app);
    }
    void run(const Case& one) {
        samples_.clear();
        for (int round = 0; round < options_.rounds; ++round) {
            for (const std::string& name : options_.contenders) {
                for (const bool is_keyed : {true, false}) {
                    const bool is_timed = is_keyed || (!options_.only_keyed && name != "dd" &&
                                                       one.num_fields <= most_unkeyed_fields);
                    if (!is_timed) continue;
                    take_turn(one, name, is_keyed);
                }
            }
        }
        report(one);
    }

  private:
    void take_turn(const Case& one, const std::string& name, bool is_keyed) {
        const std::string folder =
            is_place(name) ? name + "/hakobi-bench-store" : options_.folder + "/hakobi-bench-store-" + name;
        const auto remove = [&] {
            std::error_code error;
            if (rank_ == 0 && is_place(name)) {
                remove_objects(folder);
            } else if (rank_ == 0) {
                std::filesystem::remove_all(folder, error);
                std::filesystem::remove(folder + ".schema", error);
            }
            // Or the next contender's syncs would also pay for removing what this one wrote.
            if (rank_ == 0) ::sync();
            MPI_Barrier(MPI_COMM_WORLD);
        };
        remove();
        Fields fields(one.field_bytes, one.num_fields / size_, rank_);
        field_bytes_ = fields.message_bytes();
        const std::unique_ptr<Contender> contender = make_contender(name, folder, rank_);
        samples_[{"archive", name, is_keyed}].push_back(timed([&] { contender->archive(fields, is_keyed); }));
        if (is_keyed) {
            samples_[{"retrieve", name, true}].push_back(timed([&] {
                if (rank_ == 0) (void)contender->retrieve(fields);
            }));
            std::int64_t listed = -1;
            const double list_s = timed([&] {
                if (rank_ == 0) listed = contender->list();
            });
            const std::int64_t expected = one.num_fields / size_ * size_;
            if (rank_ == 0 && listed >= 0 && listed != expected) {
                throw Error(ErrorCode::format, name + " lists " + std::to_string(listed) + " fields of " +
                                                   std::to_string(expected));
            }
            if (name != "dd") samples_[{"list", name, true}].push_back(list_s);
        }
        remove();
    }

    void report(const Case& one) {
        if (rank_ != 0) return;
        const std::int64_t fields = one.num_fields / size_ * size_;
        std::printf("%lld fields of %lld bytes, %d processes, %d rounds, folder %s\n",
                    static_cast<long long>(fields), static_cast<long long>(field_bytes_), size_,
                    options_.rounds, options_.folder.c_str());
        std::printf("  %-9s %-16s %-9s %12s %10s %10s %10s\n", "operation", "by", "keys", "median s",
                    "least s", "most s", "MB/s");
        for (const auto& [what, seconds] : samples_) {
            const auto [least, most] = std::ranges::minmax(seconds);
            const double middle = measure::median(seconds);
            const double count = what.operation == "archive"
                                     ? static_cast<double>(fields)
                                     : std::ceil(static_cast<double>(one.num_fields / size_) / 7);
            const double rate =
                what.operation == "list" ? 0 : count * static_cast<double>(field_bytes_) / middle / 1e6;
            std::printf("  %-9s %-16s %-9s %12.6f %10.6f %10.6f %10.1f\n", what.operation.c_str(),
                        what.contender.c_str(), what.is_keyed ? "given" : "read", middle, least, most, rate);
            for (const double sample : seconds) {
                add({{"kind", "sample"},
                     {"operation", what.operation},
                     {"contender", what.contender},
                     {"is_keyed", what.is_keyed},
                     {"num_fields", fields},
                     {"field_bytes", field_bytes_},
                     {"seconds", sample}});
            }
            summaries_.push_back({{"kind", "summary"},
                                  {"operation", what.operation},
                                  {"num_fields", fields},
                                  {"field_bytes", field_bytes_},
                                  {"contender", what.contender},
                                  {"is_keyed", what.is_keyed},
                                  {"median_s", middle}});
        }
        std::fflush(stdout);
    }

  public:
    /// Records end with the summaries.
    void finish() {
        for (const nlohmann::json& summary : summaries_) add(summary);
    }

  private:
    void add(const nlohmann::json& record) {
        if (records_.is_open()) records_ << record.dump() << '\n' << std::flush;
    }
    Options options_;
    int rank_, size_;
    std::int64_t field_bytes_ = 0;
    std::map<What, std::vector<double>> samples_;
    std::vector<nlohmann::json> summaries_;
    std::ofstream records_;
};

/// "1000000x200": 200 fields of a million bytes.
Case parse_case(const std::string& text) {
    long long bytes = 0, count = 0;
    char rest = 0;
    if (std::sscanf(text.c_str(), "%lldx%lld%c", &bytes, &count, &rest) != 2 || bytes < 1000 || count < 1 ||
        bytes > 1LL << 30) {
        throw Error(ErrorCode::invalid_argument,
                    "--case " + text + ": BYTESxFIELDS is needed, as 1000000x200, of 1000 bytes or more");
    }
    return {bytes, count};
}

int run_all(int argc, char** argv) {
    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    Options options;
    std::string compare;
    CLI::App app{"Archive, retrieve and list: the field store beside ECMWF's FDB and plain writes.",
                 "hakobi-bench-store"};
    app.add_option("--compare", compare, "fdb: also ECMWF's FDB 5");
    std::vector<std::string> places;
    app.add_option("--place", places,
                   "rados:POOL/PREFIX, s3://BUCKET/PREFIX: also the store there, in a prefix of its own");
    app.add_option("--case", options.cases, "BYTESxFIELDS, repeated for several")->capture_default_str();
    app.add_option("--folder", options.folder, "where to write")->capture_default_str();
    app.add_option("--rounds", options.rounds, "of every contender")
        ->capture_default_str()
        ->check(CLI::Range(1, 1000));
    app.add_flag("--keyed", options.only_keyed,
                 "leave out archiving by keys that are read from the messages");
    app.add_option("--json", options.json, "append records to this file");
    int status = 0;
    try {
        app.parse(argc, argv);
        if (!compare.empty() && compare != "fdb")
            throw Error(ErrorCode::invalid_argument, "--compare " + compare + ": fdb is there");
        if (!compare.empty()) options.contenders.insert(options.contenders.begin() + 1, compare);
        for (const std::string& place : places) {
            if (!is_place(place))
                throw Error(ErrorCode::invalid_argument, "--place " + place + ": no object storage");
            options.contenders.insert(options.contenders.begin() + 1, place);
        }
        std::vector<Case> cases;
        for (const std::string& text : options.cases) cases.push_back(parse_case(text));
        if (!std::filesystem::is_directory(options.folder))
            throw Error(ErrorCode::not_found, "--folder " + options.folder + ": no such folder");
        Bench bench(options, comm);
        for (const Case& one : cases) bench.run(one);
        bench.finish();
    } catch (const CLI::CallForHelp&) {
        if (comm.rank() == 0) std::fputs(app.help().c_str(), stdout);
    } catch (const CLI::ParseError& error) {
        if (comm.rank() == 0) std::fprintf(stderr, "hakobi-bench-store: %s\n", error.what());
        status = 2;
    } catch (const Error& error) {
        const bool is_input =
            error.code() == ErrorCode::invalid_argument || error.code() == ErrorCode::not_found;
        if (!is_input || comm.rank() == 0) std::fprintf(stderr, "hakobi-bench-store: %s\n", error.what());
        if (!is_input && comm.size() > 1)
            MPI_Abort(MPI_COMM_WORLD, error.code() == ErrorCode::unsupported ? 2 : 1);
        status = is_input || error.code() == ErrorCode::unsupported ? 2 : 1;
    }
    comm.free();
    return status;
}

}  // namespace
}  // namespace hakobi::bench

int main(int argc, char** argv) {
    int provided = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    const int status = hakobi::bench::run_all(argc, argv);
    MPI_Finalize();
    return status;
}
