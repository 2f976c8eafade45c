#pragma once

#include <atomic>
#include <hakobi/comm.hpp>
#include <mutex>
#include <string>

#include "mpiio/file_facts.hpp"
#include "mpiio/view_arguments.hpp"

namespace hakobi::mpiio {

/// Names up to this length can be opened by every library: OMPIO appends to them in 256 bytes.
inline constexpr std::size_t longest_name = 230;

/// The MPI library's handles of a file, and the views that they have. To open the file there is expensive (1
/// to 15 ms for 8 ranks on two cores), and so is setting a view (the libraries flatten the file type and
/// communicate: 1 to 3 ms); neither is of use to a program whose accesses the engine takes. So the library
/// opens the file, and gets the view, when it needs to:
///  - for a call that goes to the library and that all ranks make, the file's handle is opened and gets the
///    view;
///  - for a call of one rank, which cannot involve the others, the rank opens the file for itself
///    (MPI_COMM_SELF) and sets the view there. A view of all bytes, while the file's handle still has that
///    one on this rank, needs neither; nor does a file of one rank.
/// Until then the view is held back. Whether one is held back is the same on all ranks; where the file is not
/// open from the start, the view of all bytes is.
class LibraryHandles {
  public:
    LibraryHandles() = default;
    LibraryHandles(const LibraryHandles&) = delete;
    LibraryHandles& operator=(const LibraryHandles&) = delete;
    ~LibraryHandles();

    /// The library has opened the file: `facts.handle` is its handle. Local.
    void start(const FileFacts& facts);
    /// The library has not opened the file: it will, with `info` (of which a duplicate is kept). Local.
    void start_late(const FileFacts& facts, MPI_Info info);

    /// The file's handle; MPI_FILE_NULL as long as the library has not opened the file. Equal on all ranks in
    /// that.
    [[nodiscard]] MPI_File file() const noexcept { return file_; }

    /// The program's view is held back from now on. All ranks call it together, without communication.
    void hold_back(ViewArguments view);
    /// The program's view was set on the file's handle. Called as `hold_back`.
    void was_set(ViewArguments view);
    [[nodiscard]] bool is_view_held_back() const noexcept { return is_held_back_; }
    /// The program's view, held back or set.
    [[nodiscard]] const ViewArguments& view() const noexcept { return view_; }
    /// Opens the file's handle if it is not open, and sets the view that is held back on it. Collective.
    /// Returns an MPI error code; the handler of the file's handle has been called if that was open from the
    /// start.
    [[nodiscard]] int set_held_back_view();

    /// The handle for a call of this rank alone, with the program's view: the file's, or the rank's own,
    /// which is opened if needed. Local; any thread. Returns an MPI error code; a handler has been called if
    /// `handle` is the file's.
    [[nodiscard]] int handle_for_one_rank(MPI_File& handle);
    /// Returns the handle of the two that has the program's individual pointer, if the MPI library has it.
    [[nodiscard]] MPI_File handle_with_pointer();

    /// New hints for the file, which the file's handle has already: they replace those of the view that is
    /// held back, and the rank's own handle gets them too. Local. Returns an MPI error code; no handler is
    /// called.
    [[nodiscard]] int set_info(MPI_Info info);
    /// The hints that the file's handle has, or would have if it were open. Local. Returns an MPI error code;
    /// no handler is called.
    [[nodiscard]] int get_info(MPI_Info* info);
    /// Returns the MPI library's result for a view, by setting it on the rank's own handle. Local. No handler
    /// is called.
    [[nodiscard]] int try_view(const ViewArguments& view);
    /// MPI_File_sync for what this rank wrote by its own handle. Local. Returns an MPI error code; no handler
    /// is called.
    [[nodiscard]] int sync_own();
    /// Closes the rank's own handle. Local.
    void close_own();
    /// Closes the file's handle if it was opened late. Collective. Returns an MPI error code.
    [[nodiscard]] int close_late();

  private:
    /// How the library opens the file, if it does so late, and the rank's own handle.
    struct Opening {
        MPI_Comm comm = MPI_COMM_NULL;      ///< none where the file was open from the start
        MPI_Info info = MPI_INFO_NULL;      ///< to open it with
        MPI_Info new_info = MPI_INFO_NULL;  ///< to be set then
        std::string path;  ///< leads to the file that was opened, as long as the drop-in has it
        int mode = 0;      ///< reading, writing or both
        int num_ranks = 1;
    };

    [[nodiscard]] bool files_handle_will_do() const noexcept {
        return file_ != MPI_FILE_NULL && (!is_held_back_ || (view_.is_all_bytes() && file_is_all_bytes_));
    }
    [[nodiscard]] int open_own();  // mutex_ held
    /// Opens the file with its hints, which are not those of the view that is held back.
    [[nodiscard]] int open_as_file(MPI_Comm comm, const std::string& path, MPI_File& handle) const;
    [[nodiscard]] int set_on_file();  // mutex_ held
    void note_set();

    std::mutex mutex_;
    Opening opening_;
    MPI_File file_ = MPI_FILE_NULL, own_ = MPI_FILE_NULL;
    ViewArguments view_;                      ///< the program's
    std::atomic<bool> is_held_back_ = false;  ///< `view_` is
    bool file_is_all_bytes_ = true;           ///< the view that the file's handle has, on this rank
    bool own_is_set_ = false;                 ///< the rank's own handle has the view that is held back
};

}  // namespace hakobi::mpiio
