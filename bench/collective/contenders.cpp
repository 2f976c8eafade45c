#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <vector>

#include "base/copy_bytes.hpp"
#include "contender.hpp"
#include "io/new_file.hpp"
#include "mpi/agree.hpp"
#include "storage/access.hpp"

namespace hakobi::bench {
namespace {

Status mpi_status(int error, const char* call) {
    if (error == MPI_SUCCESS) return {};
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(error, text, &length);
    return {ErrorCode::io, std::string(call) + ": " + text};
}

void check_mpi(int error, const char* call) {
    mpi_status(error, call).throw_if_error();
}

class EngineTransfer final : public Transfer {
  public:
    EngineTransfer(std::string name, const Comm& comm, const Pattern& pattern, const Hints& hints)
        : name_(std::move(name)),
          comm_(Comm::duplicate(comm.handle())),
          file_bytes_(pattern.file_bytes),
          file_(pattern.files[static_cast<std::size_t>(comm.rank())]) {
        std::vector<std::string> warnings;
        auto options = io::engine_options(hints, warnings);
        if (!options.ok()) throw Error(options.status().code(), options.status().text());
        if (!warnings.empty()) throw Error(ErrorCode::invalid_argument, warnings.front());
        options_ = std::move(options).value();
    }
    void make(const std::string& path) override {
        if (!io::make_with_layout({path, comm_.num_nodes(), file_bytes_}, options_)) Transfer::make(path);
    }
    void open(const std::string& path, bool is_write) override {
        is_write_ = is_write;
        io::Engine::open(comm_, {path, is_write}, options_, engine_).throw_if_error();
    }
    void move(std::span<std::byte> data) override {
        const Region memory = Region::contiguous(0, static_cast<std::int64_t>(data.size()));
        std::int64_t bytes_read = 0;
        (is_write_ ? engine_->write_all(file_, data.data(), memory)
                   : engine_->read_all(file_, data.data(), memory, bytes_read))
            .throw_if_error();
    }
    void close() override {
        engine_->close().throw_if_error();
        engine_.reset();
    }
    [[nodiscard]] const std::string& name() const override { return name_; }

  private:
    std::string name_;
    Comm comm_;  // its own, and with it buffers and threads as its hints say
    std::int64_t file_bytes_;
    Region file_;
    io::EngineOptions options_;
    bool is_write_ = false;
    std::unique_ptr<io::Engine> engine_;
};

/// The library's calls may fail on some ranks alone: `open` and `close` agree on it, outside the timed part.
class MpiIoTransfer final : public Transfer {
  public:
    MpiIoTransfer(std::string name, const Comm& comm, const Pattern& pattern, const Hints& hints)
        : name_(std::move(name)), comm_(comm), hints_(hints) {
        const auto as_int = [](const std::vector<std::int64_t>& values) {
            return std::vector<int>(values.begin(), values.end());
        };
        const std::vector<int> global = as_int(pattern.global), start = as_int(pattern.start),
                               count = as_int(pattern.count);
        check_mpi(MPI_Type_contiguous(static_cast<int>(pattern.element_bytes), MPI_BYTE, &element_),
                  "MPI_Type_contiguous");
        check_mpi(MPI_Type_commit(&element_), "MPI_Type_commit");
        element_bytes_ = pattern.element_bytes;
        // A rank without elements has no subarray: it writes zero elements of its whole view.
        if (std::all_of(count.begin(), count.end(), [](int n) { return n > 0; })) {
            check_mpi(MPI_Type_create_subarray(static_cast<int>(global.size()), global.data(), count.data(),
                                               start.data(), MPI_ORDER_C, element_, &view_),
                      "MPI_Type_create_subarray");
            check_mpi(MPI_Type_commit(&view_), "MPI_Type_commit");
        }
    }
    ~MpiIoTransfer() override {
        if (view_ != MPI_DATATYPE_NULL) MPI_Type_free(&view_);
        MPI_Type_free(&element_);
    }
    void open(const std::string& path, bool is_write) override {
        is_write_ = is_write;
        MPI_Info info = MPI_INFO_NULL;
        MPI_Info_create(&info);
        for (const auto& [key, value] : hints_) MPI_Info_set(info, key.c_str(), value.c_str());
        status_ = mpi_status(MPI_File_open(comm_.handle(), path.c_str(),
                                           is_write ? MPI_MODE_WRONLY : MPI_MODE_RDONLY, info, &file_),
                             "MPI_File_open");
        MPI_Info_free(&info);
        mpi::agree_or_throw(comm_, status_);
        status_ =
            mpi_status(MPI_File_set_view(file_, 0, element_, view_ == MPI_DATATYPE_NULL ? element_ : view_,
                                         "native", MPI_INFO_NULL),
                       "MPI_File_set_view");
        mpi::agree_or_throw(comm_, status_);
    }
    void move(std::span<std::byte> data) override {
        const int count = static_cast<int>(static_cast<std::int64_t>(data.size()) / element_bytes_);
        status_ =
            mpi_status(is_write_ ? MPI_File_write_all(file_, data.data(), count, element_, MPI_STATUS_IGNORE)
                                 : MPI_File_read_all(file_, data.data(), count, element_, MPI_STATUS_IGNORE),
                       is_write_ ? "MPI_File_write_all" : "MPI_File_read_all");
    }
    void close() override {
        status_.keep_first(mpi_status(MPI_File_close(&file_), "MPI_File_close"));
        mpi::agree_or_throw(comm_, status_);
    }
    [[nodiscard]] const std::string& name() const override { return name_; }

  private:
    std::string name_;
    const Comm& comm_;
    Hints hints_;
    MPI_Datatype element_ = MPI_DATATYPE_NULL, view_ = MPI_DATATYPE_NULL;
    std::int64_t element_bytes_ = 1;
    MPI_File file_ = MPI_FILE_NULL;
    bool is_write_ = false;
    Status status_;  // of this rank
};

class FloorTransfer final : public Transfer {
  public:
    FloorTransfer(const Comm& comm, const Pattern& pattern, int num_ranks) : comm_(comm) {
        const std::int64_t n = std::min(num_ranks, comm.size());
        if (comm.rank() >= n) return;
        begin_ = pattern.file_bytes * comm.rank() / n;
        end_ = pattern.file_bytes * (comm.rank() + 1) / n;
    }
    void open(const std::string& path, bool is_write) override {
        is_write_ = is_write;
        Status status;
        if (begin_ < end_) {
            storage::OpenMode mode;
            mode.write = is_write;
            auto file = storage::open_file(path, mode);
            status = file.ok() ? Status{} : file.status();
            if (file.ok()) file_ = std::move(file).value();
        }
        if (file_) {
            if (data_.empty())
                data_.assign(static_cast<std::size_t>(end_ - begin_ + page_bytes), std::byte{1});
            storage::AccessOptions options;
            options.num_threads = in_flight;
            auto access = storage::make_access(*file_, options);
            status.keep_first(access.ok() ? Status{} : access.status());
            if (access.ok()) access_ = std::move(access).value();
        }
        mpi::agree_or_throw(comm_, status);
    }
    // The bytes are not the pattern's: the floor is about time alone, and its file is not verified.
    void move(std::span<std::byte>) override {
        std::vector<storage::Request> requests(in_flight);
        next_ = begin_;
        num_running_ = 0;
        if (access_) {
            // Congruent with the file: what the kernel copies fastest (base/copy_bytes.hpp).
            std::byte* const on_page = congruent_with(begin_, data_.data());
            for (std::size_t i = 0; i < requests.size(); ++i) {
                requests[i].buffer = on_page;
                requests[i].context = this;
                requests[i].done = [](storage::Request& request) {
                    static_cast<FloorTransfer*>(request.context)->next_block(request);
                };
            }
            {
                const std::scoped_lock lock(mutex_);
                num_running_ = in_flight;
            }
            for (storage::Request& request : requests) next_block(request);
            std::unique_lock lock(mutex_);
            done_.wait(lock, [this] { return num_running_ == 0; });
        }
    }
    void close() override {
        access_.reset();
        Status status = file_ ? file_->close() : Status{};
        file_.reset();
        mpi::agree_or_throw(comm_, status_.ok() ? status : status_);
    }
    [[nodiscard]] const std::string& name() const override { return name_; }

  private:
    void next_block(storage::Request& request) {
        std::int64_t begin = 0;
        {
            const std::scoped_lock lock(mutex_);
            status_.keep_first(std::move(request.status));
            begin = next_;
            if (begin >= end_ || !status_.ok()) {
                if (--num_running_ == 0) done_.notify_all();
                return;
            }
            next_ += block_bytes;
        }
        request.is_write = is_write_;
        request.extents.assign(1, {begin - begin_, begin, std::min(block_bytes, end_ - begin)});
        request.status = {};
        access_->submit(request);
    }

    static constexpr int in_flight = 4;
    static constexpr std::int64_t block_bytes = 4 << 20;
    std::string name_ = "floor";
    const Comm& comm_;
    std::int64_t begin_ = 0, end_ = 0;
    bool is_write_ = false;
    storage::FilePtr file_;
    std::unique_ptr<storage::Access> access_;
    std::vector<std::byte> data_;  // as much as the others have: touched, and too large for the caches
    std::mutex mutex_;
    std::condition_variable done_;
    std::int64_t next_ = 0;
    int num_running_ = 0;
    Status status_;
};

}  // namespace

std::unique_ptr<Transfer> engine_transfer(std::string name, const Comm& comm, const Pattern& pattern,
                                          const Hints& hints) {
    return std::make_unique<EngineTransfer>(std::move(name), comm, pattern, hints);
}
std::unique_ptr<Transfer> mpi_io_transfer(std::string name, const Comm& comm, const Pattern& pattern,
                                          const Hints& hints) {
    return std::make_unique<MpiIoTransfer>(std::move(name), comm, pattern, hints);
}
std::unique_ptr<Transfer> floor_transfer(const Comm& comm, const Pattern& pattern, int num_ranks) {
    return std::make_unique<FloorTransfer>(comm, pattern, num_ranks);
}

}  // namespace hakobi::bench
