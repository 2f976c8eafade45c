!> Keeps the forces on boundary faces (the field boundary_forces), which only a Fortran module of the solver
!> can ask for.
subroutine usipsu(nmodpp)
    use entsor, only: ipstdv, ipstfo
    implicit none
    integer nmodpp
    ipstdv(ipstfo) = 1
end subroutine usipsu
