// hakobi-bench-device: what do copies, output and halos of device memory cost, beside what they must cost?
//
// Each case has its floor (the driver's own copy, the storage's rate, device copies without messages), this
// library's ways, and what programs write by hand. They take turns; before every sample other memory of twice
// the host's last-level cache is written to, and all ranks start at one moment. The slowest rank's time
// counts. Every value is compared before the first and after the last sample. Exit status: 0 measured; 1 one
// of this library's ways was wrong; 2 bad input, or no device.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "copies.hpp"
#include "folders.hpp"
#include "halo.hpp"
#include "measure/record.hpp"
#include "measure/timing.hpp"
#include "mpi/agree.hpp"
#include "mpi/comm_state.hpp"
#include "mpi/gpu_aware.hpp"
#include "options.hpp"
#include "put.hpp"
#include "report.hpp"

namespace hakobi::bench {
namespace {

class Benchmark {
  public:
    Benchmark(const Comm& comm, const DeviceOptions& options, const std::vector<HaloCase>& halos)
        : comm_(comm),
          options_(options),
          halos_(halos),
          topology_(measure::Topology::load()),
          site_(DeviceSite::make(comm)),
          timing_(comm, topology_, options.is_hot),
          report_(comm, options.json_path) {}

    /// Whether all of our own were right.
    bool run() {
        begin();
        if (options_.has("copies")) {
            for (const BlockShape& shape : block_shapes(options_.copy_bytes, options_.rows))
                for (DeviceCase& made : copy_cases(site_, shape)) measure(made);
        }
        for (const std::string& parent :
             options_.folders.empty() ? std::vector<std::string>{""} : options_.folders) {
            if (!options_.has("put") && !options_.has("hidden")) break;
            const RunFolder folder(comm_, parent);
            PutShape shape = options_.put;
            shape.folder = folder.path();
            for (const std::int64_t ghost : options_.put_ghosts) {
                shape.ghost = ghost;
                if (options_.has("put"))
                    for (DeviceCase& made : put_cases(site_, shape)) measure(made);
            }
            if (options_.has("hidden")) {
                DeviceCase made = hidden_case(site_, shape, options_.hidden);
                measure(made);
            }
        }
        if (options_.has("halo")) {
            for (const HaloCase& halo : halos_) {
                DeviceCase made = halo_case_on_device(site_, halo, options_.halo_contenders);
                measure(made);
            }
        }
        report_.end();
        return report_.is_all_right();
    }

  private:
    void begin() {
        const bool is_aware = mpi::takes_memory_of(site_.device);
        measure::Record conditions = measure::conditions("device", comm_.size(), topology_);
        conditions["num_nodes"] = comm_.num_nodes();
        conditions["cold"] = !options_.is_hot;
        conditions["eviction_bytes"] = timing_.eviction_bytes();
        conditions["device"] = site_.device.text();
        conditions["mpi_takes_device_memory"] = is_aware;
        report_.write(conditions);
        report_.say(site_.device.text() + (is_fake() ? ": a fake device, figures mean nothing" : ""));
        report_.say(conditions.value("mpi_library", "MPI") +
                    (is_aware ? "" : ", which takes no device memory") + ", " + std::to_string(comm_.size()) +
                    " ranks on " + std::to_string(topology_.num_cores()) + " cores, " +
                    (options_.is_hot ? "hot" : "cold") + " caches");
    }
    [[nodiscard]] bool is_fake() const { return site_.device.text().find("fake") != std::string::npos; }

    /// Collective: whether every rank's values are right after a run.
    bool verify(DeviceEntrant& entrant, int round) {
        entrant.fill(round);
        entrant.prepare();
        entrant.run();
        entrant.finish();
        long long wrong = entrant.count_wrong(round);
        mpi::check(MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_LONG_LONG, MPI_SUM, comm_.state().internal),
                   "MPI_Allreduce");
        return wrong == 0;
    }

    void measure(DeviceCase& made) {
        std::vector<bool> is_right;
        for (const NamedEntrant& named : made.entrants) {
            is_right.push_back(verify(*named.entrant, 1));
            if (options_.explain && !named.entrant->explain().empty())
                report_.say("\n" + named.name + ":\n" + named.entrant->explain());
        }
        std::vector<measure::Contender> contenders;
        for (const NamedEntrant& named : made.entrants) {
            contenders.push_back({named.name, [&] {
                                      named.entrant->prepare();
                                      const double time_s = timing_.sample([&] { named.entrant->run(); });
                                      named.entrant->finish();
                                      return time_s;
                                  }});
        }
        const auto rank_0_decides = [this](bool more) {
            int decision = more ? 1 : 0;
            mpi::check(MPI_Bcast(&decision, 1, MPI_INT, 0, comm_.state().internal), "MPI_Bcast");
            return decision != 0;
        };
        timing_.settle();
        const auto measurements = measure::measure_interleaved(contenders, options_.rule, rank_0_decides);
        for (std::size_t i = 0; i < made.entrants.size(); ++i)
            is_right[i] = verify(*made.entrants[i].entrant, 2) && is_right[i];
        report_.add(made, measurements, is_right);
    }

    Comm comm_;
    DeviceOptions options_;
    std::vector<HaloCase> halos_;
    measure::Topology topology_;
    DeviceSite site_;
    measure::Timing timing_;
    DeviceReport report_;
};

int run(const Result<DeviceOptions>& options) {
    const Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    const bool is_speaker = comm.rank() == 0;
    if (options.ok() && !options.value().help_text.empty()) {
        if (is_speaker) std::fputs(options.value().help_text.c_str(), stdout);
        return 0;
    }
    try {
        mpi::agree_or_throw(comm, options.ok() ? Status() : options.status());
        const auto halos = options.value().halos(comm.size());
        mpi::agree_or_throw(comm, halos.ok() ? Status() : halos.status());
        return Benchmark(comm, options.value(), halos.value()).run() ? 0 : 1;
    } catch (const Error& error) {
        if (is_speaker) std::fprintf(stderr, "hakobi-bench-device: %s\n", error.what());
        return 2;
    }
}

}  // namespace
}  // namespace hakobi::bench

int main(int argc, char** argv) {
    const auto options = hakobi::bench::parse_device_options(argc, argv);
    int provided = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    const int status = hakobi::bench::run(options);
    MPI_Finalize();
    return status;
}
