! SPDX-License-Identifier: Apache-2.0
module physics_2d
contains
    subroutine Time_Step(n)
        integer :: n
        n = n + 1
    end subroutine
    function energy(n) result(e)
        integer :: n, e
        e = n * 2
    end function
end module
program names
    use physics_2d
    integer :: n
    n = 1
    call time_step(n)
    if (energy(n) /= 4) stop 1
end program
