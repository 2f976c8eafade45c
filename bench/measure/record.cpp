#include "measure/record.hpp"

#include <sys/utsname.h>
#include <unistd.h>

#include <hakobi/version.h>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <hakobi/comm.hpp>

#include "measure/residency.hpp"

namespace hakobi::measure {
namespace {

/// The value of the first "name : value" line of /proc/cpuinfo with that name; "" without.
std::string cpuinfo(const std::string& name) {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        const std::size_t colon = line.find(": ");
        if (line.starts_with(name) && colon != std::string::npos) return line.substr(colon + 2);
    }
    return "";
}

std::string mpi_library() {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_Get_library_version(text, &length);
    std::string version = text;
    // Open MPI: "Open MPI v4.1.4, package: ..."; MPICH: "MPICH Version:\t4.0.2\nMPICH Release date: ...".
    version = version.substr(0, std::min(version.find(", package"), version.find('\n')));
    for (char& c : version) {
        if (c == '\t') c = ' ';
    }
    return version;
}

std::string utc_now() {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    gmtime_r(&now, &parts);
    char text[32] = "";
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return text;
}

}  // namespace

Record conditions(const std::string& benchmark, int num_ranks, const Topology& topology) {
    Record record;
    record["kind"] = "conditions";
    record["schema"] = schema_version;
    record["benchmark"] = benchmark;
    record["time_utc"] = utc_now();
    utsname system{};
    if (uname(&system) == 0) {
        record["host"] = system.nodename;
        record["kernel"] = system.release;
    }
    record["processor"] = cpuinfo("model name");
    record["num_cores"] = topology.num_cores();
    record["num_units"] = topology.num_units();
    record["memory_bytes"] = memory_bytes();
    const CacheSizes caches = topology.caches();
    record["topology"] = topology.is_known() ? "hwloc" : "unknown";
    record["num_sockets"] = topology.num_sockets();
    record["num_numa_nodes"] = topology.num_numa_nodes();
    record["l1_bytes"] = caches.l1_bytes;
    record["l2_bytes"] = caches.l2_bytes;
    record["l3_bytes"] = caches.l3_bytes;
    int is_initialized = 0;
    MPI_Initialized(&is_initialized);
    if (is_initialized != 0) record["mpi_library"] = mpi_library();
    record["ranks"] = num_ranks;
    record["hakobi_version"] = HAKOBI_VERSION;
    const char* commit = std::getenv("HAKOBI_COMMIT");
    record["commit"] = commit != nullptr ? commit : "";
    return record;
}

namespace {

/// Prepares a file of records for more of them: a last line that a killed program left is completed or
/// removed. A file that ends with something else than a record is somebody else's.
Status mend_end(const std::string& path, std::ofstream& file) {
    std::error_code error;
    const std::uintmax_t size =
        std::filesystem::is_regular_file(path, error) ? std::filesystem::file_size(path, error) : 0;
    if (error || size == 0) return {};
    std::ifstream before(path, std::ios::binary);
    std::string line;
    std::string last;
    while (std::getline(before, line)) {
        if (line.find_first_not_of(" \t\r") != std::string::npos) last = line;
    }
    const bool is_record = Record::accept(last) && Record::parse(last).is_object();
    before.clear();
    before.seekg(-1, std::ios::end);
    const bool is_cut = before.get() != '\n';
    if (!is_record && !(is_cut && !last.empty() && last.front() == '{')) {
        return {ErrorCode::invalid_argument,
                path + " is not a file of JSON lines, its last line is no record: nothing is written to it"};
    }
    if (is_cut && is_record) file << '\n';
    if (is_cut && !is_record) std::filesystem::resize_file(path, size - last.size(), error);
    if (error) return status_of_errno(error.value(), "cannot write", path);
    return {};
}

}  // namespace

Record to_record(const Measurement& measurement, const std::string& unit) {
    const Summary& summary = measurement.summary;
    Record record;
    record["unit"] = unit;
    record["median"] = summary.median;
    record["ci_low"] = summary.ci_low;
    record["ci_high"] = summary.ci_high;
    record["confidence"] = summary.confidence;
    record["spread"] = summary.spread();
    record["relative_width"] = summary.relative_width();
    record["min"] = summary.min;
    record["max"] = summary.max;
    record["num_samples"] = summary.num_samples;
    record["num_outliers"] = summary.num_outliers;
    record["num_warmup"] = measurement.num_warmup;
    record["stationary"] = measurement.is_stationary;
    record["wide"] = measurement.wide;
    record["samples"] = measurement.samples;
    return record;
}

Result<RecordWriter> RecordWriter::open(const std::string& path) {
    RecordWriter writer;
    writer.path_ = path;
    if (path.empty()) return writer;
    errno = 0;
    writer.file_.open(path, std::ios::out | std::ios::app);
    if (!writer.file_) return status_of_errno(errno != 0 ? errno : EIO, "cannot write", path);
    Status status = mend_end(path, writer.file_);
    if (!status.ok()) return status;
    return writer;
}

Status RecordWriter::write(const Record& record) {
    if (path_.empty() || !status_.ok()) return status_;
    errno = 0;
    // A user's text, such as a transport's name, may not be UTF-8.
    file_ << record.dump(-1, ' ', false, Record::error_handler_t::replace) << '\n' << std::flush;
    if (!file_) status_ = status_of_errno(errno != 0 ? errno : EIO, "cannot write", path_);
    return status_;
}

}  // namespace hakobi::measure
