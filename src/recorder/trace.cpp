#include "trace.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/clock.hpp"

namespace hakobi::recorder {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* call_names[] = {"send",   "receive",   "isend",   "ireceive", "sendrecv",
                                      "wait",   "barrier",   "bcast",   "reduce",   "allreduce",
                                      "gather", "allgather", "scatter", "alltoall", "other"};

std::string command_line() {
    std::ifstream file("/proc/self/cmdline", std::ios::binary);
    std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    while (!text.empty() && text.back() == '\0') text.pop_back();
    std::replace(text.begin(), text.end(), '\0', ' ');
    return text;
}

std::int64_t peak_memory_bytes() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
}

Json to_json(const Event& event, double started_s) {
    // Microseconds with three decimals: nanoseconds are the clock's grain.
    const auto us = [&](double at_s) { return std::round((at_s - started_s) * 1e9) / 1e3; };
    Json line = {call_names[static_cast<int>(event.call)],
                 event.partner,
                 event.tag,
                 event.communicator,
                 event.bytes,
                 event.address,
                 us(event.begin_s),
                 us(event.end_s)};
    if (event.call == Call::sendrecv) {
        line.insert(line.end(),
                    {event.source, event.receive_bytes, event.receive_address, event.receive_tag});
    } else if (event.call == Call::wait) {
        line.push_back(event.requests);
    }
    return line;
}

/// A command line may hold bytes that are no UTF-8: they must not end the program.
std::string text_of(const Json& record) {
    return record.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

Trace& Trace::instance() {
    static auto* const trace = new Trace;  // for good: it is asked for at the process's end, too
    return *trace;
}

void Trace::start() {
    const char* path = std::getenv("HAKOBI_RECORD");
    if (path == nullptr || *path == '\0' || is_on()) return;
    process_ = static_cast<int>(getpid());
    // The file is that of the program that was started: what it spawned has an MPI_COMM_WORLD of its own.
    MPI_Comm parent = MPI_COMM_NULL;
    PMPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        state_ = State::spawned;
        return;
    }
    path_ = path;
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (const char* most = std::getenv("HAKOBI_RECORD_EVENTS"); most != nullptr && *most != '\0') {
        const char* const end = most + std::strlen(most);
        std::size_t number = 0;
        const auto [rest, error] = std::from_chars(most, end, number);
        if (error == std::errc() && rest == end) {
            max_events_ = number;
        } else if (rank == 0) {
            std::fprintf(
                stderr,
                "hakobi: HAKOBI_RECORD_EVENTS='%s' is no number of calls: %zu are kept on each rank\n", most,
                max_events_);
        }
    }
    // All ranks take one moment for 0: those of a node by their common clock, nodes as near as a barrier
    // brings them (each node's clock began when it was started).
    MPI_Comm node = MPI_COMM_NULL;
    PMPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    PMPI_Barrier(MPI_COMM_WORLD);
    started_s_ = now_s();
    PMPI_Bcast(&started_s_, 1, MPI_DOUBLE, 0, node);
    PMPI_Comm_free(&node);
    groups_.keep(MPI_COMM_WORLD);
    groups_.keep(MPI_COMM_SELF);
    state_ = State::on;
}

std::int64_t Trace::add(Event event) {
    constexpr double poll_s = 1e-6;
    const std::lock_guard lock(mutex_);
    if (event.call == Call::other && !events_.empty() && events_.back().call == Call::other &&
        event.begin_s - events_.back().end_s < poll_s) {
        events_.back().end_s = std::max(events_.back().end_s, event.end_s);
        return static_cast<std::int64_t>(events_.size()) - 1;
    }
    if (events_.size() >= max_events_) {
        ++num_dropped_;
        return -1;
    }
    events_.push_back(std::move(event));
    return static_cast<std::int64_t>(events_.size()) - 1;
}

void Trace::count_not_replayed(const char* name) {
    const std::lock_guard lock(mutex_);
    ++not_replayed_[name];
}

std::int64_t Trace::take_request(MPI_Request request) {
    const std::int64_t event = handles_.take(request);
    if (event < 0) return -1;
    const std::lock_guard lock(mutex_);
    return events_[static_cast<std::size_t>(event)].call == Call::other ? -1 : event;
}

void Trace::cancel_request(MPI_Request request) {
    const std::int64_t number = handles_.event_of(request);
    if (number < 0) return;
    const std::lock_guard lock(mutex_);
    Event& event = events_[static_cast<std::size_t>(number)];
    if (event.call != Call::ireceive || event.partner == -2) return;
    event.is_cancel_asked = true;
    event.partner = -2;
}

void Trace::complete(std::int64_t event, const MPI_Status& status) {
    if (event < 0) return;
    const std::lock_guard lock(mutex_);
    Event& kept = events_[static_cast<std::size_t>(event)];
    if (kept.call != Call::receive && kept.call != Call::ireceive && kept.call != Call::sendrecv) return;
    const bool is_sendrecv = kept.call == Call::sendrecv;
    // From MPI_PROC_NULL comes nothing; MPICH 4.0 leaves the status of such a nonblocking receive as it was.
    if ((is_sendrecv ? kept.source : kept.partner) == -2 && !kept.is_cancel_asked) return;
    int is_cancelled = 0;
    MPI_Count came_bytes = 0;
    PMPI_Test_cancelled(&status, &is_cancelled);
    if (is_cancelled == 0) PMPI_Get_elements_x(&status, MPI_BYTE, &came_bytes);
    const int source = is_cancelled != 0 ? -2 : groups_.world_rank(kept.communicator, status.MPI_SOURCE);
    if (is_sendrecv) {
        kept.source = source;
        if (source >= 0) kept.receive_tag = status.MPI_TAG;
        kept.receive_bytes = std::clamp<std::int64_t>(came_bytes, 0, kept.receive_bytes);
    } else {
        kept.partner = source;
        if (source >= 0) kept.tag = status.MPI_TAG;
        kept.bytes = std::clamp<std::int64_t>(came_bytes, 0, kept.bytes);
    }
}

std::string Trace::to_lines(int rank) const {
    constexpr std::size_t events_a_line = 4096;
    Json groups = Json::array();
    Json copies = Json::array();
    for (const Group& group : groups_.all()) {
        groups.push_back(group.ranks);
        copies.push_back(group.copy);
    }
    std::string lines = text_of(Json{{"kind", "trace-rank"},
                                     {"rank", rank},
                                     {"num_events", events_.size()},
                                     {"num_dropped", num_dropped_},
                                     {"memory_bytes", peak_memory_bytes()},
                                     {"end_us", std::round((now_s() - started_s_) * 1e9) / 1e3},
                                     {"not_replayed", not_replayed_},
                                     {"groups", groups},
                                     {"copies", copies}});
    for (std::size_t first = 0; first < events_.size(); first += events_a_line) {
        Json events = Json::array();
        for (std::size_t i = first; i < std::min(events_.size(), first + events_a_line); ++i) {
            events.push_back(to_json(events_[i], started_s_));
        }
        lines += text_of(
            Json{{"kind", "trace-events"}, {"rank", rank}, {"first", first}, {"events", std::move(events)}});
    }
    return lines;
}

void Trace::say_what_is_missing() const {
    const char* path = std::getenv("HAKOBI_RECORD");
    if (path == nullptr || *path == '\0' || state_ == State::written || state_ == State::spawned) return;
    // MPI cannot be asked any more which rank this is; every launcher says it to the process.
    for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"}) {
        const char* rank = std::getenv(name);
        if (rank != nullptr && std::strcmp(rank, "0") != 0) return;
    }
    int is_initialized = 0;
    PMPI_Initialized(&is_initialized);
    if (is_initialized == 0) return;
    if (process_ == 0) {
        std::fprintf(
            stderr,
            "hakobi: no trace %s: the program's MPI calls do not pass through C's (Open MPI's Fortran calls "
            "do not)\n",
            path);
    } else if (process_ == static_cast<int>(getpid())) {
        std::fprintf(stderr, "hakobi: no trace %s: the program ended before MPI_Finalize\n", path);
    }
}

void Trace::write() {
    if (!is_on()) return;
    state_ = State::written;
    int rank = 0;
    int size = 1;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    // A communicator of its own: a receive from anyone that the program left must not take the trace's lines.
    // Split, since a duplicate would call the program's functions that copy attributes.
    MPI_Comm comm = MPI_COMM_NULL;
    PMPI_Comm_split(MPI_COMM_WORLD, 0, rank, &comm);
    const std::string mine = to_lines(rank);
    std::int64_t num_dropped = 0;
    PMPI_Reduce(&num_dropped_, &num_dropped, 1, MPI_INT64_T, MPI_SUM, 0, comm);
    constexpr int tag = 7171;
    constexpr std::size_t piece = std::size_t{1} << 26;  // an int counts it
    if (rank != 0) {
        std::int64_t length = static_cast<std::int64_t>(mine.size());
        PMPI_Send(&length, 1, MPI_INT64_T, 0, tag, comm);
        for (std::size_t at = 0; at < mine.size(); at += piece) {
            PMPI_Send(mine.data() + at, static_cast<int>(std::min(piece, mine.size() - at)), MPI_CHAR, 0, tag,
                      comm);
        }
        PMPI_Comm_free(&comm);
        return;
    }
    std::ofstream file(path_, std::ios::binary | std::ios::trunc);
    char library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int library_length = 0;
    PMPI_Get_library_version(library, &library_length);
    std::string version = library;
    version = version.substr(0, std::min(version.find(", package"), version.find('\n')));
    std::replace(version.begin(), version.end(), '\t', ' ');
    file << text_of(Json{{"kind", "trace"},
                         {"schema", 1},
                         {"ranks", size},
                         {"command", command_line()},
                         {"mpi_library", version}})
         << mine;
    std::string lines;
    for (int source = 1; source < size; ++source) {
        std::int64_t length = 0;
        PMPI_Recv(&length, 1, MPI_INT64_T, source, tag, comm, MPI_STATUS_IGNORE);
        lines.resize(static_cast<std::size_t>(length));
        for (std::size_t at = 0; at < lines.size(); at += piece) {
            PMPI_Recv(lines.data() + at, static_cast<int>(std::min(piece, lines.size() - at)), MPI_CHAR,
                      source, tag, comm, MPI_STATUS_IGNORE);
        }
        file << lines;
    }
    PMPI_Comm_free(&comm);
    file.flush();
    // The program's own result stands whatever becomes of its trace.
    if (!file) {
        std::fprintf(stderr, "hakobi: the trace %s cannot be written: %s\n", path_.c_str(),
                     std::strerror(errno));
    } else if (num_dropped > 0) {
        std::fprintf(
            stderr,
            "hakobi: the trace %s lacks %lld calls: HAKOBI_RECORD_EVENTS let it keep %zu on each rank\n",
            path_.c_str(), static_cast<long long>(num_dropped), max_events_);
    }
}

}  // namespace hakobi::recorder
