#include "output/timing.hpp"

#include <array>
#include <cassert>
#include <cstdint>
#include <cstdio>

#include "base/classic_locale.hpp"
#include "base/clock.hpp"
#include "base/thread.hpp"
#include "mpi/messages.hpp"

namespace hakobi::output {

Stopwatch::Stopwatch(double& seconds) : seconds_(seconds), start_s_(now_s()) {}
Stopwatch::~Stopwatch() {
    seconds_ += now_s() - start_s_;
}

void Timing::start() {
    start_s_ = now_s();
    start_cpu_s_ = io_threads_cpu_s();
}

OutputTimes Timing::now() const {
    OutputTimes times = phases_;
    if (!is_stopped_) {
        times.run_s = now_s() - start_s_;
        times.cpu_s = io_threads_cpu_s() - start_cpu_s_;
    }
    return times;
}

void Timing::stop(const Comm& comm, bool is_hidden, bool writes) {
    assert(!is_stopped_);
    phases_ = now();
    is_stopped_ = true;
    const auto in_us = [](double seconds) { return static_cast<std::int64_t>(seconds * 1e6); };
    const double in_calls_s =
        phases_.layout_s + phases_.encode_s + phases_.values_s + phases_.finish_s + phases_.gather_s;
    std::int64_t most_us[] = {in_us(phases_.run_s), in_us(in_calls_s), in_us(phases_.hidden_s)};
    mpi::all_max(comm, most_us);
    if (!writes) return;
    const double run_s = 1e-6 * static_cast<double>(most_us[0]);
    const double calls_s = 1e-6 * static_cast<double>(most_us[1]);
    const double unhidden_s = calls_s + 1e-6 * static_cast<double>(most_us[2]);
    const ClassicLocale classic;
    std::array<char, 192> text{};
    const int length =
        std::snprintf(text.data(), text.size(),
                      "; the run waited %.2f of %.2f s for it, first step and close too (%.1f %%)", calls_s,
                      run_s, 100 * calls_s / run_s);
    if (is_hidden)
        std::snprintf(text.data() + length, text.size() - static_cast<std::size_t>(length),
                      ", unhidden it would have waited %.2f s (%.1f %%)", unhidden_s,
                      100 * unhidden_s / (run_s + unhidden_s - calls_s));
    waited_ = text.data();
}

}  // namespace hakobi::output
