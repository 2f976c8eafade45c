#include "storage/objects/retry.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <random>
#include <thread>

#include "base/classic_locale.hpp"

namespace hakobi::storage {

// "Full jitter", as AWS's own clients have it (Brooker, Exponential Backoff And Jitter, 2015).
constexpr double first_delay_s = 0.1, longest_delay_s = 5;
// Who is stopped with a request on its way finds all its time gone when it goes on: so many tries are made of
// any length.
constexpr int least_tries = 3;
constexpr double told_after_s = 10, told_again_after_s = 300;

Retry::Patience Retry::patience() {
    const ClassicLocale classic;
    Patience patience;
    const char* const text = std::getenv("HAKOBI_OBJECT_PATIENCE_S");
    if (text == nullptr || *text == '\0') return patience;
    char* end = nullptr;
    const double seconds = std::strtod(text, &end);
    if (*end == '\0' && seconds >= 0) {
        patience.known_s = patience.unknown_s = std::min(seconds, 86'400.0);
    } else {
        static std::once_flag said;
        std::call_once(said, [&] {
            std::fprintf(
                stderr, "hakobi: HAKOBI_OBJECT_PATIENCE_S is '%s', no number of seconds: it is passed over\n",
                text);
        });
    }
    return patience;
}

Retry::Retry(const Patience& patience, std::string server, Clock::time_point begin)
    : patience_(patience), server_(std::move(server)), begin_(begin), random_(std::random_device{}()) {}

/// Once for all requests that wait at that time.
void Retry::tell(double left_s) const {
    static std::atomic<std::int64_t> told_s = std::numeric_limits<std::int64_t>::min() / 2;
    const auto now_s =
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now().time_since_epoch())
            .count();
    std::int64_t last_s = told_s;
    if (static_cast<double>(now_s - last_s) < told_again_after_s) return;
    if (!told_s.compare_exchange_strong(last_s, now_s)) return;
    const ClassicLocale classic;
    std::fprintf(stderr, "hakobi: %s has not answered for %.0f s: waiting for up to %.0f s more\n",
                 server_.c_str(), waited_s(), std::max(left_s, longest_delay_s));
}

double Retry::waited_s() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
}

bool Retry::wait(bool was_answered, bool is_server_known) {
    if (was_answered && ++num_answers_ >= patience_.max_answers) return false;
    const double left_s =
        std::max(0.0, (is_server_known ? patience_.known_s : patience_.unknown_s) - waited_s());
    if (left_s == 0 && (num_tries_ >= least_tries || !is_server_known)) return false;
    if (!was_answered && waited_s() >= told_after_s) tell(left_s);
    random_ = random_ * 6364136223846793005ULL + 1442695040888963407ULL;  // Knuth's
    const double fraction = static_cast<double>(random_ >> 11) * 0x1p-53;
    const double most_s = std::min(longest_delay_s, std::ldexp(first_delay_s, std::min(num_tries_ - 1, 10)));
    std::this_thread::sleep_for(
        std::chrono::duration<double>(left_s > 0 ? std::min(fraction * most_s, left_s) : fraction * most_s));
    ++num_tries_;
    return true;
}

}  // namespace hakobi::storage
