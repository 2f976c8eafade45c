! The store's module: what is archived comes back, and errors are told.
program store_test
    use, intrinsic :: iso_fortran_env, only: int64, real64
    use hakobi_store_module
    implicit none
    type(hakobi_store) :: store
    character(len=*), parameter :: path = "store_test.store"
    character(len=*), parameter :: rest = "case=dam,run=1,variable=eta,step="
    real(real64) :: eta(4, 3), found(4, 3)
    character(len=200) :: text
    integer :: i, code

    call execute_command_line("rm -rf "//path)
    call store%open(path, schema="flow")
    eta = reshape([(real(i, real64), i=1, 12)], [4, 3])
    call store%archive(rest//"1", eta)
    call store%archive(rest//"2", 2*eta)
    call store%flush()
    if (store%count("step=1/to/2") /= 2_int64) error stop "wrong: count"
    call store%retrieve(rest//"2", found)
    if (any(found /= 2*eta)) error stop "wrong: values"
    call store%retrieve(rest//"3", found, stat=code, errmsg=text)
    if (code == 0 .or. index(text, "no field") == 0) error stop "wrong: a field that is not there"
    call store%archive("case=dam", eta, stat=code, errmsg=text)
    if (code == 0 .or. index(text, "missing") == 0) error stop "wrong: a key that is not whole"
    call store%close()
    call execute_command_line("rm -rf "//path)
    print "(a)", "right"
end program
