#include <sys/stat.h>

#include <cerrno>
#include <filesystem>

#include "base/clock.hpp"
#include "base/guard.hpp"
#include "output/gather.hpp"
#include "output/piece.hpp"
#include "output/step_file.hpp"
#include "storage/file.hpp"

namespace hakobi::output {
namespace {

/// Each rank writes its own piece of each step, and the step's file comes into being in close: the ranks
/// share the steps among them and gather each one's pieces (gather.hpp). The fastest way out of the solver,
/// paid at the end.
class PerProcess final : public Method {
  public:
    explicit PerProcess(const MethodSettings& settings) : comm_(settings.comm), options_(settings.options) {}

    [[nodiscard]] bool writes_step_file() const override { return false; }

    Status prepare(const Step& step) override {
        if (comm_.rank() != 0) return {};
        if (Status status = check_free(step.path); !status.ok()) return status;
        const std::string folder = pieces_folder(storage::system_path(step.path));
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
        made_folder_ = folder;
        return {};
    }

    mpi::Agreed write(const Step& step) override {
        const std::string folder = pieces_folder(storage::system_path(step.path));
        Status status = guarded("writing a piece", [&] {
            return write_piece(piece_path(folder, comm_.rank()), step, comm_.rank(), comm_.size(),
                               options_.sync);
        });
        mpi::Agreed agreed = mpi::agree(comm_, status);
        if (!agreed.status.ok()) return agreed;
        if (options_.sync) {
            if (comm_.rank() == 0) {
                status = sync_folder(folder);
                status.keep_first(sync_folder(folder_of(folder)));
            }
            agreed = mpi::agree(comm_, status);
        }
        // Only now: a step that fails is abandoned, and close must not look for its pieces.
        if (agreed.status.ok()) folders_.push_back(folder);
        return agreed;
    }

    void abandon(const Step& step) override {
        // A step that was refused before prepare has no pieces.
        const std::string folder = pieces_folder(storage::system_path(step.path));
        if (folder == made_folder_) (void)remove_pieces(folder);
    }

    mpi::Agreed close(OutputTimes& times) override {
        if (options_.keep_pieces) return {};
        const double start_s = now_s();
        Status status;
        // A step that cannot be gathered keeps its pieces and does not stop the others from being gathered.
        for (std::size_t step = static_cast<std::size_t>(comm_.rank()); step < folders_.size();
             step += static_cast<std::size_t>(comm_.size())) {
            status.keep_first(gather_folder(folders_[step], options_.buffer_bytes, options_.sync));
        }
        mpi::Agreed agreed = mpi::agree(comm_, status);
        times.gather_s += now_s() - start_s;
        return agreed;
    }

  private:
    Comm comm_;
    OutputOptions options_;
    std::vector<std::string> folders_;  // of steps that are whole
    std::string made_folder_;           // rank 0: the last that prepare made
};

}  // namespace

Result<std::unique_ptr<Method>> make_per_process(const MethodSettings& settings) {
    return std::unique_ptr<Method>(new PerProcess(settings));
}

}  // namespace hakobi::output
