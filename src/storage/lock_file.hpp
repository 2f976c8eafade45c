#pragma once

#include <string>
#include <string_view>

#include "base/forked.hpp"
#include "base/status.hpp"

namespace hakobi::storage {

/// Whether a lock failed with this errno because the file system, or the way in which it is mounted, has
/// none.
[[nodiscard]] bool is_without_locks(int error);

/// One owner at a time of what a file's name stands for (the steps of a prefix, a folder of pieces).
///
///  1. The file is made if it is missing and locked (an open file description's lock: it ends with its
///     holder, however that ends, also over NFS, and holds against the same process). Its one line says who
///     the owner is. Children of the owner do not hold it: in them `is_held` is false, and `release` does
///     nothing.
///  2. The owner's file is the one that has the name: whoever locks a file that was removed meanwhile begins
///     again.
///  3. `release` removes the file while it is locked, so that nobody can hold one that a successor takes for
///     free.
///
/// A file that is there and not locked is a dead owner's; what it says is in `left_by`. Where the file system
/// has no locks `is_held` is false: nobody is kept out. Local; no call throws but for memory.
class LockFile {
  public:
    LockFile() = default;
    LockFile(LockFile&&) noexcept = default;
    LockFile& operator=(LockFile&& other) noexcept;
    LockFile(const LockFile&) = delete;
    LockFile& operator=(const LockFile&) = delete;
    ~LockFile() { release(); }

    /// `exists`, naming the owner, where another one is at work, or where the file is not such a file: that
    /// one stays as it is. `whose` says what is locked: "the steps of run".
    static Result<LockFile> take(const std::string& path, std::string_view whose);

    /// Removes the file, also where its folder has another name by now, and lets the next one in.
    void release() noexcept;

    [[nodiscard]] bool is_held() const noexcept { return file_.get() >= 0; }
    [[nodiscard]] const std::string& left_by() const noexcept { return left_by_; }

  private:
    OwnDescriptor folder_, file_;
    std::string name_;     // in the folder
    std::string left_by_;  // of a dead owner
};

}  // namespace hakobi::storage
