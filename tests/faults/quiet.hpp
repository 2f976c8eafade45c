#pragma once

#include <fcntl.h>
#include <unistd.h>

namespace hakobi::test {

/// Swallows what stderr would say of thousands of faults; not a sanitizer's findings.
class Quiet {
  public:
    Quiet() {
        (void)kept_stderr();
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
        return;
#endif
        const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
        ::dup2(nowhere, STDERR_FILENO);
        ::close(nowhere);
    }
    ~Quiet() {
        ::dup2(kept_stderr(), STDERR_FILENO);
    }
    Quiet(const Quiet&) = delete;
    Quiet& operator=(const Quiet&) = delete;

    /// The program's own.
    static int kept_stderr() {
        static const int kept = ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
        return kept;
    }
};

}  // namespace hakobi::test
