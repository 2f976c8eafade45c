#include "output/hidden_work.hpp"

#include <cassert>
#include <utility>

#include "base/guard.hpp"
#include "base/thread.hpp"

namespace hakobi::output {

void HiddenWork::start(std::function<Status()> work) {
    assert(!thread_);
    const auto run = [this, work = std::move(work)] { status_ = guarded("finishing the step", work); };
    CoreSet all;
    CPU_ZERO(&all);
    for (int core = 0; core < num_cores(); ++core) CPU_SET(core, &all);
    thread_ = start_thread("hakobi-finish", all, run);
    if (!thread_) run();
}

Status HiddenWork::wait() {
    if (thread_) thread_->join();
    thread_.reset();
    return std::exchange(status_, {});
}

}  // namespace hakobi::output
