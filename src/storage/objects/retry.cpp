#include "storage/objects/retry.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>
#include <thread>

namespace hakobi::storage {

// "Full jitter", as AWS's own clients have it (Brooker, Exponential Backoff And Jitter, 2015).
constexpr double first_delay_s = 0.1, longest_delay_s = 5;

Retry::Patience Retry::patience() {
    Patience patience;
    if (const char* const text = std::getenv("HAKOBI_OBJECT_PATIENCE_S"); text != nullptr && *text != '\0')
        patience.known_s = patience.unknown_s = std::clamp(std::atof(text), 0.0, 86'400.0);
    return patience;
}

Retry::Retry(const Patience& patience) : patience_(patience), random_(std::random_device{}()) {}

double Retry::waited_s() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
}

bool Retry::wait(bool was_answered, bool is_server_known) {
    if (was_answered && ++num_answers_ >= patience_.max_answers) return false;
    const double left_s = (is_server_known ? patience_.known_s : patience_.unknown_s) - waited_s();
    if (left_s <= 0) return false;
    random_ = random_ * 6364136223846793005ULL + 1442695040888963407ULL;  // Knuth's
    const double fraction = static_cast<double>(random_ >> 11) * 0x1p-53;
    const double most_s = std::min(longest_delay_s, std::ldexp(first_delay_s, std::min(num_tries_ - 1, 10)));
    std::this_thread::sleep_for(std::chrono::duration<double>(std::min(fraction * most_s, left_s)));
    ++num_tries_;
    return true;
}

}  // namespace hakobi::storage
