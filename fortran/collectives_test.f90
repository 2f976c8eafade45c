! Sums, a broadcast and what is refused, by the module hakobi_collectives.
program collectives_test
    use, intrinsic :: iso_c_binding
    use, intrinsic :: iso_fortran_env, only: int64, real64
    use mpi
    use hakobi
    use hakobi_collectives
    implicit none
    type(hakobi_comm) :: comm
    type(hakobi_collective_group) :: group
    type(hakobi_collective_plan) :: plan
    complex(real64), target :: local(2), global(2)
    integer, target :: number
    integer :: error, code, num
    character(len=200) :: text
    call MPI_Init(error)
    call comm%duplicate(MPI_COMM_WORLD)
    num = comm%size()
    call group%create(comm, "nodes", reproducible=.true.)
    call group%allreduce(plan, hakobi_complex128, hakobi_sum, 2_int64)
    local = [cmplx(comm%rank() + 1, -1, real64), cmplx(0, 2, real64)]
    call plan%execute(c_loc(local), c_loc(global))
    if (global(1) /= cmplx(num*(num + 1)/2, -num, real64) .or. global(2) /= cmplx(0, 2*num, real64)) &
        error stop "wrong: the sum"
    if (index(plan%explain(), "allreduce of 32 B: ours") /= 1) error stop "wrong: the explanation"
    call plan%free()
    call group%broadcast(plan, 4_int64, num - 1)
    number = comm%rank()
    call plan%start(c_null_ptr, c_loc(number))
    call plan%wait()
    if (number /= num - 1) error stop "wrong: the broadcast"
    call plan%free()
    text = ""
    call group%allgather(plan, -1_int64, stat=code, errmsg=text)
    if (code == 0 .or. index(text, "negative") == 0) error stop "wrong: a negative size is taken"
    call group%free()
    call group%create(comm, "torus:99", stat=code)
    if (code == 0) error stop "wrong: a topology of another size is taken"
    call comm%free()
    call MPI_Finalize(error)
end program
