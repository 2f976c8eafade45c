// Fails the n-th call of each kind in each operation of the C interface, on each rank and on all, for n = 1,
// 2, … until the operation passes without a call that fails. The oracle: a code, the same on all ranks where
// the call is collective, and a text that says why; no hang, and no crash; values that are read are right,
// and nothing that was accepted is lost; what was made goes on, or says that it has failed; the operation
// works the next time; no descriptor, thread or temporary file is left.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>

#include "operations.hpp"
#include "quiet.hpp"
#include "system_calls.hpp"

namespace hakobi::test {
namespace {

namespace fs = std::filesystem;

constexpr unsigned longest_trial_s = 90;
constexpr int on_all_ranks = -1;

/// For a trial that hangs or crashes: written where a signal's handler finds it.
std::array<char, 400> current_trial{};

void say_trial_and_end(int signal) {
    const std::string_view why = signal == SIGALRM ? "hangs: " : "crashes: ";
    (void)!::write(Quiet::kept_stderr(), why.data(), why.size());
    (void)!::write(Quiet::kept_stderr(), current_trial.data(), std::strlen(current_trial.data()));
    ::signal(signal, SIG_DFL);
    if (signal == SIGALRM) ::_exit(3);
    ::raise(signal);
}

/// Descriptors and threads, which an operation might leave behind.
struct Held {
    std::map<std::string, std::string> descriptors;  ///< by number: the files
    std::int64_t num_threads = 0;

    /// Files below a folder, and memory that processes share: an MPI library may open others at any time.
    static Held now(const std::string& folder) {
        Held held;
        for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
            std::error_code gone;
            const fs::path file = fs::read_symlink(entry.path(), gone);
            if (!gone && (file.string().starts_with(folder) || file.string().starts_with("/memfd:hakobi")))
                held.descriptors[entry.path().filename()] = file;
        }
        held.num_threads = std::distance(fs::directory_iterator("/proc/self/task"), fs::directory_iterator());
        return held;
    }
    [[nodiscard]] std::string left_since(const Held& before) const {
        std::string left;
        for (const auto& [number, file] : descriptors)
            if (!before.descriptors.contains(number))
                left += "descriptor " + number + " of " + file + " is left; ";
        if (num_threads > before.num_threads) left += "a thread is left; ";
        return left;
    }
};

struct Counts {
    std::int64_t num_tried = 0, num_fired = 0, num_errors = 0;
};

std::vector<Operation> all_operations() {
    std::vector<Operation> all;
    for (std::vector<Operation>& some :
         std::vector{output_operations(), outputs_operations(), input_operations(), exchange_operations(),
                     store_operations()})
        std::ranges::move(some, std::back_inserter(all));
    return all;
}

class OperationFaults : public ::testing::TestWithParam<Operation> {
  protected:
    static void SetUpTestSuite() {
        ::setenv("HAKOBI_OBJECT_PATIENCE_S", "1", 1);
        for (const int signal : {SIGALRM, SIGABRT, SIGSEGV, SIGBUS}) ::signal(signal, say_trial_and_end);
        MPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
        MPI_Comm_size(MPI_COMM_WORLD, &world.size);
        char name[] = "/tmp/hakobi_faults_XXXXXX";
        if (world.rank == 0 && ::mkdtemp(name) == nullptr) name[0] = '\0';
        MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
        folder = name;
        world.kept = folder + "/kept";
        world.trial = folder + "/trial";
        if (world.rank == 0) fs::create_directory(world.kept);
        world.barrier();
    }
    static void TearDownTestSuite() {
        world.barrier();
        if (world.rank != 0) return;
        fs::remove_all(folder);
        std::set<std::string> operations, kinds;
        std::int64_t num_fired = 0;
        for (const auto& [row, of] : counts) {
            operations.insert(row.first);
            kinds.insert(row.second);
            num_fired += of.num_fired;
        }
        std::printf("faults: %zu operations, %zu kinds, %lld fired, %lld violations\n", operations.size(),
                    kinds.size(), static_cast<long long>(num_fired), static_cast<long long>(num_violations));
    }

    /// Two runs of the operation, of which a call may fail in the first. Whether one has. Collective.
    bool try_once(SystemCall call, int rank, std::int64_t nth) {
        const Operation& operation = GetParam();
        const std::string where = rank == on_all_ranks ? "all ranks" : "rank " + std::to_string(rank);
        const std::string trial =
            operation.name + ": " + std::string(name_of(call)) + " " + std::to_string(nth) + " on " + where;
        std::snprintf(current_trial.data(), current_trial.size(), "rank %d of %d, %s\n", world.rank,
                      world.size, trial.c_str());
        ::alarm(longest_trial_s);
        std::string wrong;
        bool has_failed = false;
        int code = HAKOBI_OK;
        {
            const Quiet quiet;
            begin_trial();
            has_failed = run(wrong, code, [&] {
                if (rank == on_all_ranks || rank == world.rank) fail_call(call, nth, folder);
            });
            int again = HAKOBI_OK;
            std::string later;
            run(later, again, [] {});
            if (again != HAKOBI_OK) later = error_of("the next time", again) + later;
            if (!later.empty()) wrong += "later: " + later;
            end_trial(wrong, false, call == SystemCall::unlink);
        }
        ::alarm(0);
        judge(trial, wrong);
        Counts& of = counts[{operation.name, std::string(name_of(call))}];
        ++of.num_tried;
        of.num_fired += has_failed ? 1 : 0;
        int any = code != HAKOBI_OK ? 1 : 0;
        MPI_Allreduce(MPI_IN_PLACE, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        of.num_errors += any;
        return has_failed;
    }

    /// How often the operation makes each call, on the rank that makes most; also what it leaves without a
    /// fault. Collective.
    std::array<std::int64_t, num_system_calls> count() {
        std::array<std::int64_t, num_system_calls> num{};
        std::snprintf(current_trial.data(), current_trial.size(), "rank %d of %d, %s without a fault\n",
                      world.rank, world.size, GetParam().name.c_str());
        ::alarm(longest_trial_s);
        std::string wrong;
        names.clear();
        for (const bool is_first : {true, false}) {
            begin_trial();
            int code = HAKOBI_OK;
            run(wrong, code, [&] { count_calls(folder); });
            num = counted;
            wrong += error_of("the first time", code);
            run(wrong, code, [] {});
            wrong += error_of("the second time", code);
            if (is_first) names_in_trial(names);
            end_trial(wrong, is_first);
        }
        ::alarm(0);
        judge(GetParam().name + " without a fault", wrong);
        MPI_Allreduce(MPI_IN_PLACE, num.data(), static_cast<int>(num.size()), MPI_INT64_T, MPI_MAX,
                      MPI_COMM_WORLD);
        return num;
    }

    /// The numbers of ranks take turns with the operations.
    static bool is_in_turn(std::size_t num) {
        const std::size_t hash = std::hash<std::string>()(GetParam().name);
        return (hash + static_cast<std::size_t>(world.size)) % num == 0;
    }

    /// `part` 1: all; else one in so many of the tries.
    void fail_each(std::int64_t part) {
        const Operation& operation = GetParam();
        if (world.size > 1 ? operation.is_local : operation.is_between_nodes) return;
        if (world.size > operation.most_ranks) return;
        const auto num = count();
        for (std::size_t kind = 1; kind < num_system_calls; ++kind) {
            const auto call = static_cast<SystemCall>(kind);
            const bool tries_memory = operation.is_local && !operation.reads_json;
            if (num[kind] == 0 || (call == SystemCall::memory && !tries_memory)) continue;
            if (world.size > 1 && std::ranges::count(operation.needed_by_others, call) > 0) continue;
            const int last_rank = world.size > 1 ? world.size - 1 : 0;
            for (int rank = world.size > 1 ? on_all_ranks : 0; rank <= last_rank; ++rank) {
                const std::size_t draw = std::hash<std::string>()(operation.name) + 31 * kind;
                if (part > 1) {
                    const auto drawn = static_cast<std::int64_t>(draw + static_cast<std::size_t>(rank + 1));
                    if ((drawn & 0xffff) % part == 0)
                        try_once(call, rank, 1 + (drawn & 0xffff) / part % num[kind]);
                    continue;
                }
                // Every n; of small memory every eighth part more past 100.
                bool fires = true;
                for (std::int64_t nth = 1; fires;
                     nth += nth < 100 || call != SystemCall::memory ? 1 : nth / 8) {
                    fires = try_once(call, rank, nth);
                    if (num_here >= most_violations) return;
                    ASSERT_LT(nth, 100'000) << "the calls do not end";
                }
            }
        }
        report();
    }

  private:
    static constexpr int most_violations = 40;

    void begin_trial() {
        if (world.rank == 0) {
            fs::remove_all(world.trial);
            fs::create_directories(world.trial + "/stage");
        }
        world.stored.clear();
        world.perhaps.clear();
        world.next_time = 0;
        world.barrier();
        if (GetParam().is_between_nodes) ::setenv("HAKOBI_RANKS_PER_NODE", "1", 1);
        const int code = hakobi_comm_duplicate(MPI_COMM_WORLD, &world.comm);
        ::unsetenv("HAKOBI_RANKS_PER_NODE");
        if (code != HAKOBI_OK) std::abort();
    }
    /// `may_stay`: a file that could not be removed.
    void end_trial(std::string& wrong, bool is_first = false, bool may_stay = false) {
        world.barrier();
        if (hakobi_comm_free(world.comm) != HAKOBI_OK) wrong += "the communicator cannot be freed; ";
        const Held now = Held::now(folder);
        if (!is_first) wrong += now.left_since(held);
        held = now;
        std::set<std::string> found;
        names_in_trial(found);
        for (const std::string& name : found)
            if (!may_stay && !GetParam().cleans_later && !names.contains(name)) wrong += name + " is left; ";
    }
    /// Without their digits.
    static void names_in_trial(std::set<std::string>& found) {
        if (world.rank != 0) return;
        for (const auto& entry : fs::recursive_directory_iterator(world.trial)) {
            std::string name = entry.path().string().substr(world.trial.size());
            std::ranges::replace_if(
                name, [](unsigned char c) { return std::isxdigit(c) != 0; }, '#');
            name.erase(
                std::unique(name.begin(), name.end(), [](char a, char b) { return a == '#' && b == '#'; }),
                name.end());
            found.insert(name);
        }
    }

    /// Whether a call has failed on any rank.
    bool run(std::string& wrong, int& code, const std::function<void()>& arm) {
        const Trial trial = GetParam().begin(world);
        world.barrier();
        arm();
        code = trial.run();
        int fired = end_failing() ? 1 : 0;
        counted = end_counting();
        const std::string text = code != HAKOBI_OK ? hakobi_error_text() : "";
        const int rank = code != HAKOBI_OK ? hakobi_error_rank() : -1;
        MPI_Allreduce(MPI_IN_PLACE, &fired, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        if (code != HAKOBI_OK) {
            if (text.empty()) wrong += "an error without a text; ";
            if (code == HAKOBI_INTERNAL) wrong += "an internal error: " + text + "; ";
            if (fired == 0) wrong += error_of("an error without a cause", code) + "; ";
        }
        if (GetParam().is_collective) {
            const auto hash = static_cast<int>(std::hash<std::string>()(text) & 0xffffff);
            if (!world.is_same(code))
                wrong += error_of("several codes", code) + "; ";
            else if (!world.is_same(rank) || !world.is_same(hash))
                wrong += error_of("several texts", code) + "; ";
        }
        wrong += trial.finish(code, fired != 0);
        return fired != 0;
    }
    void judge(const std::string& trial, const std::string& wrong) {
        int any = wrong.empty() ? 0 : 1;
        MPI_Allreduce(MPI_IN_PLACE, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        if (!wrong.empty()) ADD_FAILURE() << trial << ": " << wrong;
        if (any != 0 && world.rank == 0) std::fflush(stdout);
        num_violations += any;
        num_here += any;
    }
    static void report() {
        if (world.rank != 0) return;
        for (const auto& [row, of] : counts) {
            if (row.first != GetParam().name || of.num_tried == 0) continue;
            std::printf("%-36s %-13s %5lld tried, %5lld errors\n", row.first.c_str(), row.second.c_str(),
                        static_cast<long long>(of.num_tried), static_cast<long long>(of.num_errors));
        }
    }

    static inline World world;
    static inline std::string folder;
    static inline std::map<std::pair<std::string, std::string>, Counts> counts;
    static inline std::int64_t num_violations = 0;
    std::array<std::int64_t, num_system_calls> counted{};
    std::set<std::string> names;
    Held held;
    int num_here = 0;
};

TEST_P(OperationFaults, AreErrorsInASample) {
    if (is_in_turn(8)) fail_each(16);
}

TEST_P(OperationFaults, DISABLED_AreErrorsForEveryN) {
    fail_each(1);
}

std::string name_of_operation(const ::testing::TestParamInfo<Operation>& info) {
    return info.param.name;
}
INSTANTIATE_TEST_SUITE_P(C, OperationFaults, ::testing::ValuesIn(all_operations()), name_of_operation);

}  // namespace
}  // namespace hakobi::test
