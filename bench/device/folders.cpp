#include "folders.hpp"

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "mpi/agree.hpp"
#include "mpi/comm_state.hpp"

namespace hakobi::bench {

RunFolder::RunFolder(const Comm& comm, const std::string& parent) : is_mine_(comm.rank() == 0) {
    Status status;
    if (is_mine_) {
        std::error_code error;
        path_ = (parent.empty() ? std::filesystem::temp_directory_path(error).string() : parent) +
                "/hakobi-bench-device-XXXXXX";
        if (::mkdtemp(path_.data()) == nullptr)
            status = status_of_errno(errno, "cannot make a folder in", parent.empty() ? path_ : parent);
    }
    mpi::agree_or_throw(comm, status);
    auto length = static_cast<int>(path_.size());
    mpi::check(MPI_Bcast(&length, 1, MPI_INT, 0, comm.state().internal), "MPI_Bcast");
    path_.resize(static_cast<std::size_t>(length));
    mpi::check(MPI_Bcast(path_.data(), length, MPI_CHAR, 0, comm.state().internal), "MPI_Bcast");
}

RunFolder::~RunFolder() {
    std::error_code ignored;  // what cannot be removed stays
    if (is_mine_) std::filesystem::remove_all(path_, ignored);
}

}  // namespace hakobi::bench
