#include <sys/stat.h>

#include <cerrno>
#include <filesystem>

#include "base/clock.hpp"
#include "base/guard.hpp"
#include "output/background.hpp"
#include "series/gather.hpp"
#include "series/piece.hpp"
#include "series/step_file.hpp"
#include "storage/file.hpp"
#include "storage/posix.hpp"

namespace hakobi::output {
namespace {

/// Each rank writes its own piece of each step, and the step's file comes into being in close: the ranks
/// share the steps among them and gather each one's pieces (gather.hpp). The fastest way out of the solver,
/// paid at the end.
class PerProcess final : public Method {
  public:
    explicit PerProcess(const MethodSettings& settings) : comm_(settings.comm), options_(settings.options) {
        if (settings.hiding.is_on)
            background_ = std::make_unique<Background>(comm_, settings.hiding.node_bytes / comm_.node_size(),
                                                       settings.hiding.cores);
    }

    [[nodiscard]] bool writes_step_file() const override { return false; }

    Status prepare(const Step& step) override {
        if (background_) background_->prepare();
        if (comm_.rank() != 0) return {};
        if (Status status = series::check_free(step.path); !status.ok()) return status;
        const std::string folder = series::pieces_folder(storage::system_path(step.path));
        bool may_be_ours = false;
        while (::mkdir(folder.c_str(), 0777) != 0) {
            if (errno == EINTR) {  // some file systems have made it all the same
                may_be_ours = true;
                continue;
            }
            std::error_code error;
            if (errno == EEXIST && may_be_ours && std::filesystem::is_empty(folder, error)) break;
            return status_of_errno(errno, "cannot make folder", folder);
        }
        made_folders_.push_back(folder);
        return {};
    }

    mpi::Agreed write(const Step& step) override {
        const std::string folder = series::pieces_folder(storage::system_path(step.path));
        Status status = guarded("writing a piece", [&] {
            const std::string path = series::piece_path(folder, comm_.rank());
            return background_ ? start_piece(path, step)
                               : series::write_piece(path, step, comm_.rank(), comm_.size(), options_.sync);
        });
        mpi::Agreed agreed = mpi::agree(comm_, status);
        if (background_) {
            start_draining(filling_, agreed.status.ok(), draining_);
            if (agreed.status.ok()) draining_folders_.push_back(folder);
            return agreed;
        }
        return agreed.status.ok() ? finish(folder) : agreed;
    }

    [[nodiscard]] int num_draining() const override { return static_cast<int>(draining_.size()); }
    [[nodiscard]] int num_drained() const override { return drained(draining_); }
    [[nodiscard]] int most_draining() const override { return most_draining_files; }

    mpi::Agreed wait(double& stored_s) override {
        const std::string folder = std::move(draining_folders_.front());
        draining_folders_.pop_front();
        const Status status = wait_for_oldest(draining_, background_.get(), stored_s);
        mpi::Agreed agreed = mpi::agree(comm_, status);
        return agreed.status.ok() ? finish(folder) : agreed;
    }

    void abandon(const Step& step) override {
        drop(draining_);
        draining_folders_.clear();
        // A step that was refused before prepare has no pieces.
        const std::string folder = series::pieces_folder(storage::system_path(step.path));
        if (std::erase(made_folders_, folder) > 0) (void)series::remove_pieces(folder);
    }

    [[nodiscard]] bool has_work_at_close() const override {
        return !options_.keep_pieces && !folders_.empty();
    }
    mpi::Agreed close(OutputTimes& times) override {
        if (options_.keep_pieces) return {};
        const double start_s = now_s();
        Status status;
        // A step that cannot be gathered keeps its pieces and does not stop the others from being gathered.
        for (std::size_t step = static_cast<std::size_t>(comm_.rank()); step < folders_.size();
             step += static_cast<std::size_t>(comm_.size())) {
            status.keep_first(series::gather_folder(folders_[step], options_.buffer_bytes, options_.sync));
        }
        mpi::Agreed agreed = mpi::agree(comm_, status);
        times.gather_s += now_s() - start_s;
        return agreed;
    }

  private:
    Status start_piece(const std::string& path, const Step& step) {
        Result<storage::FilePtr> created = series::create_piece(path);
        if (!created.ok()) return created.status();
        filling_ = background_->take(std::move(created).value());
        storage::File& file = *filling_;
        Status status = series::fill_piece(file, step, comm_.rank(), comm_.size());
        if (status.ok() && options_.sync) status = file.sync();
        status.keep_first(file.close());
        return status;
    }

    /// The step's pieces are written. Only now: a step that fails is abandoned, and close must not look for its pieces.
    mpi::Agreed finish(const std::string& folder) {
        mpi::Agreed agreed;
        if (options_.sync) {
            Status status;
            if (comm_.rank() == 0) {
                status = storage::sync_posix_folder(folder);
                status.keep_first(storage::sync_posix_folder(series::folder_of(folder)));
            }
            agreed = mpi::agree(comm_, status);
        }
        if (!agreed.status.ok()) return agreed;
        std::erase(made_folders_, folder);
        folders_.push_back(folder);
        return agreed;
    }

    Comm comm_;
    OutputOptions options_;
    std::vector<std::string> folders_;       // of steps that are whole
    std::vector<std::string> made_folders_;  // rank 0: that prepare made, of steps that are not whole
    std::unique_ptr<Background> background_;
    std::shared_ptr<BackgroundFile> filling_;
    DrainingFiles draining_;
    std::deque<std::string> draining_folders_;
};

}  // namespace

Result<std::unique_ptr<Method>> make_per_process(const MethodSettings& settings) {
    return std::unique_ptr<Method>(new PerProcess(settings));
}

}  // namespace hakobi::output
