// hakobi-with-parent SIGNAL PROGRAM [ARGUMENT…] becomes PROGRAM, which gets SIGNAL (a number) when its parent
// ends, however that ends. The command `hakobi` starts MPI's launcher by it, and the launcher starts each
// rank by it: Open MPI's ends no rank that has not called MPI_Init yet when it is killed.

#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

int main(int argc, char** argv) {
    const pid_t parent = getppid();
    const int number = argc > 2 ? std::atoi(argv[1]) : 0;
    if (number <= 0 || prctl(PR_SET_PDEATHSIG, static_cast<unsigned long>(number), 0, 0, 0) != 0) {
        std::fputs("hakobi-with-parent: SIGNAL PROGRAM [ARGUMENT…] are needed\n", stderr);
        return 2;
    }
    if (getppid() != parent) std::raise(number);  // it ended meanwhile, before the request
    execvp(argv[2], argv + 2);
    std::fprintf(stderr, "hakobi-with-parent: cannot start %s: %s\n", argv[2], std::strerror(errno));
    return 127;
}
