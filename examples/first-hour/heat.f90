! Heat in a square plate whose edges are kept at 0, cut into columns for the ranks.
program solver
    use mpi
    use hakobi
    use hakobi_input_module
    implicit none
    integer, parameter :: n = 400
    character(1000) :: prefix = "heat", method = "auto", json = ""
    character(7) :: if_exists = "fail"
    type(hakobi_comm) :: comm
    type(hakobi_block) :: block
    type(hakobi_output) :: out
    type(hakobi_field_id) :: field
    type(hakobi_input) :: in
    integer(8), allocatable :: steps(:)
    integer :: unit
    real(8) :: begin_s
    real(8), allocatable :: heat(:, :), next(:, :)
    real(8) :: mine, hottest
    character(1000) :: name, value
    integer :: num_steps = 20, rank, ranks, step, first, columns, before, behind, i, j, k, error
    call MPI_Init(error)
    do i = 1, command_argument_count()
        call get_command_argument(i, name)
        call get_command_argument(i + 1, value)
        if (name == "--steps") read (value, *) num_steps
        if (name == "--output") prefix = value
        if (name == "--method") method = value
        if (name == "--json") json = value
        if (name == "--resume") if_exists = "resume"
    end do
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)

    ! This rank's columns, and one more on each side: a neighbour's, or the edge.
    first = n*rank/ranks
    columns = n*(rank + 1)/ranks - first
    before = merge(rank - 1, MPI_PROC_NULL, rank > 0)
    behind = merge(rank + 1, MPI_PROC_NULL, rank < ranks - 1)
    allocate (heat(n, 0:columns + 1), next(n, 0:columns + 1), source=0d0)
    do j = 1, columns
        if (first + j > n/4 .and. first + j <= n/2) heat(n/4 + 1:n/2, j) = 100
    end do
    step = 0

    call comm%duplicate(MPI_COMM_WORLD)
    block%num_dims = 2
    block%global(1:2) = [n, n]
    block%start(1:2) = [1, first + 1]
    block%count(1:2) = [n, columns]
    call out%create(comm, prefix, method=method, if_exists=if_exists)
    field = out%define("heat", "K", [n, n])

    if (if_exists == "resume") then
        call in%open(comm, prefix)
        call in%read("heat", -1_8, block, heat(:, 1:columns))
        steps = in%steps()
        step = int(steps(size(steps))) + 1
        call in%close()
    end if

    begin_s = MPI_Wtime()

    do while (step < num_steps)
        do k = 1, 1000
            call MPI_Sendrecv(heat(:, 1), n, MPI_DOUBLE_PRECISION, before, 0, heat(:, columns + 1), n, &
                              MPI_DOUBLE_PRECISION, behind, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
            call MPI_Sendrecv(heat(:, columns), n, MPI_DOUBLE_PRECISION, behind, 0, heat(:, 0), n, &
                              MPI_DOUBLE_PRECISION, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
            do j = 1, columns
                do i = 2, n - 1
                    next(i, j) = heat(i, j) + 0.2d0*(heat(i, j - 1) + heat(i, j + 1) + heat(i - 1, j) + &
                                                     heat(i + 1, j) - 4*heat(i, j))
                end do
            end do
            heat(:, 1:columns) = next(:, 1:columns)
        end do
        step = step + 1
        call out%begin_step(1000d0*step)
        call out%put(field, block, heat(:, 1:columns))
        call out%end_step()
    end do

    call out%close()

    if (rank == 0 .and. json /= "") then
        open (newunit=unit, file=json, position="append")
        write (unit, '(a, es13.6, a)') '{"time_s": ', MPI_Wtime() - begin_s, '}'
        close (unit)
    end if

    call comm%free()
    mine = maxval(heat(:, 1:columns))
    call MPI_Reduce(mine, hottest, 1, MPI_DOUBLE_PRECISION, MPI_MAX, 0, MPI_COMM_WORLD, error)
    if (rank == 0) print '(i0, a, f0.6, a)', step, " steps: the hottest place has ", hottest, " K"
    call MPI_Finalize(error)
end program
