#pragma once

#include <cstdint>
#include <string_view>

namespace hakobi::output {

/// Has rank 0 report on stderr the steps that end_step has accepted and that have no name yet, when the
/// program ends by a signal that nobody handles (SIGTERM, SIGINT, SIGHUP, SIGABRT), or by exit without
/// MPI_Finalize. Handlers are set where the program has none, while there is an output that may have such
/// steps; a program's own go before them. All local; one object an output.
class LastWords {
  public:
    LastWords() = default;
    ~LastWords() { forget(); }
    LastWords(const LastWords&) = delete;
    LastWords& operator=(const LastWords&) = delete;

    /// Reports steps of this prefix from now on. At most 16 outputs at once report; further ones say nothing.
    void speak_of(std::string_view prefix);
    /// The steps on their way to a name; none where `last` < `first`.
    void set_steps(std::int64_t first, std::int64_t last) noexcept;
    void forget() noexcept;

  private:
    int place_ = -1;
};

}  // namespace hakobi::output
