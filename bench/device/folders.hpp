#pragma once

#include <hakobi/comm.hpp>
#include <string>

namespace hakobi::bench {

/// A folder of this run alone, which rank 0 makes and removes with all that is in it.
class RunFolder {
  public:
    /// Collective. `parent` exists; "": the system's for temporary files. Throws what the system says, alike
    /// on all ranks.
    RunFolder(const Comm& comm, const std::string& parent);
    RunFolder(const RunFolder&) = delete;
    RunFolder& operator=(const RunFolder&) = delete;
    ~RunFolder();  ///< never communicates: the ranks' last call on its files was collective
    [[nodiscard]] const std::string& path() const { return path_; }

  private:
    bool is_mine_;
    std::string path_;
};

}  // namespace hakobi::bench
