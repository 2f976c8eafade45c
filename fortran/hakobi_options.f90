!> An output's options and a field's definition as C takes them. For the modules hakobi and
!> hakobi_outputs_module, not for users.
module hakobi_options
    use, intrinsic :: iso_fortran_env, only: int64
    use hakobi_c
    use hakobi_values
    implicit none

    !> An output's options, and what C is lent of them.
    type :: output_options_for_c
        type(output_options_c) :: options
        character(kind=c_char), allocatable :: method(:), format(:), title(:), time_units(:), calendar(:), compression(:)
        character(kind=c_char), allocatable :: stage(:), store_as(:)
        type(attributes_for_c) :: attributes
        type(axes_for_c) :: axes
        type(hints_for_c) :: hints
    end type

    !> A field's definition, and what C is lent of it.
    type :: definition_for_c
        type(field_definition_c) :: definition
        type(texts_for_c) :: texts
        character(kind=c_char), allocatable :: store_as(:)
        integer(int64), allocatable :: extents(:)
    end type

contains

    !> "fail", "replace" or "resume" as C has it. `refused`: why it is none.
    subroutine lend_if_exists(if_exists, value, refused)
        character(len=*), intent(in), optional :: if_exists
        integer(c_int), intent(inout) :: value
        character(len=:), allocatable, intent(inout) :: refused
        if (.not. present(if_exists)) return
        value = findloc([character(len=7) :: "replace", "resume"], if_exists, dim=1)
        if (value == hakobi_if_exists_fail .and. if_exists /= "fail") &
            refused = "if_exists is '"//trim(if_exists)//"', not fail, replace or resume"
    end subroutine

    !> `axes`, `attributes` and `made` stay while C looks at it. `refused`: why there are no such options, or
    !> "".
    subroutine lend_output_options(made, refused, method, axes, title, time_units, sync, asynchronous, writer_stride, &
                                   buffer_bytes, keep_pieces, hints, if_exists, format, compression, significant_bits, &
                                   asynchronous_bytes, attributes, overview, calendar, steps_per_file, stage, stage_bytes, &
                                   stage_bytes_s, stage_patience_s, store_as)
        type(output_options_for_c), intent(inout), target :: made
        character(len=:), allocatable, intent(out) :: refused
        character(len=*), intent(in), optional :: method, title, time_units, calendar, hints, if_exists, format, compression
        character(len=*), intent(in), optional :: stage, store_as
        type(hakobi_axis), intent(in), optional, target :: axes(:)
        type(hakobi_attribute), intent(in), optional, target :: attributes(:)
        logical, intent(in), optional :: sync, asynchronous, keep_pieces, overview
        integer, intent(in), optional :: writer_stride, significant_bits
        integer(int64), intent(in), optional :: buffer_bytes, asynchronous_bytes, steps_per_file
        integer(int64), intent(in), optional :: stage_bytes, stage_bytes_s, stage_patience_s

        refused = ""
        associate (options => made%options)
            call lend_text(method, made%method, options%method)
            call lend_text(format, made%format, options%format)
            call lend_text(title, made%title, options%title)
            call lend_text(time_units, made%time_units, options%time_units)
            call lend_text(calendar, made%calendar, options%calendar)
            call lend_text(compression, made%compression, options%compression)
            call lend_text(store_as, made%store_as, options%store_as)
            if (present(significant_bits)) options%significant_bits = int(significant_bits, c_int)
            if (present(writer_stride)) options%writer_stride = int(writer_stride, c_int)
            if (present(buffer_bytes)) options%buffer_bytes = buffer_bytes
            if (present(asynchronous_bytes)) options%asynchronous_bytes = asynchronous_bytes
            if (present(steps_per_file)) options%steps_per_file = steps_per_file
            call lend_text(stage, made%stage, options%stage)
            if (present(stage_bytes)) options%stage_bytes = stage_bytes
            if (present(stage_bytes_s)) options%stage_bytes_s = stage_bytes_s
            if (present(stage_patience_s)) then
                options%stage_patience_s = stage_patience_s
                if (stage_patience_s == 0) options%stage_patience_s = hakobi_no
            end if
            options%sync = yes_or_no(sync)
            options%asynchronous = yes_or_no(asynchronous)
            options%overview = yes_or_no(overview)
            options%keep_pieces = yes_or_no(keep_pieces)
            call lend_if_exists(if_exists, options%if_exists, refused)
            if (present(hints)) then
                call put_hints(hints, made%hints, refused)
                options%num_hints = size(made%hints%entries, kind=c_int64_t)
                if (size(made%hints%entries) > 0) options%hints = c_loc(made%hints%entries)
            end if
            if (present(attributes)) then
                call put_attributes(attributes, made%attributes)
                options%num_attributes = size(attributes, kind=c_int64_t)
                if (size(attributes) > 0) options%attributes = c_loc(made%attributes%entries)
            end if
            if (present(axes)) then
                call put_axes(axes, made%axes)
                options%num_axes = size(axes, kind=c_int64_t)
                if (size(axes) > 0) options%axes = c_loc(made%axes%entries)
            end if
        end associate
    end subroutine

    !> As lend_output_options; `field` gets the name. `refused` follows "field x: ".
    subroutine lend_definition(made, field, refused, name, units, global, type, long_name, standard_name, dims, compression, &
                               significant_bits, attributes, fill_value, coordinates, is_static, on, components, store_as)
        type(definition_for_c), intent(inout), target :: made
        type(hakobi_field_id), intent(inout) :: field
        character(len=:), allocatable, intent(out) :: refused
        character(len=*), intent(in) :: name
        character(len=*), intent(in), optional :: units, long_name, standard_name, dims, compression, coordinates, on, store_as
        integer(int64), intent(in), optional :: global(:)
        integer(c_int), intent(in), optional :: type
        integer, intent(in), optional :: significant_bits, components
        type(hakobi_attribute), intent(in), optional, target :: attributes(:)
        type(*), intent(in), optional, target :: fill_value(..)
        logical, intent(in), optional :: is_static

        refused = ""
        field%name = trim(name)
        associate (definition => made%definition, texts => made%texts)
            definition%type = hakobi_float64
            if (present(type)) definition%type = type
            if (present(global)) then
                made%extents = global(size(global):1:-1)
                definition%num_dims = size(global, kind=c_int)
                if (size(global) > 0) definition%global = c_loc(made%extents)
            end if
            if (present(significant_bits)) definition%significant_bits = int(significant_bits, c_int)
            if (present(components)) definition%num_components = int(components, c_int)
            if (present(on)) then
                definition%on = findloc([character(len=6) :: "points", "cells"], on, dim=1)
                if (definition%on == 0) refused = "it is on "//on//", not on points or cells"
                field%is_on_mesh = .true.
            end if
            definition%is_static = yes_or_no(is_static)
            if (present(fill_value)) call lend_fill(fill_value, definition%type, definition%fill_value, refused)
            call lend_texts(texts, name, units, long_name, standard_name, dims, compression, coordinates, attributes)
            definition%name = texts%name_at
            definition%units = texts%units_at
            definition%long_name = texts%long_name_at
            definition%standard_name = texts%standard_name_at
            definition%dims = texts%dims_at
            definition%compression = texts%compression_at
            call lend_text(store_as, made%store_as, definition%store_as)
            definition%coordinates = texts%coordinates_at
            definition%attributes = texts%attributes_at
            definition%num_attributes = texts%num_attributes
        end associate
    end subroutine
end module
