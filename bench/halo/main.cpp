// hakobi-bench-halo: how long does it take until all ghosts of a field are filled?
//
// Floor: none is printed; the rivals of the same run are plain MPI's five usual ways. Contenders take turns,
// each with a field of its own; before every exchange other memory of twice the last-level cache is written
// to, so that buffers are cold, and all ranks start at one moment. The slowest rank's time counts. Each
// contender's ghosts are compared before the first and after the last sample. Exit status: 0 measured; 1 one
// of this library's ways was wrong; 2 bad input.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "contender.hpp"
#include "histogram.hpp"
#include "measure/record.hpp"
#include "measure/timing.hpp"
#include "measure/window.hpp"
#include "mpi/agree.hpp"
#include "mpi/comm_state.hpp"
#include "options.hpp"

namespace hakobi::bench {
namespace {

struct Entrant {
    std::string name;
    std::unique_ptr<HaloContender> contender;
    bool is_correct = true;
};

class Benchmark {
  public:
    Benchmark(const Comm& comm, const HaloOptionsOfBench& options)
        : comm_(comm),
          options_(options),
          topology_(measure::Topology::load()),
          timing_(comm, topology_, options.is_hot) {}

    /// Whether all of our own were right.
    bool run(const std::vector<HaloCase>& cases) {
        auto writer = measure::RecordWriter::open(comm_.rank() == 0 ? options_.json_path : "");
        mpi::agree_or_throw(comm_, writer.ok() ? Status() : writer.status());
        writer_ = std::make_unique<measure::RecordWriter>(std::move(writer).value());
        measure::Record conditions = measure::conditions("halo", comm_.size(), topology_);
        conditions["num_nodes"] = comm_.num_nodes();
        conditions["cold"] = !options_.is_hot;
        conditions["eviction_bytes"] = timing_.eviction_bytes();
        write(conditions);
        say(conditions.value("mpi_library", "MPI") + ", " + std::to_string(comm_.size()) + " ranks on " +
            std::to_string(topology_.num_cores()) + " cores, " + (options_.is_hot ? "hot" : "cold") +
            " buffers");
        for (const HaloCase& halo_case : cases) measure(halo_case);
        for (const measure::Record& summary : summaries_) write(summary);
        return all_right_;
    }

  private:
    void say(const std::string& line) const {
        if (comm_.rank() != 0) return;
        std::printf("%s\n", line.c_str());
        std::fflush(stdout);
    }
    void write(const measure::Record& record) {
        mpi::agree_or_throw(comm_, comm_.rank() == 0 ? writer_->write(record) : Status());
    }

    /// Collective: whether every rank's ghosts are right after an exchange.
    bool verify(const HaloCase& halo_case, HaloContender& contender, int round) {
        fill(halo_case, comm_.rank(), round, contender.values());
        mpi::check(MPI_Barrier(comm_.state().internal), "MPI_Barrier");
        contender.exchange();
        long long wrong = count_wrong(halo_case, comm_.rank(), round, contender.values());
        mpi::check(MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_LONG_LONG, MPI_SUM, comm_.state().internal),
                   "MPI_Allreduce");
        return wrong == 0;
    }

    void measure(const HaloCase& halo_case) {
        say("");
        say(halo_case.text());
        std::vector<Entrant> entrants;
        for (const std::string& name : options_.contenders) {
            entrants.push_back({name, make_halo_contender(name, comm_, halo_case)});
            Entrant& entrant = entrants.back();
            entrant.is_correct = verify(halo_case, *entrant.contender, 1);
            if (options_.explain && !entrant.contender->explain().empty())
                say(name + ":\n" + entrant.contender->explain());
        }
        std::vector<measure::Contender> contenders;
        for (Entrant& entrant : entrants)
            contenders.push_back(
                {entrant.name, [&] { return timing_.sample([&] { entrant.contender->exchange(); }); }});
        const auto rank_0_decides = [this](bool more) {
            int decision = more ? 1 : 0;
            mpi::check(MPI_Bcast(&decision, 1, MPI_INT, 0, comm_.state().internal), "MPI_Bcast");
            return decision != 0;
        };
        timing_.settle();
        const auto measurements = measure::measure_interleaved(contenders, options_.rule, rank_0_decides);
        for (Entrant& entrant : entrants)
            entrant.is_correct = verify(halo_case, *entrant.contender, 2) && entrant.is_correct;
        report(halo_case, entrants, measurements);
        if (options_.num_histogram == 0) return;
        for (Entrant& entrant : entrants) {
            for (const auto& [what, spread] :
                 measure_spread(timing_, *entrant.contender, halo_case, options_.num_histogram)) {
                say(spread_line(entrant.name, what, spread));
                measure::Record record = head_of("histogram", halo_case, entrant.name);
                record["alternating"] = what == "alternating";
                add_spread(record, spread);
                write(record);
            }
        }
    }

    [[nodiscard]] measure::Record head_of(const char* kind, const HaloCase& halo_case,
                                          const std::string& name) const {
        measure::Record record;
        record["kind"] = kind;
        record["benchmark"] = "halo";
        record["ranks"] = comm_.size();
        record["grid"] = halo_case.ranks;
        record["extent"] = halo_case.extent;
        record["components"] = halo_case.num_components;
        record["layout"] = halo_case.components_first ? "first" : "last";
        record["ghost"] = halo_case.ghost;
        record["periodic"] = halo_case.is_periodic;
        record["corners"] = halo_case.corners;
        record["directions"] = halo_case.num_directions;
        record["ways"] = halo_case.is_both_ways ? "both" : "one";
        record["contender"] = name;
        return record;
    }

    void report(const HaloCase& halo_case, const std::vector<Entrant>& entrants,
                const std::vector<measure::Measurement>& measurements) {
        // The fastest rival among those that were right.
        const measure::Measurement* rival = nullptr;
        for (std::size_t i = 0; i < entrants.size(); ++i) {
            if (is_ours(entrants[i].name) || !entrants[i].is_correct) continue;
            if (rival == nullptr || measurements[i].summary.median < rival->summary.median)
                rival = &measurements[i];
        }
        say("contender                 median us      ±    against the fastest right MPI way");
        for (std::size_t i = 0; i < entrants.size(); ++i) {
            const measure::Measurement& m = measurements[i];
            measure::Record record = head_of("measurement", halo_case, m.name);
            record["verified"] = entrants[i].is_correct;
            record.update(to_record(m));
            write(record);
            measure::Record summary = head_of("summary", halo_case, m.name);
            summary["is_correct"] = entrants[i].is_correct;
            summary["median_s"] = m.summary.median;
            summary["spread"] = m.summary.spread();
            std::string against;
            if (rival != nullptr) {
                const auto comparison = measure::compare_interleaved(rival->samples, m.samples);
                summary["speedup"] = comparison.ratio;
                summary["speedup_ci_low"] = comparison.ci_low;
                summary["speedup_ci_high"] = comparison.ci_high;
                char text[96];
                std::snprintf(text, sizeof text, "  %5.2f [%.2f, %.2f] times as fast", comparison.ratio,
                              comparison.ci_low, comparison.ci_high);
                against = &m == rival ? "  the fastest right one" : text;
            }
            summary["wide"] = m.wide;
            summaries_.push_back(summary);
            char line[160];
            std::snprintf(line, sizeof line, "%-22s %12.1f  %5.1f %%", m.name.c_str(), 1e6 * m.summary.median,
                          100 * m.summary.relative_spread());
            say(line + against + (entrants[i].is_correct ? "" : "  WRONG DATA") + (m.wide ? "  wide" : ""));
            if (is_ours(m.name)) all_right_ = all_right_ && entrants[i].is_correct;
        }
    }

    Comm comm_;
    HaloOptionsOfBench options_;
    measure::Topology topology_;
    measure::Timing timing_;
    std::unique_ptr<measure::RecordWriter> writer_;
    std::vector<measure::Record> summaries_;
    bool all_right_ = true;
};

int run(const Result<HaloOptionsOfBench>& options) {
    const Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    const bool is_speaker = comm.rank() == 0;
    if (options.ok() && !options.value().help_text.empty()) {
        if (is_speaker) std::fputs(options.value().help_text.c_str(), stdout);
        return 0;
    }
    try {
        mpi::agree_or_throw(comm, options.ok() ? Status() : options.status());
        const auto cases = options.value().cases(comm.size());
        mpi::agree_or_throw(comm, cases.ok() ? Status() : cases.status());
        return Benchmark(comm, options.value()).run(cases.value()) ? 0 : 1;
    } catch (const Error& error) {
        if (is_speaker) std::fprintf(stderr, "hakobi-bench-halo: %s\n", error.what());
        return 2;
    }
}

}  // namespace
}  // namespace hakobi::bench

int main(int argc, char** argv) {
    const auto options = hakobi::bench::parse_halo_options(argc, argv);
    int provided = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    const int status = hakobi::bench::run(options);
    MPI_Finalize();
    return status;
}
