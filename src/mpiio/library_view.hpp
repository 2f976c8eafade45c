#pragma once

#include <atomic>
#include <hakobi/comm.hpp>
#include <mutex>
#include <string>

namespace hakobi::mpiio {

/// What a symbolic link leads to; empty where it is none.
[[nodiscard]] std::string target_of(const std::string& link);

/// Names that every library can open: OMPIO appends to them in 256 bytes.
inline constexpr std::size_t longest_name = 230;

/// What a program gave MPI_File_set_view, beyond the call: derived types and info are duplicates, since the program may
/// free its own; predefined types are themselves. Local; the MPI library must be there while one lives.
class ViewArguments {
  public:
    /// All bytes: the view of a file that was just opened.
    ViewArguments() = default;
    ViewArguments(MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype, MPI_Info info);
    ViewArguments(ViewArguments&& other) noexcept;
    ViewArguments& operator=(ViewArguments&& other) noexcept;
    ViewArguments(const ViewArguments&) = delete;
    ViewArguments& operator=(const ViewArguments&) = delete;
    ~ViewArguments();

    /// The MPI library's MPI_File_set_view, with arguments that say the same where it would mistake these; collective over the
    /// handle's communicator.
    [[nodiscard]] int set_on(MPI_File handle, const char* representation = "native") const;
    [[nodiscard]] bool is_all_bytes() const noexcept {
        return displacement_ == 0 && etype_ == MPI_BYTE && filetype_ == MPI_BYTE;
    }
    [[nodiscard]] MPI_Info info() const noexcept { return info_; }
    /// Forgets what `newer` has a value for.
    void drop_hints(MPI_Info newer);

  private:
    MPI_Offset displacement_ = 0;
    MPI_Datatype etype_ = MPI_BYTE, filetype_ = MPI_BYTE;
    MPI_Info info_ = MPI_INFO_NULL;
};

/// The MPI library's side of a file: its handle, and the view there. To open the file there is dear (1 to 15 ms of 8 ranks on
/// two cores), and to set a view  (the libraries flatten the file type and talk to each other: 1 to 3 ms), and of no use to a program whose
/// accesses the engine takes. So the library opens the file, and gets the view, when it needs to:
///  - by a call that passes and that all ranks make: the file's handle is opened and gets it;
///  - by a call of one rank, which cannot bring the others along: the rank opens the file for itself
///    (MPI_COMM_SELF) and sets the view there. A view of all bytes, while the file's handle still has that one on
///    this rank, needs neither; nor does a file of one rank.
/// Whether a view is waiting is the same on all ranks. One of all bytes does from the start where the file is not open.
class LibraryView {
  public:
    /// `handle` is the file's, of `num_ranks`; `path` leads to the same file as long as it is open.
    void start(MPI_File handle, int num_ranks, std::string path, int mode);
    /// The library has not opened the file: it will, on `comm`, with `info` (of which a duplicate is kept).
    void start_late(MPI_Comm comm, MPI_Info info, int num_ranks, std::string path, int mode);
    ~LibraryView();
    LibraryView() = default;
    LibraryView(const LibraryView&) = delete;
    LibraryView& operator=(const LibraryView&) = delete;

    /// MPI_FILE_NULL as long as the library has not opened the file. Equal on all ranks in that.
    [[nodiscard]] MPI_File file() const noexcept { return file_; }

    /// The program's view waits from now on. All ranks do it together, without talking.
    void keep(ViewArguments arguments);
    /// The program's view was set on the file's handle. As `keep`.
    void was_set(const ViewArguments& arguments);
    [[nodiscard]] bool is_waiting() const noexcept { return is_waiting_; }
    /// What waits.
    [[nodiscard]] const ViewArguments& waiting() const noexcept { return waiting_; }

    /// Opens the file's handle where it is not, and sets the view that waits on it. Collective. Returns an MPI error code;
    /// the file's handle has had its handler called, if it was open from the start.
    [[nodiscard]] int set_on_file();
    /// The handle for a call of this rank alone: the file's, or the rank's own. Local; any thread. Returns an MPI
    /// error code; a handler has been called where `handle` is the file's.
    [[nodiscard]] int alone(MPI_File& handle);
    /// The one of the two that has the program's individual pointer, if the MPI library has it.
    [[nodiscard]] MPI_File in_force();

    /// New hints for the file, which the file's handle has already: they come after those of the view that waits, and
    /// the rank's own handle gets them too. Local. Returns an MPI error code; no handler is called.
    [[nodiscard]] int set_info(MPI_Info info);
    /// The hints that the file's handle has, or would have if it were open. Local. Returns an MPI error code; no handler is
    /// called.
    [[nodiscard]] int get_info(MPI_Info* info);
    /// What the MPI library says of arguments: by the rank's own handle. Local. Returns an MPI error code; no handler
    /// is called.
    [[nodiscard]] int verdict(const ViewArguments& arguments);
    /// Makes last what this rank wrote by its own handle. Local.
    [[nodiscard]] int sync_own();
    /// Closes the rank's own handle. Local.
    void close_own();
    /// Closes the file's, where it was opened late. Collective. Returns an MPI error code.
    [[nodiscard]] int close_late();

  private:
    [[nodiscard]] bool files_handle_will_do() const noexcept {
        return file_ != MPI_FILE_NULL && (!is_waiting_ || (waiting_.is_all_bytes() && file_is_all_bytes_));
    }
    [[nodiscard]] int open_own();  // mutex_ held
    /// Opens the file with its hints, which are not the waiting view's.
    [[nodiscard]] int open_as_file(MPI_Comm comm, const std::string& path, MPI_File& handle) const;
    [[nodiscard]] int set_waiting();

    std::mutex mutex_;
    MPI_File file_ = MPI_FILE_NULL, own_ = MPI_FILE_NULL;
    MPI_Comm comm_ = MPI_COMM_NULL;      ///< to open the file on; none where it was open from the start
    MPI_Info info_ = MPI_INFO_NULL;      ///< to open it with
    MPI_Info new_info_ = MPI_INFO_NULL;  ///< to be set then
    std::string path_;
    int num_ranks_ = 1, mode_ = 0;
    ViewArguments waiting_;
    std::atomic<bool> is_waiting_ = false;
    bool file_is_all_bytes_ = true;  ///< the view that the file's handle has, on this rank
    bool own_is_set_ = false;        ///< the rank's own handle has the view that waits
};

}  // namespace hakobi::mpiio
