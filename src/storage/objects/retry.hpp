#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace hakobi::storage {

/// How long to wait before a request is sent again, and when to give up. A server that has answered before is
/// waited for through a restart; one that never has is more likely to be none. A process that waits for more
/// than 10 s says so once on stderr.
class Retry {
  public:
    struct Patience {
        double known_s = 120;   ///< for a server that has answered this process
        double unknown_s = 10;  ///< for one that has not
        int max_answers = 8;    ///< tries that a server answered with an error that may pass
    };
    /// HAKOBI_OBJECT_PATIENCE_S (for both) or the defaults.
    static Patience patience();

    using Clock = std::chrono::steady_clock;
    /// `server`: for people. `begin`: when the first try began.
    Retry(const Patience& patience, std::string server, Clock::time_point begin = Clock::now());
    /// Sleeps before the next try; false: it is time to give up. `was_answered`: the server is there, and
    /// said no.
    bool wait(bool was_answered, bool is_server_known);
    [[nodiscard]] int num_tries() const noexcept { return num_tries_; }
    [[nodiscard]] double waited_s() const;

  private:
    void tell(double left_s) const;
    Patience patience_;
    std::string server_;
    Clock::time_point begin_;
    std::uint64_t random_;
    int num_tries_ = 1;
    int num_answers_ = 0;
};

}  // namespace hakobi::storage
