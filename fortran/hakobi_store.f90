!> The field store in Fortran: the calls of hakobi/store.hpp over the C interface (hakobi_store.h). No MPI in
!> it.
!>
!>     type(hakobi_store) :: store
!>     call store%open("forecast", schema="weather")
!>     call store%archive("class=od,...,step=24,param=t", t)      ! t(:) or t(:,:): its form is kept as C order has it
!>     call store%flush()
!>     n = store%count("param=t,step=0/to/24/by/6")
!>     call store%retrieve("class=od,...,step=24,param=t", t)
!>     call store%close()
!>
!> Errors as in the module hakobi: with stat= the code is there and the text in errmsg=, without it the
!> program stops.
module hakobi_store_module
    use, intrinsic :: iso_c_binding
    use, intrinsic :: iso_fortran_env, only: int64, real32, real64
    use hakobi_c_interface
    use hakobi_c, only: lend_text, report, yes_or_no
    implicit none
    private
    public :: hakobi_store

    !> A field store. A copy names the same object; nothing is closed without `close`.
    type :: hakobi_store
        private
        type(c_ptr) :: handle = c_null_ptr
    contains
        procedure :: open => store_open
        generic :: archive => archive_real64_1, archive_real64_2, archive_real32_1, archive_real32_2
        procedure :: flush => store_flush
        procedure :: count => store_count
        generic :: retrieve => retrieve_real64_1, retrieve_real64_2, retrieve_real32_1, retrieve_real32_2
        procedure :: close => store_close
        procedure, private :: archive_real64_1, archive_real64_2, archive_real32_1, archive_real32_2
        procedure, private :: retrieve_real64_1, retrieve_real64_2, retrieve_real32_1, retrieve_real32_2
    end type

contains

    !> Opens the store at `path`, or makes one. The others are the fields of hakobi::StoreOptions, with the
    !> same defaults.
    subroutine store_open(self, path, schema, writer, asynchronous, num_buffers, buffer_bytes, num_threads, pad_bytes, sync, &
                          sync_directory, huge_pages, direct, stat, errmsg)
        class(hakobi_store), intent(inout) :: self
        character(len=*), intent(in) :: path
        character(len=*), intent(in), optional :: schema, writer
        logical, intent(in), optional :: asynchronous, sync, sync_directory, huge_pages, direct
        integer, intent(in), optional :: num_buffers, num_threads
        integer(int64), intent(in), optional :: buffer_bytes, pad_bytes
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        type(store_options_c) :: options
        character(kind=c_char), allocatable, target :: c_schema(:), c_writer(:)
        call lend_text(schema, c_schema, options%schema)
        call lend_text(writer, c_writer, options%writer)
        options%asynchronous = yes_or_no(asynchronous)
        options%sync = yes_or_no(sync)
        options%sync_directory = yes_or_no(sync_directory)
        options%huge_pages = yes_or_no(huge_pages)
        options%direct = yes_or_no(direct)
        if (present(num_buffers)) options%num_buffers = int(num_buffers, c_int)
        if (present(num_threads)) options%num_threads = int(num_threads, c_int)
        if (present(buffer_bytes)) options%buffer_bytes = buffer_bytes
        if (present(pad_bytes)) options%pad_bytes = pad_bytes
        call report(c_store_open(trim(path)//c_null_char, options, self%handle), stat, errmsg)
    end subroutine

    ! "float64[ny,nx]" for an array (nx, ny): the slowest dimension first.
    function form_of(type, extents) result(form)
        character(len=*), intent(in) :: type
        integer(int64), intent(in) :: extents(:)
        character(len=:), allocatable :: form
        character(len=24) :: number
        integer :: i
        form = type//"["
        do i = size(extents), 1, -1
            write (number, "(i0)") extents(i)
            form = form//trim(number)
            if (i > 1) form = form//","
        end do
        form = form//"]"
    end function

    subroutine archive_real64_1(self, key, values, stat, errmsg)
        class(hakobi_store), intent(in) :: self
        character(len=*), intent(in) :: key
        real(real64), intent(in), contiguous, target :: values(:)
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        call report(c_store_archive(self%handle, trim(key)//c_null_char, c_loc(values), 8*size(values, kind=c_int64_t), &
                              form_of("float64", shape(values, int64))//c_null_char), stat, errmsg)
    end subroutine

    subroutine archive_real64_2(self, key, values, stat, errmsg)
        class(hakobi_store), intent(in) :: self
        character(len=*), intent(in) :: key
        real(real64), intent(in), contiguous, target :: values(:, :)
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        call report(c_store_archive(self%handle, trim(key)//c_null_char, c_loc(values), 8*size(values, kind=c_int64_t), &
                              form_of("float64", shape(values, int64))//c_null_char), stat, errmsg)
    end subroutine

    subroutine archive_real32_1(self, key, values, stat, errmsg)
        class(hakobi_store), intent(in) :: self
        character(len=*), intent(in) :: key
        real(real32), intent(in), contiguous, target :: values(:)
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        call report(c_store_archive(self%handle, trim(key)//c_null_char, c_loc(values), 4*size(values, kind=c_int64_t), &
                              form_of("float32", shape(values, int64))//c_null_char), stat, errmsg)
    end subroutine

    subroutine archive_real32_2(self, key, values, stat, errmsg)
        class(hakobi_store), intent(in) :: self
        character(len=*), intent(in) :: key
        real(real32), intent(in), contiguous, target :: values(:, :)
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        call report(c_store_archive(self%handle, trim(key)//c_null_char, c_loc(values), 4*size(values, kind=c_int64_t), &
                              form_of("float32", shape(values, int64))//c_null_char), stat, errmsg)
    end subroutine

    !> Makes everything archived durable and visible.
    subroutine store_flush(self, stat, errmsg)
        class(hakobi_store), intent(in) :: self
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        call report(c_store_flush(self%handle), stat, errmsg)
    end subroutine

    !> How many fields a request selects; -1 after an error that stat= tells.
    function store_count(self, request, stat, errmsg) result(count)
        class(hakobi_store), intent(in) :: self
        character(len=*), intent(in) :: request
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        integer(int64) :: count
        type(c_ptr) :: listing
        integer(c_int) :: code
        count = -1
        code = c_store_list(self%handle, trim(request)//c_null_char, c_null_ptr, listing)
        call report(code, stat, errmsg)
        if (code /= 0) return
        count = c_listing_size(listing)
        call c_listing_free(listing)
    end function

    ! The key's field fills `values`: their sizes are equal, or the call is refused.
    subroutine retrieve_real64_1(self, key, values, stat, errmsg)
        class(hakobi_store), intent(in) :: self
        character(len=*), intent(in) :: key
        real(real64), intent(inout), contiguous, target :: values(:)
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        call report(c_store_retrieve_one(self%handle, trim(key)//c_null_char, c_loc(values), &
                    8*size(values, kind=c_int64_t)), stat, errmsg)
    end subroutine

    subroutine retrieve_real64_2(self, key, values, stat, errmsg)
        class(hakobi_store), intent(in) :: self
        character(len=*), intent(in) :: key
        real(real64), intent(inout), contiguous, target :: values(:, :)
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        call report(c_store_retrieve_one(self%handle, trim(key)//c_null_char, c_loc(values), &
                    8*size(values, kind=c_int64_t)), stat, errmsg)
    end subroutine

    subroutine retrieve_real32_1(self, key, values, stat, errmsg)
        class(hakobi_store), intent(in) :: self
        character(len=*), intent(in) :: key
        real(real32), intent(inout), contiguous, target :: values(:)
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        call report(c_store_retrieve_one(self%handle, trim(key)//c_null_char, c_loc(values), &
                    4*size(values, kind=c_int64_t)), stat, errmsg)
    end subroutine

    subroutine retrieve_real32_2(self, key, values, stat, errmsg)
        class(hakobi_store), intent(in) :: self
        character(len=*), intent(in) :: key
        real(real32), intent(inout), contiguous, target :: values(:, :)
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        call report(c_store_retrieve_one(self%handle, trim(key)//c_null_char, c_loc(values), &
                    4*size(values, kind=c_int64_t)), stat, errmsg)
    end subroutine

    !> Drops what was not flushed, closes and releases the store.
    subroutine store_close(self, stat, errmsg)
        class(hakobi_store), intent(inout) :: self
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        integer(c_int) :: code
        code = c_store_close(self%handle)
        call c_store_free(self%handle)
        self%handle = c_null_ptr
        call report(code, stat, errmsg)
    end subroutine

end module
