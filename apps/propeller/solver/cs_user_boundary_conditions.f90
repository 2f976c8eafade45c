!> Nothing: cs_user_boundary_conditions.c has the conditions. The solver's own version of this subroutine
!> stops the run.
subroutine cs_f_user_boundary_conditions(nvar, nscal, icodcl, itrifb, itypfb, izfppp, dt, rcodcl)
    implicit none
    integer nvar, nscal
    integer icodcl(*), itrifb(*), itypfb(*), izfppp(*)
    double precision dt(*), rcodcl(*)
end subroutine cs_f_user_boundary_conditions
