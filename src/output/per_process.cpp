#include "output/per_process.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <filesystem>

#include "base/clock.hpp"
#include "base/guard.hpp"
#include "output/hidden_writer.hpp"
#include "series/gather.hpp"
#include "series/piece.hpp"
#include "series/step_file.hpp"
#include "storage/file.hpp"
#include "storage/posix.hpp"

namespace hakobi::output {
namespace {

class PerProcess final : public Method {
  public:
    explicit PerProcess(const MethodSettings& settings) : comm_(settings.comm), options_(settings.options) {
        if (settings.hidden.is_on)
            hidden_ =
                HiddenFiles(comm_, settings.hidden.node_bytes / comm_.node_size(), settings.hidden.cores);
    }

    Status prepare(const Step& step) override {
        hidden_.prepare();
        if (comm_.rank() != 0) return {};
        if (Status status = series::check_free(step.path); !status.ok()) return status;
        const std::string folder = folder_of(step);
        assert(step.place->limits().has_system_names);
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
        const std::string folder = folder_of(step);
        Status status = guarded("writing a piece", [&] {
            const std::string path = series::piece_path(folder, comm_.rank());
            return hidden_.has_writer()
                       ? start_piece(path, step)
                       : series::write_piece(path, step, comm_.rank(), comm_.size(), options_.sync);
        });
        mpi::Agreed agreed = mpi::agree(comm_, status);
        if (hidden_.has_writer()) {
            hidden_.end_step(agreed.status.ok());
            if (agreed.status.ok()) hidden_folders_.push_back({folder, step.kind});
            return agreed;
        }
        return agreed.status.ok() ? finish({folder, step.kind}) : agreed;
    }

    [[nodiscard]] int num_hidden() const override { return hidden_.num(); }
    [[nodiscard]] int num_stored() const override { return hidden_.num_stored(); }
    [[nodiscard]] int most_hidden() const override { return HiddenFiles::most; }

    mpi::Agreed wait(double& stored_s) override {
        const Folder folder = std::move(hidden_folders_.front());
        hidden_folders_.pop_front();
        const Status status = hidden_.wait_for_oldest(stored_s);
        mpi::Agreed agreed = mpi::agree(comm_, status);
        return agreed.status.ok() ? finish(folder) : agreed;
    }

    void abandon(const Step& step) override {
        hidden_.drop();
        hidden_folders_.clear();
        // A step that was refused before prepare has no pieces.
        const std::string folder = folder_of(step);
        if (std::erase(made_folders_, folder) > 0) (void)series::remove_pieces(folder);
    }

    [[nodiscard]] bool has_work_at_close() const override {
        return !options_.per_process.keep_pieces && !folders_.empty();
    }
    mpi::Agreed close(OutputTimes& times) override {
        if (options_.per_process.keep_pieces) return {};
        const double start_s = now_s();
        Status status;
        // A step that cannot be gathered keeps its pieces and does not stop the others from being gathered.
        // A store is one process's.
        const bool is_one_rank = !folders_.empty() && !series::store_of(folders_[0].path).empty();
        const auto first = static_cast<std::size_t>(comm_.rank());
        const auto stride = static_cast<std::size_t>(is_one_rank ? 1 : comm_.size());
        const std::size_t end = is_one_rank && comm_.rank() != 0 ? 0 : folders_.size();
        const auto gather = [&](series::Kind kind) {
            for (std::size_t step = first; step < end; step += stride) {
                if (folders_[step].of == kind)
                    status.keep_first(
                        series::gather_folder(folders_[step].path, options_.buffer_bytes, options_.sync));
            }
            return mpi::agree(comm_, status);
        };
        // Steps need their mesh: without it their pieces stay.
        mpi::Agreed agreed;
        if (std::ranges::find(folders_, series::Kind::mesh, &Folder::of) != folders_.end())
            agreed = gather(series::Kind::mesh);
        if (agreed.status.ok()) agreed = gather(series::Kind::step);
        times.gather_s += now_s() - start_s;
        return agreed;
    }

  private:
    /// Holds the pieces of a step, or of a mesh.
    struct Folder {
        std::string path;
        series::Kind of;
    };

    [[nodiscard]] static std::string folder_of(const Step& step) {
        return series::pieces_folder(step.place->system_name(step.path));
    }

    Status start_piece(const std::string& path, const Step& step) {
        Result<storage::FilePtr> created = series::create_piece(path);
        if (!created.ok()) return created.status();
        storage::File& file = hidden_.take(std::move(created).value());
        Status status = series::fill_piece(file, step, comm_.rank(), comm_.size());
        if (status.ok() && options_.sync) status = file.sync();
        status.keep_first(file.close());
        return status;
    }

    /// The step's pieces are written. Only now: a step that fails is abandoned, and close must not look for
    /// its pieces.
    mpi::Agreed finish(const Folder& folder) {
        mpi::Agreed agreed;
        if (options_.sync) {
            Status status;
            if (comm_.rank() == 0) {
                status = storage::sync_posix_folder(folder.path);
                status.keep_first(storage::sync_posix_folder(series::folder_of(folder.path)));
            }
            agreed = mpi::agree(comm_, status);
        }
        if (!agreed.status.ok()) return agreed;
        std::erase(made_folders_, folder.path);
        folders_.push_back(folder);
        return agreed;
    }

    Comm comm_;
    OutputOptions options_;
    std::vector<Folder> folders_;            // of steps that are whole
    std::vector<std::string> made_folders_;  // rank 0: that prepare made, of steps that are not whole
    HiddenFiles hidden_;
    std::deque<Folder> hidden_folders_;
};

}  // namespace

Result<std::unique_ptr<Method>> make_per_process(const MethodSettings& settings) {
    return std::unique_ptr<Method>(new PerProcess(settings));
}

}  // namespace hakobi::output
