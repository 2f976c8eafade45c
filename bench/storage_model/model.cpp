#include "model.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage_model/read_ahead.hpp"
#include "storage_model/service_state.hpp"

namespace hakobi::storage_model {

using storage::ServiceModel;
using storage::ServiceState;

void refuse(const std::string& why) {
    const std::string line = "hakobi storage model: " + why + "\n";
    // Not by write() and _exit(): these are ours, and ask the model that is just being made.
    (void)!::syscall(SYS_write, STDERR_FILENO, line.data(), line.size());
    ::syscall(SYS_exit_group, 2);
    __builtin_unreachable();
}

namespace {

struct Counters {
    std::atomic<std::int64_t> num_reads, bytes_read, num_writes, bytes_written, waited_ns;
};

/// A slot for each descriptor: what is known of its file.
constexpr std::uint64_t unknown = 0, not_ours = 1;  // else: the file's identity, modelled
constexpr int num_slots = 1 << 16;
std::array<std::atomic<std::uint64_t>, num_slots> slots;

Counters counters;
/// The model is made, and reads ahead. Making it closes files, too.
std::atomic<bool> reads_ahead;

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

/// A number of the environment; `otherwise` where none of these is one.
int number_of(std::initializer_list<const char*> names, int otherwise) {
    for (const char* name : names) {
        const char* const text = std::getenv(name);
        char* end = nullptr;
        const long value = text == nullptr ? 0 : std::strtol(text, &end, 10);
        if (text != nullptr && end != text && value >= 0 && value <= INT_MAX) return static_cast<int>(value);
    }
    return otherwise;
}

/// The node that this process is on: ranks are divided among `num_nodes`, as HAKOBI_RANKS_PER_NODE divides
/// them. The launcher's rank counts, since nobody has initialised MPI yet.
int own_node(int num_nodes) {
    const int rank = number_of({"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"}, 0);
    const int num_ranks = number_of({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"}, 1);
    if (num_nodes > 0) {
        const int ranks_per_node = (std::max(1, num_ranks) - 1) / num_nodes + 1;
        ::setenv("HAKOBI_RANKS_PER_NODE", std::to_string(ranks_per_node).c_str(),
                 1);  // the library is told, too
    }
    const int ranks_per_node = number_of({"HAKOBI_RANKS_PER_NODE"}, 0);
    return ranks_per_node > 0 ? rank / ranks_per_node % ServiceModel::max_nodes : 0;
}

struct Model {
    bool is_on = false;
    ServiceModel service;
    std::string folder;  // canonical, without a slash at the end
    std::string state_path;
    bool is_state_ours = false;  // the last of us removes it
    int state_fd = -1;
    pid_t owner = ::getpid();  // a child of vfork runs in our memory, and leaves without us leaving
    ServiceState* state = nullptr;
    int node = 0;
    std::string report_path, trace_path;
    std::mutex trace_mutex;
    std::vector<storage::Served> trace;
    std::mutex ahead_mutex;
    std::map<std::pair<std::uint64_t, int>, storage::ReadAhead> ahead;  // by file's identity and descriptor

    Model() {
        const std::string text = variable("HAKOBI_STORAGE_MODEL");
        if (text.empty()) return;
        if (const std::string problem = storage::parse_service_model(text, service); !problem.empty()) {
            refuse("HAKOBI_STORAGE_MODEL: " + problem);
        }
        folder = variable("HAKOBI_STORAGE_MODEL_PATH");
        if (folder.empty()) refuse("HAKOBI_STORAGE_MODEL_PATH must name the folder whose files are modelled");
        if (char* canonical = ::realpath(folder.c_str(), nullptr)) {
            folder = canonical;
            std::free(canonical);
        }
        while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
        node = own_node(service.num_nodes);
        report_path = variable("HAKOBI_STORAGE_MODEL_REPORT");
        trace_path = variable("HAKOBI_STORAGE_MODEL_TRACE");
        state_path = variable("HAKOBI_STORAGE_MODEL_STATE");
        is_state_ours = state_path.empty();
        if (is_state_ours) {
            // FNV-1a: any number that differs where model or folder differ.
            std::uint64_t hash = 14695981039346656037U;
            for (const char c : text + '\n' + folder)
                hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
            char name[96];
            std::snprintf(name, sizeof name, "/dev/shm/hakobi-storage-model.%u.%016llx", ::getuid(),
                          static_cast<unsigned long long>(hash));
            state_path = name;
        }
        attach();
        state = static_cast<ServiceState*>(
            ::mmap(nullptr, sizeof(ServiceState), PROT_READ | PROT_WRITE, MAP_SHARED, state_fd, 0));
        if (state == MAP_FAILED) refuse("cannot map " + state_path + ": " + std::strerror(errno));
        is_on = true;
        reads_ahead = service.ahead_bytes > 0;
        // A child shares the parent's lock and would lose it with the parent's exit: it takes its own.
        ::pthread_atfork(nullptr, nullptr, [] { instance().attach_again(); });
    }

    static Model& instance() {
        static auto* model = new Model;  // never destroyed: calls come until the very end
        return *model;
    }

    /// Opens the state file and holds a shared lock on it as long as we live; the last one to leave finds
    /// that it can have the exclusive lock, and removes the file.
    void attach() {
        for (;;) {
            state_fd = ::open(state_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
            if (state_fd < 0 || ::ftruncate(state_fd, sizeof(ServiceState)) != 0) {
                refuse("cannot make the shared state " + state_path + ": " + std::strerror(errno));
            }
            // Out of the way of programs that count their descriptors.
            if (const int high = ::fcntl(state_fd, F_DUPFD_CLOEXEC, 500); high >= 0) {
                ::close(state_fd);
                state_fd = high;
            }
            while (::flock(state_fd, LOCK_SH) != 0 && errno == EINTR) {
            }
            struct stat held {
            }, named{};
            const bool is_same = ::fstat(state_fd, &held) == 0 && ::stat(state_path.c_str(), &named) == 0 &&
                                 held.st_ino == named.st_ino && held.st_dev == named.st_dev;
            if (is_same) return;
            ::close(state_fd);  // removed between our open and our lock
        }
    }

    void attach_again() {
        for (auto* counter : {&counters.num_reads, &counters.bytes_read, &counters.num_writes,
                              &counters.bytes_written, &counters.waited_ns}) {
            counter->store(0);
        }
        trace.clear();
        owner = ::getpid();
        if (!is_state_ours) return;
        const int own = ::open(("/proc/self/fd/" + std::to_string(state_fd)).c_str(), O_RDWR | O_CLOEXEC);
        if (own < 0) return;
        (void)::flock(own, LOCK_SH);
        ::close(state_fd);
        state_fd = own;
    }

    std::int64_t read_ahead(const storage::ServiceRequest& request, int fd,
                            std::vector<storage::Served>* log) {
        struct stat info {};
        const std::int64_t file_bytes = ::fstat(fd, &info) == 0 ? info.st_size : 0;
        const std::scoped_lock lock(ahead_mutex);
        return ahead[{request.identity, fd}].pass(service, *state, request, file_bytes, log);
    }
    /// A write ends the read-ahead of its file, and closing that of the descriptor.
    void end_read_ahead(std::uint64_t identity, int fd) {
        if (!reads_ahead) return;
        const std::scoped_lock lock(ahead_mutex);
        std::erase_if(ahead,
                      [&](const auto& one) { return one.first.first == identity || one.first.second == fd; });
    }

    void leave() {
        if (!is_on || owner != ::getpid()) return;
        is_on = false;
        if (!report_path.empty()) report();
        if (!trace_path.empty()) write_trace();
        if (is_state_ours && ::flock(state_fd, LOCK_EX | LOCK_NB) == 0) ::unlink(state_path.c_str());
    }

    void report() const {
        if (counters.num_reads + counters.num_writes == 0) return;
        char line[320];
        const int length = std::snprintf(
            line, sizeof line,
            "{\"kind\": \"storage_model\", \"pid\": %d, \"num_reads\": %lld, \"bytes_read\": %lld, "
            "\"num_writes\": %lld, "
            "\"bytes_written\": %lld, \"waited_s\": %.6f, \"limit_gb_s\": %.6f}\n",
            ::getpid(), static_cast<long long>(counters.num_reads),
            static_cast<long long>(counters.bytes_read), static_cast<long long>(counters.num_writes),
            static_cast<long long>(counters.bytes_written), 1e-9 * static_cast<double>(counters.waited_ns),
            1e-9 * service.limit_bytes_s());
        append(report_path, {line, static_cast<std::size_t>(length)});
    }

    /// A line a server's part of a request.
    void write_trace() {
        const std::scoped_lock lock(trace_mutex);
        std::string lines;
        for (const storage::Served& part : trace) {
            char line[160];
            std::snprintf(line, sizeof line,
                          "{\"server\": %d, \"arrival_ns\": %lld, \"begin_ns\": %lld, \"end_ns\": %lld}\n",
                          part.server, static_cast<long long>(part.arrival_ns),
                          static_cast<long long>(part.begin_ns), static_cast<long long>(part.end_ns));
            lines += line;
        }
        append(trace_path, lines);
    }

    /// In one write, since other processes append, too.
    static void append(const std::string& path, std::string_view text) {
        const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
        if (fd < 0) return;
        (void)!::syscall(SYS_write, fd, text.data(), text.size());
        ::close(fd);
    }
};

bool is_below(std::string_view path, std::string_view folder) {
    if (!path.starts_with(folder)) return false;
    return path.size() == folder.size() || folder == "/" || path[folder.size()] == '/';
}

/// Identifies an open regular file among all others, also later ones of the same number; `unknown` for no
/// file, `not_ours` for another kind.
std::uint64_t identity_of(int fd) {
    struct statx info {};
    if (::statx(fd, "", AT_EMPTY_PATH, STATX_TYPE | STATX_INO | STATX_BTIME, &info) != 0) return unknown;
    if (!S_ISREG(info.stx_mode)) return not_ours;
    std::uint64_t made = 0;
    if ((info.stx_mask & STATX_BTIME) != 0)
        made = static_cast<std::uint64_t>(info.stx_btime.tv_sec) * 1'000'000'000U + info.stx_btime.tv_nsec;
    const std::uint64_t device = static_cast<std::uint64_t>(info.stx_dev_major) << 32 | info.stx_dev_minor;
    return storage::service::mixed(storage::service::mixed(info.stx_ino ^ device << 8) ^ made) | 2U;
}

/// Whether `fd` is a regular file below the folder. The answer is kept with the file's identity: a descriptor
/// that was closed behind our back (libc closes its own without a call that we see) is not mistaken for the
/// new one. Returns the identity, or 0.
std::uint64_t modelled_file(const Model& model, int fd) {
    if (fd < 0) return 0;
    std::atomic<std::uint64_t>* slot = fd < num_slots ? &slots[static_cast<std::size_t>(fd)] : nullptr;
    const std::uint64_t known = slot != nullptr ? slot->load(std::memory_order_relaxed) : unknown;
    if (known == not_ours) return 0;
    const std::uint64_t identity = identity_of(fd);
    if (identity == unknown) return 0;
    if (known == identity) return identity;
    bool is_ours = false;
    if (identity != not_ours) {
        char link[48], path[PATH_MAX];
        std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        const ssize_t length = ::readlink(link, path, sizeof path);
        is_ours = length > 0 && is_below({path, static_cast<std::size_t>(length)}, model.folder);
    }
    if (slot != nullptr) slot->store(is_ours ? identity : not_ours, std::memory_order_relaxed);
    return is_ours ? identity : 0;
}

}  // namespace

Transfer::Transfer(int fd, bool is_write) : fd_(fd), is_write_(is_write) {
    const KeepErrno keep;
    const Model& model = Model::instance();
    if (!model.is_on) return;
    identity_ = modelled_file(model, fd);
    if (is_modelled()) arrival_ns_ = storage::monotonic_ns();
}

bool Transfer::has_stops() {
    const Model& model = Model::instance();
    return model.is_on && storage::Passage::has_stops(model.service);
}

std::int64_t Transfer::pass(std::int64_t offset, std::int64_t length) const {
    (is_write_ ? counters.num_writes : counters.num_reads) += 1;
    (is_write_ ? counters.bytes_written : counters.bytes_read) += length;
    Model& model = Model::instance();
    if (is_write_) {
        lay_out(identity_);
        model.end_read_ahead(identity_, -1);
    }
    const storage::ServiceRequest request{.identity = identity_,
                                          .node = model.node,
                                          .is_write = is_write_,
                                          .arrival_ns = arrival_ns_,
                                          .offset = std::max<std::int64_t>(0, offset),
                                          .length = length};
    std::vector<storage::Served> log;
    auto* const kept = model.trace_path.empty() ? nullptr : &log;
    const std::int64_t end_ns =
        model.service.ahead_bytes > 0 && !is_write_
            ? model.read_ahead(request, fd_, kept)
            : storage::Passage(model.service, *model.state, request, kept).run(sleep_modelled);
    if (kept != nullptr) {
        const std::scoped_lock lock(model.trace_mutex);
        model.trace.insert(model.trace.end(), log.begin(), log.end());
    }
    return end_ns;
}

void Transfer::wait(std::int64_t offset, std::int64_t length) const {
    if (!is_modelled() || length < 0) return;
    const KeepErrno keep;
    sleep_modelled(pass(offset, length));
}

void sleep_modelled(std::int64_t time_ns) {
    const std::int64_t start_ns = storage::monotonic_ns();
    storage::sleep_until_ns(time_ns);
    counters.waited_ns += storage::monotonic_ns() - start_ns;
}

std::uint64_t modelled(int fd) {
    const KeepErrno keep;
    const Model& model = Model::instance();
    return model.is_on ? modelled_file(model, fd) : 0;
}

bool is_below_folder(int fd) {
    const KeepErrno keep;
    const Model& model = Model::instance();
    if (!model.is_on) return false;
    char link[48], path[PATH_MAX];
    std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t length = ::readlink(link, path, sizeof path);
    return length > 0 && is_below({path, static_cast<std::size_t>(length)}, model.folder);
}

bool is_modelled(const char* path) {
    const KeepErrno keep;
    const Model& model = Model::instance();
    if (!model.is_on || path == nullptr) return false;
    char canonical[PATH_MAX];
    return ::realpath(path, canonical) != nullptr && is_below(canonical, model.folder);
}

const ServiceModel& service_model() {
    return Model::instance().service;
}

ServiceState& service_state() {
    return *Model::instance().state;
}

void lay_out(std::uint64_t identity) {
    const Model& model = Model::instance();
    if (!model.service.has_layouts()) return;
    if (storage::FileEntry* const entry = model.state->find(identity)) {
        std::uint64_t waiting = storage::waits_for_layout;
        entry->layout.compare_exchange_strong(waiting, 0);
    }
}

void forget(int fd) {
    if (fd >= 0 && fd < num_slots)
        slots[static_cast<std::size_t>(fd)].store(unknown, std::memory_order_relaxed);
    if (reads_ahead) Model::instance().end_read_ahead(unknown, fd);
}

void leave() {
    Model::instance().leave();
}

namespace {
__attribute__((constructor)) void begin() {
    (void)Model::instance();
}
__attribute__((destructor)) void end() {
    leave();
}
}  // namespace

}  // namespace hakobi::storage_model

/// For tests: reads, bytes read, writes, bytes written of this process so far.
extern "C" __attribute__((visibility("default"))) void hakobi_storage_model_counts(std::int64_t* four) {
    using hakobi::storage_model::counters;
    four[0] = counters.num_reads;
    four[1] = counters.bytes_read;
    four[2] = counters.num_writes;
    four[3] = counters.bytes_written;
}
