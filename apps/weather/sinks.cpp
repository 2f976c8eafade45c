#include "sinks.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <hakobi/error.hpp>

#include "fdb/fdb.hpp"

namespace hakobi::weather {
namespace {

class Stopwatch {
  public:
    explicit Stopwatch(double& seconds) : seconds_(seconds), start_(std::chrono::steady_clock::now()) {}
    ~Stopwatch() {
        seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    }
    Stopwatch(const Stopwatch&) = delete;
    Stopwatch& operator=(const Stopwatch&) = delete;

  private:
    double& seconds_;
    std::chrono::steady_clock::time_point start_;
};

/// One grid-point and one spectral file a step, as a model without a field database writes them: one message
/// after the other, by the plain calls.
class FilesSink : public Sink {
  public:
    FilesSink(std::string prefix, bool sync) : prefix_(std::move(prefix)), sync_(sync) {
        const std::filesystem::path folder = std::filesystem::path(prefix_).parent_path();
        std::error_code error;
        if (!folder.empty()) std::filesystem::create_directories(folder, error);
        if (error) throw Error(ErrorCode::permission, folder.string() + ": " + error.message());
    }
    ~FilesSink() override {
        for (File& file : files_) {
            if (file.descriptor >= 0) ::close(file.descriptor);
        }
    }
    void archive(const Key& key, std::span<const std::byte> message, bool is_spectral) override {
        File& file = files_[is_spectral ? 1 : 0];
        if (file.descriptor < 0) open(file, key, is_spectral ? "sh" : "gg");
        const Stopwatch watch(file.profile.seconds);
        while (!message.empty()) {
            const ssize_t written = ::write(file.descriptor, message.data(), message.size());
            if (written < 0 && errno == EINTR) continue;
            if (written < 0) fail("cannot write", file.profile.name);
            ++file.profile.num_calls;
            file.profile.num_bytes += written;
            message = message.subspan(static_cast<std::size_t>(written));
        }
    }
    void end_step() override {
        for (File& file : files_) {
            if (file.descriptor < 0) continue;
            {
                const Stopwatch watch(file.profile.seconds);
                if (sync_ && ::fsync(file.descriptor) != 0) fail("cannot sync", file.profile.name);
                if (::close(file.descriptor) != 0) fail("cannot close", file.profile.name);
            }
            profiles_.push_back(file.profile);
            file = {};
        }
    }
    std::vector<FileProfile> close() override { return profiles_; }

  private:
    struct File {
        int descriptor = -1;
        FileProfile profile;
    };
    [[noreturn]] static void fail(const char* what, const std::string& name) {
        const ErrorCode code = errno == ENOSPC || errno == EDQUOT ? ErrorCode::no_space : ErrorCode::io;
        throw Error(code, std::string(what) + " " + name + ": " + std::strerror(errno));
    }
    void open(File& file, const Key& key, const char* kind) {
        std::string step(key.get("step"));
        if (step.size() < 6) step.insert(0, 6 - step.size(), '0');
        file.profile.name = prefix_ + "_" + kind + "_" + step + ".grib2";
        const Stopwatch watch(file.profile.seconds);
        file.descriptor = ::open(file.profile.name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        if (file.descriptor < 0) fail("cannot open", file.profile.name);
    }

    std::string prefix_;
    bool sync_;
    File files_[2];
    std::vector<FileProfile> profiles_;
};

/// Fields by their keys; nothing is read from the message.
class StoreSink : public Sink {
  public:
    StoreSink(const std::string& path, const StoreOptions& options) : store_(Store::open(path, options)) {}
    void archive(const Key& key, std::span<const std::byte> message, bool) override {
        store_.archive(key, message, "grib");
    }
    void end_step() override { store_.flush(); }
    std::vector<FileProfile> close() override {
        const StoreCounters done = store_.counters();
        store_.close();
        if (done.num_fields == 0) return {};
        return {{done.data_file, done.data_write_s + done.sync_s, done.num_bytes, done.num_data_writes}};
    }

  private:
    Store store_;
};

class FdbSink : public Sink {
  public:
    void archive(const Key& key, std::span<const std::byte> message, bool) override {
        const Stopwatch watch(profile_.seconds);
        fdb_.archive(key.entries(), message);
        profile_.num_bytes += static_cast<std::int64_t>(message.size());
        ++profile_.num_calls;
    }
    void end_step() override {
        const Stopwatch watch(profile_.seconds);
        fdb_.flush();
    }
    std::vector<FileProfile> close() override { return {profile_}; }

  private:
    fdb::Fdb fdb_;
    FileProfile profile_{.name = "(FDB)"};
};

}  // namespace

std::unique_ptr<Sink> make_sink(const SinkOptions& options) {
    if (options.kind == "files") return std::make_unique<FilesSink>(options.path, options.sync);
    if (options.kind == "store") return std::make_unique<StoreSink>(options.path, options.store);
    if (options.kind == "fdb") return std::make_unique<FdbSink>();
    throw Error(ErrorCode::invalid_argument,
                "output '" + options.kind + "': none, files, store and fdb are there");
}

}  // namespace hakobi::weather
