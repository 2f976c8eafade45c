#include "device/copy_list.hpp"

namespace hakobi::device {

// PTX ISA 6.0 for any device since Maxwell: the driver compiles it for the one that it has. Offsets within
// Tile are those of copy_list.hpp. A block's threads take its units in turn, so that neighbouring threads
// touch neighbouring bytes.
const char* copy_kernel_ptx() {
    return R"(.version 6.0
.target sm_50
.address_size 64

.visible .entry hakobi_copy_tiles(.param .u64 tiles)
{
    .reg .pred %done, %is16, %is8, %is4, %is2;
    .reg .b16 %small;
    .reg .b32 %block, %thread, %step, %i, %end, %row_units, %num_rows, %unit;
    .reg .b32 %row, %plane, %column, %whole, %w<4>;
    .reg .b64 %tile, %to, %from, %to_row, %from_row, %to_plane, %from_plane;
    .reg .b64 %wide_row, %wide_plane, %in_row, %a, %b, %double;

    // The tile of this block.
    ld.param.u64 %tile, [tiles];
    cvta.to.global.u64 %tile, %tile;
    mov.u32 %block, %ctaid.x;
    mad.wide.u32 %tile, %block, 80, %tile;
    ld.global.v2.u64 {%to, %from}, [%tile];
    ld.global.v2.u64 {%to_row, %from_row}, [%tile+16];
    ld.global.v2.u64 {%to_plane, %from_plane}, [%tile+32];
    ld.global.v4.u32 {%i, %end, %row_units, %num_rows}, [%tile+48];
    ld.global.u32 %unit, [%tile+64];
    cvta.to.global.u64 %to, %to;
    cvta.to.global.u64 %from, %from;
    setp.eq.u32 %is16, %unit, 16;
    setp.eq.u32 %is8, %unit, 8;
    setp.eq.u32 %is4, %unit, 4;
    setp.eq.u32 %is2, %unit, 2;

    // The first unit of this thread, and how far its next one is.
    mov.u32 %thread, %tid.x;
    mov.u32 %step, %ntid.x;
    add.u32 %i, %i, %thread;

next:
    setp.ge.u32 %done, %i, %end;
    @%done bra finished;

    // Unit i: which row of all, which column in it, then which plane, and which row of that.
    div.u32 %row, %i, %row_units;
    mul.lo.u32 %whole, %row, %row_units;
    sub.u32 %column, %i, %whole;
    div.u32 %plane, %row, %num_rows;
    mul.lo.u32 %whole, %plane, %num_rows;
    sub.u32 %row, %row, %whole;

    // Its addresses: %a where it is read, %b where it is written.
    cvt.u64.u32 %wide_row, %row;
    cvt.u64.u32 %wide_plane, %plane;
    mul.wide.u32 %in_row, %column, %unit;
    add.u64 %a, %from, %in_row;
    mad.lo.u64 %a, %wide_row, %from_row, %a;
    mad.lo.u64 %a, %wide_plane, %from_plane, %a;
    add.u64 %b, %to, %in_row;
    mad.lo.u64 %b, %wide_row, %to_row, %b;
    mad.lo.u64 %b, %wide_plane, %to_plane, %b;

    // The copy; all threads of a block take the same branch.
    @%is8 bra eight;
    @%is16 bra sixteen;
    @%is4 bra four;
    @%is2 bra two;
    ld.global.u8 %small, [%a];
    st.global.u8 [%b], %small;
    bra copied;
eight:
    ld.global.u64 %double, [%a];
    st.global.u64 [%b], %double;
    bra copied;
sixteen:
    ld.global.v4.u32 {%w0, %w1, %w2, %w3}, [%a];
    st.global.v4.u32 [%b], {%w0, %w1, %w2, %w3};
    bra copied;
four:
    ld.global.u32 %w0, [%a];
    st.global.u32 [%b], %w0;
    bra copied;
two:
    ld.global.u16 %small, [%a];
    st.global.u16 [%b], %small;
copied:
    add.u32 %i, %i, %step;
    bra next;

finished:
    ret;
}
)";
}

}  // namespace hakobi::device
