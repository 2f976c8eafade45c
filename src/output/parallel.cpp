#include "output/parallel.hpp"

#include <sys/statvfs.h>

#include <algorithm>
#include <cassert>
#include <cstdio>
#include <utility>

#include "mpi/messages.hpp"
#include "mpi/mpi_file.hpp"
#include "series/step_file.hpp"
#include "storage/file.hpp"
#include "storage/joined.hpp"

namespace hakobi::output {
namespace {

class Parallel final : public Method {
  public:
    explicit Parallel(const MethodSettings& settings)
        : comm_(settings.comm), options_(settings.options), round_bytes_(settings.round_bytes) {}

    Status prepare(const Step& step) override {
        if (comm_.rank() != 0) return {};
        assert(step.place->limits().has_system_names);
        if (!std::exchange(is_storage_known_, true)) warn_of_storage(step.part_path);
        struct statvfs space {};
        if (::statvfs(series::folder_of(step.place->system_name(step.path)).c_str(), &space) != 0)
            return status_of_errno(errno, "cannot stat", step.part_path);
        const auto free_blocks = static_cast<std::uint64_t>(space.f_bavail);
        if (free_blocks > static_cast<std::uint64_t>(step.layout.file_bytes) / space.f_frsize) return {};
        Result<storage::FilePtr> file = storage::open_file(step.part_path, {.write = true});
        if (!file.ok()) return file.status();
        Status status = file.value()->preallocate(step.layout.file_bytes);
        status.keep_first(file.value()->close());
        return status;
    }

    mpi::Agreed write(const Step& step) override {
        if (step.are_regions_new) find_largest_parts(step);
        const std::string folder = storage::joined_folder(step.part_path);
        if (folder.empty()) return write_parts(step, step.part_path, 0, step.parts.size());
        mpi::Agreed agreed;
        for (std::size_t p = 0; p < step.parts.size() && agreed.status.ok(); ++p)
            agreed = write_parts(step, storage::member_path(folder, p), p, p + 1);
        return agreed;
    }

  private:
    /// Writes parts of the step to a file: the step's own, or the member that has one part.
    mpi::Agreed write_parts(const Step& step, const std::string& path, std::size_t first, std::size_t last) {
        std::unique_ptr<mpi::MpiFile> file;
        Status status = mpi::MpiFile::open(comm_, step.place->system_name(path), options_.hints, file);
        if (mpi::Agreed agreed = mpi::agree(comm_, status); !agreed.status.ok()) return agreed;
        storage::FilePtr witness = witness_of(path, status);
        for (std::size_t p = first; p < last; ++p) {
            const std::int64_t begin = step.layout.members.empty() ? 0 : step.layout.members[p].begin;
            const std::int64_t num_rounds = (largest_bytes_[p] + round_bytes_ - 1) / round_bytes_;
            status.keep_first(file->write_region_all(step.parts[p].file.moved(-begin), step.parts[p].memory,
                                                     num_rounds, round_bytes_));
        }
        if (options_.sync) status.keep_first(file->sync_all());
        if (witness) status.keep_first(witness->close());
        status.keep_first(file->close_all());
        return mpi::agree(comm_, status);
    }

    /// A descriptor of this rank's own, closed before the library's. Where a close stores what the node has
    /// written (NFS, quotas), it does so for all descriptors, and each says whether that failed since it was
    /// opened; Open MPI's MPI_File_close does not (docs/mpi-faults.md).
    static storage::FilePtr witness_of([[maybe_unused]] const std::string& path,
                                       [[maybe_unused]] Status& status) {
#ifdef OPEN_MPI
        Result<storage::FilePtr> file = storage::open_file(path, {.write = true});
        if (file.ok()) return std::move(file).value();
        status.keep_first(file.status());
#endif
        return nullptr;
    }

    /// The library's own method takes no notice of what nodes may do to one file. Open MPI 4's guards shared
    /// blocks by locks.
    void warn_of_storage(const std::string& path) const {
        if (comm_.num_nodes() == 1) return;
        const Result<storage::FilePtr> file = storage::open_file(path, {.write = true});
        if (!file.ok() || file.value()->abilities().writer_block_bytes == 1) return;
        std::fprintf(stderr,
                     "hakobi: warning: %s is on %s. The MPI library's own method may lose bytes there "
                     "without an error "
                     "(https://github.com/open-mpi/ompi/issues/4334): method 'pipelined' does not\n",
                     path.c_str(), words_of(file.value()->abilities()).c_str());
    }

    void find_largest_parts(const Step& step) {
        largest_bytes_.clear();
        for (const Part& part : step.parts) largest_bytes_.push_back(part.file.size_bytes());
        mpi::all_max(comm_, largest_bytes_);
    }

    Comm comm_;
    OutputOptions options_;
    std::int64_t round_bytes_;
    bool is_storage_known_ = false;
    std::vector<std::int64_t> largest_bytes_;  // of each part, over the ranks
};

}  // namespace

Result<std::unique_ptr<Method>> make_parallel(const MethodSettings& settings) {
    return std::unique_ptr<Method>(new Parallel(settings));
}

}  // namespace hakobi::output
