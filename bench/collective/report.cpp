#include "report.hpp"

#include <cstdio>
#include <span>

#include "base/status.hpp"
#include "measure/record.hpp"

namespace hakobi::bench {

void report(const Comm& comm, const Options& options, const Pattern& pattern,
            const std::vector<Series>& series, const std::vector<measure::Measurement>& results,
            measure::RecordWriter& writer) {
    const auto keep = [](const Status& status) { status.throw_if_error(); };
    keep(writer.write(measure::conditions("collective", comm.size(), measure::Topology::load())));
    const double gb = static_cast<double>(pattern.file_bytes) * 1e-9;
    std::printf("%s: %s, %.1f MB, %d ranks, pieces of %lld B; %s\n", pattern.name.c_str(),
                pattern.shape.c_str(), gb * 1e3, comm.size(), static_cast<long long>(pattern.piece_bytes),
                options.folder.c_str());
    std::printf("written: %s, %s; from open to close; bytes %s\n",
                options.is_file_kept ? "the same file again and again" : "a new file each time",
                options.is_synced ? "fsync timed" : "fsync not timed",
                options.is_unverified ? "NOT verified" : "verified, all of them");
    std::printf("%-26s %9s %19s %9s %9s %9s %8s\n", "contender", "GB/s", "95 % of median", "calls",
                "of floor", "of limit", "CPU s/GB");
    std::vector<measure::Record> summaries;
    for (std::size_t i = 0; i < results.size(); ++i) {
        const measure::Measurement& result = results[i];
        std::size_t floor = i;  // each operation's first contender
        while (results[floor].name.rfind("floor", 0) != 0) --floor;
        const std::size_t n = result.samples.size();
        std::vector<double> rates, fractions;
        for (std::size_t s = 0; s < n; ++s) {
            rates.push_back(gb / result.samples[s]);
            fractions.push_back(results[floor].samples[s] / result.samples[s]);
        }
        const measure::Summary rate = measure::summarize(rates);
        const double fraction = measure::median(fractions);
        const std::span<const double> cpu(series[i].cpu_s.data() + (series[i].cpu_s.size() - n), n);
        const std::span<const double> calls(series[i].call_s.data() + (series[i].call_s.size() - n), n);
        const double call_rate = gb / measure::median(calls);
        const double cpu_per_gb = measure::median(cpu) / gb;
        const double of_limit = options.limit_gb_s > 0 ? rate.median / options.limit_gb_s : fraction;
        std::printf("%-26s %9.3f  %8.3f .. %6.3f %9.3f %9.3f %9.3f %8.3f\n", result.name.c_str(), rate.median,
                    rate.ci_low, rate.ci_high, call_rate, fraction, of_limit, cpu_per_gb);
        const std::string operation = series[i].is_write ? "write" : "read";
        const measure::Record cached =
            series[i].is_write ? measure::Record() : measure::Record(measure::median(series[i].cached_share));
        for (std::size_t s = 0; s < n; ++s) {
            keep(writer.write({{"kind", "sample"},
                               {"benchmark", "collective"},
                               {"pattern", pattern.name},
                               {"ranks", comm.size()},
                               {"contender", series[i].transfer->name()},
                               {"operation", operation},
                               {"sample", s},
                               {"time_s", result.samples[s]},
                               {"call_s", calls[s]},
                               {"bytes", pattern.file_bytes},
                               {"cpu_s", cpu[s]}}));
        }
        summaries.push_back({{"kind", "summary"},
                             {"benchmark", "collective"},
                             {"pattern", pattern.name},
                             {"piece_bytes", pattern.piece_bytes},
                             {"bytes", pattern.file_bytes},
                             {"ranks", comm.size()},
                             {"contender", series[i].transfer->name()},
                             {"operation", operation},
                             {"median_gb_s", rate.median},
                             {"ci_low_gb_s", rate.ci_low},
                             {"ci_high_gb_s", rate.ci_high},
                             {"num_samples", n},
                             {"calls_gb_s", call_rate},
                             {"fraction_of_floor", fraction},
                             {"fraction_of_limit", of_limit},
                             {"cpu_s_per_gb", cpu_per_gb},
                             {"is_file_kept", options.is_file_kept},
                             {"is_synced", options.is_synced},
                             {"cached_share", cached},
                             {"wide", result.wide}});
    }
    for (const Series& one : series) {
        if (one.is_write) continue;
        std::printf("read: %.0f %% of the file lay in the page cache before a call (median)%s\n",
                    100 * measure::median(one.cached_share),
                    measure::median(one.cached_share) > 0.5
                        ? ": memory's speed, not storage's, unless a model is laid over it"
                        : "");
        break;
    }
    for (const measure::Record& summary : summaries) keep(writer.write(summary));
}

}  // namespace hakobi::bench
