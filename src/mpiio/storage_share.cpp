#include "mpiio/storage_share.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "base/classic_locale.hpp"
#include "base/clock.hpp"

namespace hakobi::mpiio {
namespace {

/// Less is not worth a copy of the bytes.
constexpr double least_share = 0.01;
/// So many files tell.
constexpr int least_files = 3;

struct Share {
    std::mutex mutex;
    double begin_s = 0;  // of the first file; 0: there was none
    int num_files = 0;
    double calls_s = 0;   // in the engine's calls
    double waited_s = 0;  // of them for storage, in writes that were not hidden
    double hidden_s = 0;  // storage's time behind the program
};

Share& share() {
    static auto* const the_share = new Share;  // exit may come after static destructors
    return *the_share;
}

}  // namespace

void begin_storage_share() {
    const std::scoped_lock lock(share().mutex);
    if (share().begin_s == 0) share().begin_s = now_s();
}

void add_to_storage_share(const io::EngineCounters& counters, bool is_hidden) {
    const std::scoped_lock lock(share().mutex);
    ++share().num_files;
    share().calls_s += counters.call_s;
    (is_hidden ? share().hidden_s : share().waited_s) +=
        is_hidden ? counters.storage_s : counters.write_wait_s;
}

bool is_hiding_worthwhile() {
    const std::scoped_lock lock(share().mutex);
    const Share& so_far = share();
    if (so_far.num_files < least_files) return true;
    return so_far.waited_s + so_far.hidden_s > least_share * (now_s() - so_far.begin_s);
}

void note_last_wait(double seconds) {
    const char* const path = std::getenv("HAKOBI_HIDDEN_LEFT");
    std::FILE* const file = path != nullptr ? std::fopen(path, "w") : nullptr;
    if (file == nullptr) return;
    const ClassicLocale classic;
    std::fprintf(file, "%.6f\n", seconds);
    std::fclose(file);
}

void tell_storage_share() {
    const std::scoped_lock lock(share().mutex);
    const Share& all = share();
    const double run_s = now_s() - all.begin_s;
    if (all.begin_s == 0 || all.waited_s < least_share * run_s) return;
    const ClassicLocale classic;
    const double saved_s = std::min(all.waited_s, std::max(0.0, run_s - all.calls_s));
    std::fprintf(stderr,
                 "hakobi: rank 0 waited %.3f s of %.3f s for storage in collective writes; hakobi run "
                 "--hidden=close would save at most %.3f s of it (docs/hidden.md)\n",
                 all.waited_s, run_s, saved_s);
}

}  // namespace hakobi::mpiio
