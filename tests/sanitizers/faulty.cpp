// Commits one fault, named by its argument, which a build with sanitizers must find: leak, overrun, overflow
// or race. Ends with status 0 and says so when nobody stops it.
#include <cstdio>
#include <hakobi/comm.hpp>
#include <limits>
#include <string>
#include <thread>

namespace {

constexpr int size = 777;
volatile char sink;
int shared_count = 0;

// Several: the address of the last may still stand somewhere on the stack.
void leak() {
    for (int i = 0; i < 9; ++i) {
        char* volatile lost = new char[size];
        lost[0] = 1;
    }
}

void overrun(int index) {
    char* volatile block = new char[size];
    sink = block[index];
    delete[] block;
}

void overflow(int by) {
    volatile int most = std::numeric_limits<int>::max();
    sink = static_cast<char>(most + by);
}

void race() {
    std::thread other([] { ++shared_count; });
    ++shared_count;
    other.join();
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const std::string fault = argc > 1 ? argv[1] : "";
    if (fault == "leak") leak();
    if (fault == "overrun") overrun(size);
    if (fault == "overflow") overflow(argc);
    if (fault == "race") race();
    MPI_Finalize();
    std::puts("nobody minds");
    return 0;
}
