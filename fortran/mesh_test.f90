! Invalid meshes from Fortran: end_step reports them, and nothing stops before.
program mesh_test
    use, intrinsic :: iso_fortran_env, only: int8, int64, real32, real64
    use mpi
    use hakobi
    implicit none
    type(hakobi_comm) :: comm
    real(real64), target :: points(3, 4) = reshape([0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1], [3, 4])
    real(real64), target :: turned(4, 3) = 0, wide(6, 4) = 0, p(1) = 7, u(3, 2) = 1
    integer, target :: connectivity(4) = [1, 2, 3, 4], from_zero(4) = [0, 1, 2, 3], offsets(2) = [0, 4]
    integer(int8), target :: types(1) = 10_int8, ghosts(2) = 0_int8
    integer, target :: wide_types(1) = 10
    integer :: error, num_wrong = 0

    call MPI_Init(error)
    call comm%duplicate(MPI_COMM_WORLD)
    call expect(1, "")
    call expect(2, "its points have not the shape (3, points)")
    call expect(3, "its points are not contiguous")
    call expect(4, "its types are of another type")
    call expect(5, "its offsets are not one more than its types")
    call expect(6, "its ghosts are not as many as its types")
    call expect(7, "names point 0")
    call expect(8, "its motion is not fixed, moves or changes")
    call expect(9, "values, and the mesh")
    call expect(10, "field p: a field on points or cells has an array")
    call comm%free()
    call MPI_Finalize(error)
    if (num_wrong > 0) error stop "wrong"

contains

    !> One step with mistake `number` (1: none); its error has `words` in it.
    subroutine expect(number, words)
        integer, intent(in) :: number
        character(len=*), intent(in) :: words
        type(hakobi_output) :: out
        character(len=500) :: text
        integer :: stat
        call out%create(comm, "mesh_test", format="vtkhdf", method="root", if_exists="replace", asynchronous=.false.)
        call out%begin_step(0.0_real64)
        select case (number)
        case (2)
            call out%put_mesh(turned, connectivity, offsets, types)
        case (3)
            call out%put_mesh(wide(1:6:2, :), connectivity, offsets, types)
        case (4)
            call out%put_mesh(points, connectivity, offsets, wide_types)
        case (5)
            call out%put_mesh(points, connectivity, offsets(:1), types)
        case (6)
            call out%put_mesh(points, connectivity, offsets, types, ghosts=ghosts)
        case (7)
            call out%put_mesh(points, from_zero, offsets, types)
        case (8)
            call out%put_mesh(points, connectivity, offsets, types, motion="turns")
        case default
            call out%put_mesh(points, connectivity, offsets, types)
        end select
        select case (number)
        case (9)
            call out%put("U", "m s-1", hakobi_block(), u, on="cells")
        case (10)
            call out%put("p", "Pa", hakobi_block(), p, on="faces")
        case default
            call out%put("p", "Pa", hakobi_block(), p, on="cells")
        end select
        text = ""
        call out%end_step(stat=stat, errmsg=text)
        if ((stat == 0) .neqv. (number == 1) .or. index(text, words) == 0) then
            print "(a,i0,a,i0,2a)", "mistake ", number, " gives ", stat, ": ", trim(text)
            num_wrong = num_wrong + 1
        end if
        call out%close()
    end subroutine
end program
