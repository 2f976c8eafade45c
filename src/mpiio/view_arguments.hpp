#pragma once

#include <hakobi/comm.hpp>

namespace hakobi::mpiio {

/// The arguments that a program gave MPI_File_set_view, for use after that call: derived types and the info
/// are duplicates, since the program may free its own; predefined types are themselves. All functions but
/// `set_on` are local. MPI must not be finalised while an object lives.
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

    /// Calls the MPI library's MPI_File_set_view, with arguments that mean the same where it would mistake
    /// these. Collective over the handle's communicator. Returns an MPI error code; the handle's error
    /// handler has been called.
    [[nodiscard]] int set_on(MPI_File handle, const char* representation = "native") const;
    [[nodiscard]] bool is_all_bytes() const noexcept {
        return displacement_ == 0 && etype_ == MPI_BYTE && filetype_ == MPI_BYTE;
    }
    /// The answers of MPI_File_get_view. The program frees the types that are derived. Returns an MPI error
    /// code.
    [[nodiscard]] int copy_to(MPI_Offset* displacement, MPI_Datatype* etype, MPI_Datatype* filetype) const;
    [[nodiscard]] MPI_Offset displacement() const noexcept { return displacement_; }
    [[nodiscard]] MPI_Info info() const noexcept { return info_; }
    /// Removes the hints that `newer` has a value for.
    void drop_hints(MPI_Info newer);

  private:
    MPI_Offset displacement_ = 0;
    MPI_Datatype etype_ = MPI_BYTE, filetype_ = MPI_BYTE;
    MPI_Info info_ = MPI_INFO_NULL;
};

}  // namespace hakobi::mpiio
