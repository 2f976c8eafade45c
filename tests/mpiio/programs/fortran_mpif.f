C     MPI-IO from Fortran 77: include 'mpif.h', handles are integers.
      program fortran_mpif
      implicit none
      include 'mpif.h'
      integer n
      parameter (n = 40)
      integer ierr, rank, size, fh, ftype, i, num
      integer sizes(2), subsizes(2), starts(2)
      integer status(MPI_STATUS_SIZE)
      integer (kind=MPI_OFFSET_KIND) disp, pos, bytes
      double precision a(n), b(n)
      character*200 path
      call MPI_Init(ierr)
      call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
      call MPI_Comm_size(MPI_COMM_WORLD, size, ierr)
      call getarg(1, path)
      call MPI_File_open(MPI_COMM_WORLD, path,
     &     MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, fh, ierr)
      if (ierr .ne. MPI_SUCCESS) call MPI_Abort(MPI_COMM_WORLD, 1, i)
      sizes(1) = 4 * size
      sizes(2) = 10
      subsizes(1) = 4
      subsizes(2) = 10
      starts(1) = 4 * rank
      starts(2) = 0
      call MPI_Type_create_subarray(2, sizes, subsizes, starts,
     &     MPI_ORDER_FORTRAN, MPI_DOUBLE_PRECISION, ftype, ierr)
      call MPI_Type_commit(ftype, ierr)
      disp = 16
      call MPI_File_set_view(fh, disp, MPI_DOUBLE_PRECISION, ftype,
     &     'native', MPI_INFO_NULL, ierr)
      do i = 1, n
         a(i) = rank * 100 + i
         b(i) = 0
      end do
      call MPI_File_write_all(fh, a, n, MPI_DOUBLE_PRECISION, status,
     &     ierr)
      call MPI_Get_count(status, MPI_DOUBLE_PRECISION, num, ierr)
      if (num .ne. n) call MPI_Abort(MPI_COMM_WORLD, 2, i)
      call MPI_File_get_position(fh, pos, ierr)
      if (pos .ne. n) call MPI_Abort(MPI_COMM_WORLD, 3, i)
      pos = n
      call MPI_File_write_at_all(fh, pos, a, n, MPI_DOUBLE_PRECISION,
     &     MPI_STATUS_IGNORE, ierr)
      call MPI_File_sync(fh, ierr)
      call MPI_Barrier(MPI_COMM_WORLD, ierr)
      pos = 0
      call MPI_File_seek(fh, pos, MPI_SEEK_SET, ierr)
      call MPI_File_read_all_begin(fh, b, n, MPI_DOUBLE_PRECISION, ierr)
      call MPI_File_read_all_end(fh, b, status, ierr)
      do i = 1, n
         if (a(i) .ne. b(i)) call MPI_Abort(MPI_COMM_WORLD, 4, num)
      end do
      call MPI_File_sync(fh, ierr)
      call MPI_File_get_size(fh, bytes, ierr)
      if (rank .eq. 0) print *, 'bytes', bytes
      call MPI_File_close(fh, ierr)
      call MPI_Type_free(ftype, ierr)
      call MPI_Finalize(ierr)
      end
