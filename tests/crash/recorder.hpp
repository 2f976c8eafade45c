#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace hakobi::test {

/// A process's calls of the file system, and notes between them.
enum class Kind : std::uint8_t {
    create,         ///< an empty file at `path`
    write,          ///< `bytes` at `offset` of the file `inode`
    truncate,       ///< the file has `offset` bytes
    rename,         ///< `path` to `to`, in place of what is there
    link,           ///< `to` is a further name of `path`
    unlink,         ///< of a file
    make_folder,    ///< at `path`
    remove_folder,  ///< an empty one
    put,            ///< an object at `path` that has `bytes`, whole or not at all; `to` is its condition
    remove_object,  ///< at `path`
    sync_file,      ///< fsync or fdatasync
    sync_folder,    ///< fsync of a folder
    // Notes:
    agreement,  ///< all ranks agree: what stands before it on any rank comes before what stands behind it on all
    ended,      ///< end_step of step `offset` has returned
    closed,     ///< close has returned
    says,       ///< the words `path` on stderr
    unseen  ///< a change that no recording has, such as a file that is mapped for writing: `path` says which
};
[[nodiscard]] constexpr bool is_note(Kind kind) {
    return kind >= Kind::agreement;
}

struct Operation {
    Kind kind = Kind::unseen;
    int rank = 0;
    std::uint64_t inode = 0;  ///< of the file or folder that is made, written or synced
    std::int64_t offset = 0;
    std::string path, to;  ///< from the root on: "/place/run.lock"
    std::vector<std::byte> bytes;
};
[[nodiscard]] std::string text_of(const Operation& operation);

/// Operations in the order in which they happened, of one process or of several: each is carried out and
/// noted in one.
class Log {
  public:
    /// `file`: where processes that give the same name share it; "": this process alone.
    explicit Log(const std::string& file = {});
    ~Log();
    Log(const Log&) = delete;
    Log& operator=(const Log&) = delete;

    void clear();
    [[nodiscard]] std::vector<Operation> operations() const;
    void append(const Operation& operation);
    void lock();
    void unlock();

  private:
    struct Memory;
    Memory* memory_ = nullptr;
};

/// From now on all that this process changes below the folder `root` is noted, by any library and any thread.
/// `slow_us`: how long a write by a thread other than the caller waits first.
void start_recording(Log& log, const std::string& root, int rank, int slow_us = 0);
void stop_recording();
/// Once, before the n-th time (from 0) that this thread opens or changes something there: what another
/// process does at that moment. `call` is not counted itself.
void interrupt(std::size_t nth, std::function<void()> call);
/// Whether it has not come yet; it does not any more.
bool end_interrupting();
/// Makes a change that no call of the system's is, such as a server's, and notes it in one. `change` says
/// it; nothing where nothing has changed.
void carry_out(const std::function<std::optional<Operation>()>& change);
/// Adds a note, where anything is recorded.
void note(Kind kind, std::int64_t number = 0, const std::string& text = {});

/// While one lives, the calls of this thread are a server's, which has its own files.
class AsServer {
  public:
    AsServer();
    ~AsServer();
    AsServer(const AsServer&) = delete;
    AsServer& operator=(const AsServer&) = delete;
};

/// Takes what this process says on stderr, and notes it.
class Words {
  public:
    Words();
    ~Words();
    Words(const Words&) = delete;
    Words& operator=(const Words&) = delete;

  private:
    void* stream_ = nullptr;
    void* before_ = nullptr;
};

}  // namespace hakobi::test
