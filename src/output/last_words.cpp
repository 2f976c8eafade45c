#include "output/last_words.hpp"

#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <mutex>

namespace hakobi::output {
namespace {

constexpr std::array signals = {SIGTERM, SIGINT, SIGHUP, SIGABRT};

struct WordsPlace {
    std::atomic<bool> is_taken{false};
    std::array<char, 256> prefix{};
    std::atomic<std::int64_t> first{0}, last{-1};
};
/// More than a program has outputs at one time; one that finds no place does without last words, and says so.
std::array<WordsPlace, 256> places;
std::mutex mutex;  // of taking places and setting handlers
int num_taken = 0;
pid_t owner = 0;  // a process that was forked has no outputs

static_assert(std::atomic<std::int64_t>::is_always_lock_free, "a signal handler reads them");

/// A line in memory of its own: neither stdio nor the heap may be used in a signal handler.
class Line {
  public:
    void add(const char* text) noexcept {
        while (*text != '\0' && length_ < text_.size()) text_[length_++] = *text++;
    }
    void add(std::int64_t number) noexcept {
        std::array<char, 24> digits{};
        std::size_t at = digits.size() - 1;
        do {
            digits[--at] = static_cast<char>('0' + number % 10);
            number /= 10;
        } while (number > 0 && at > 0);
        add(digits.data() + at);
    }
    void write() noexcept {
        if (::write(STDERR_FILENO, text_.data(), length_) < 0) return;
    }

  private:
    std::array<char, 640> text_{};
    std::size_t length_ = 0;
};

void speak() noexcept {
    if (::getpid() != owner) return;
    for (WordsPlace& place : places) {
        const std::int64_t first = place.first.load(), last = place.last.load();
        if (!place.is_taken.load() || last < first) continue;
        Line line;
        line.add("hakobi: ");
        line.add(place.prefix.data());
        line.add(last == first ? ": the program ends before step " : ": the program ends before steps ");
        line.add(first);
        if (last > first) {
            line.add(" to ");
            line.add(last);
        }
        line.add(last == first ? " has its name" : " have their names");
        line.add(": resume, Input::open or hakobi gather completes what is stored whole\n");
        line.write();
    }
}

extern "C" void on_signal(int signal) {
    speak();
    // SA_RESETHAND has restored the default action.
    ::raise(signal);
}

extern "C" void on_exit_unclosed() {
    speak();
}

bool is_action(int signal, void (*handler)(int)) {
    struct sigaction action {};
    return ::sigaction(signal, nullptr, &action) == 0 && (action.sa_flags & SA_SIGINFO) == 0 &&
           action.sa_handler == handler;
}

void set_handlers(void (*from)(int), void (*to)(int)) {
    for (const int signal : signals) {
        if (!is_action(signal, from)) continue;
        struct sigaction action {};
        action.sa_handler = to;
        action.sa_flags = SA_RESETHAND;
        ::sigemptyset(&action.sa_mask);
        ::sigaction(signal, &action, nullptr);
    }
}

}  // namespace

void LastWords::speak_of(std::string_view prefix) {
    const std::scoped_lock lock(mutex);
    const auto free =
        std::ranges::find_if(places, [](const WordsPlace& place) { return !place.is_taken.load(); });
    if (place_ >= 0) return;
    if (free == places.end()) {
        std::fprintf(
            stderr,
            "hakobi: %.*s: the program has %zu outputs: an end before their close is told of those alone\n",
            static_cast<int>(prefix.size()), prefix.data(), places.size());
        return;
    }
    static std::once_flag once;
    std::call_once(once, [] { std::atexit(on_exit_unclosed); });
    place_ = static_cast<int>(free - places.begin());
    owner = ::getpid();
    free->prefix.fill('\0');
    prefix.copy(free->prefix.data(), free->prefix.size() - 1);
    free->last = -1;
    free->first = 0;
    free->is_taken = true;
    if (num_taken++ == 0) set_handlers(SIG_DFL, on_signal);
}

void LastWords::set_steps(std::int64_t first, std::int64_t last) noexcept {
    if (place_ < 0) return;
    WordsPlace& place = places[static_cast<std::size_t>(place_)];
    place.first = first;
    place.last = last;
}

void LastWords::forget() noexcept {
    if (place_ < 0) return;
    const std::scoped_lock lock(mutex);
    places[static_cast<std::size_t>(place_)].is_taken = false;
    place_ = -1;
    if (--num_taken == 0) set_handlers(on_signal, SIG_DFL);
}

}  // namespace hakobi::output
