#pragma once

#include <cstdint>
#include <hakobi/attribute.hpp>
#include <hakobi/axis.hpp>
#include <hakobi/block.hpp>
#include <hakobi/comm.hpp>
#include <hakobi/export.hpp>
#include <hakobi/field.hpp>
#include <hakobi/gather.hpp>
#include <hakobi/hints.hpp>
#include <hakobi/if_exists.hpp>
#include <hakobi/mesh.hpp>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hakobi {
inline namespace v0 {

/// OutputOptions::steps_per_file: no limit.
inline constexpr std::int64_t all_steps = INT64_MAX;

/// Options of Output::create; equal on every rank.
struct OutputOptions {
    /// A name from output_methods(), or "auto": the first steps try `pipelined` and `root`, hidden and not
    /// hidden, and the choice that costs the run least is kept. Output::explain gives the reason.
    std::string method = "auto";
    /// File format: a name from output_formats().
    std::string format = "netcdf4";
    /// The grid's dimensions, slowest first. A field without Field::dims gets the axes whose lengths match
    /// its extents, in this order, so (lat, lon) fields can accompany (level, lat, lon) fields. It is an
    /// error if no choice matches or if several do (two axes of equal length and a field with one of them).
    /// Without axes the dimensions are called dim_0, dim_1, …
    std::vector<Axis> axes = {};
    std::string title = "";  ///< CF's global attribute
    Attributes attributes =
        {};  ///< other global ones: "institution", "history", … Default "source": Hakobi's
    std::string time_units = "s";  ///< units of begin_step's time: "seconds since 2011-03-11 05:46:24"
    /// CF's calendar of time_units that count from a date: "standard" ("gregorian"), "proleptic_gregorian",
    /// "noleap" ("365_day"), "all_leap" ("366_day"), "360_day" or "julian". "": "standard". An attribute of
    /// `time` in the files.
    std::string calendar = {};
    /// Compression of fields of at least 16 KiB: "none"; "deflate" ("deflate:1" to "deflate:9", default level
    /// 1), which every NetCDF-4 reader supports; or "zstd" ("zstd:1" to "zstd:22", default level 3), for
    /// which a reader needs HDF5's filter 32015. Both shuffle the bytes first. Chunks have at most 1 MiB, and
    /// their shape depends only on the field's extents; every rank compresses its share of them.
    std::string compression = "none";
    /// Mantissa bits that compressed floating-point fields keep, 1 to 52; 0: all. The relative rounding error
    /// is at most 2^-(bits + 1); 10 bits keep 3 decimal digits. The field's attribute
    /// _QuantizeBitRoundNumberOfSignificantBits records the number.
    int significant_bits = 0;
    /// The type in files of fields of float64 that do not say their own (FieldDefinition::store_as):
    /// "float32", "float32:saturate" or "float64". "": HAKOBI_STORE_AS; without it, "float64".
    std::string store_as = {};
    /// fsync each step's file before it gets its final name, and then its folder: what has its final name
    /// survives a crash of the system. Not hidden, that is before end_step returns.
    bool sync = false;
    /// Hidden output: end_step returns once the values are copied, and they are stored while the program
    /// continues.
    struct Hidden {
        /// Unset: HAKOBI_ASYNCHRONOUS (1 or 0); without it, on if the method supports it and memory suffices
        /// (see Output::explain). True with a method that does not support it (`parallel`) throws
        /// invalid_argument.
        std::optional<bool> on = {};
        /// Limit per node for copies that wait to be stored, at least 1 MiB; a step that does not fit waits.
        /// 0: 256 MiB, or an eighth of the free memory if that is less. `pipelined` allocates its collective
        /// buffers in any case.
        std::int64_t bytes = 0;
    } hidden = {};
    std::optional<bool> asynchronous = {};  ///< older name of hidden.on; both must not differ
    std::int64_t asynchronous_bytes = 0;    ///< older name of hidden.bytes
    int writer_stride = 0;  ///< `writers`: every n-th rank writes; 0: one in four, at least one per node
    /// Limit for other ranks' data that `root`, `writers` and gathering hold at one time; at least 4096.
    std::int64_t buffer_bytes = 64 << 20;
    /// Says how create treats a prefix that already holds steps (if_exists.hpp).
    IfExists if_exists = IfExists::fail;
    /// How many steps a file takes; all_steps: all of the run. The file is called after its first step, and
    /// each step is in it, for every reader, when its own file would have its name: a kill costs what has not
    /// been committed, and no step before. A step with other fields, or other values of a static one, begins
    /// a new file. 0: HAKOBI_STEPS_PER_FILE (a number or "all"); without it, or with what takes no
    /// files of several steps, 1. More than 1 throws `unsupported` with format zarr, method `per-process`,
    /// `overview` and a stage.
    std::int64_t steps_per_file = 0;
    /// Writes an overview next to each step's file: its 2-D and 3-D fields at lower resolutions
    /// (`<file>.overview.zip`, as `hakobi index` makes it). The overview is complete before the step gets its
    /// final name; where it cannot be made stderr says so, and the step is written without it.
    /// Rank 0 makes it from the file, in end_step or, with hidden output, while the program continues. Fields
    /// with their own `compression` are left out. Throws `unsupported` with `per-process`, with
    /// OutputOptions::compression, with a format other than netcdf4, and on an object store.
    bool overview = false;
    /// A stage in front of the steps' place (docs/steps.md), for runs on one node: steps are written to a
    /// folder there, and go to their place while the program continues.
    struct Stage {
        std::string folder = {};  ///< it exists; "": HAKOBI_STAGE, else no stage
        std::int64_t bytes = 0;   ///< what may lie there; 0: HAKOBI_STAGE_BYTES, else half of what is free
        /// How fast steps go on, up to close, in bytes a second; 0: HAKOBI_STAGE_RATE, else without a limit.
        std::int64_t bytes_s = 0;
        /// How long close tries a place that takes nothing; unset: HAKOBI_STAGE_PATIENCE, else 120.
        std::optional<std::int64_t> patience_s = {};
    } stage = {};
    /// The method `per-process`.
    struct PerProcess {
        bool keep_pieces = false;  ///< keep them for `hakobi gather` instead of gathering them in close
    } per_process = {};
    bool keep_pieces = false;  ///< older name of per_process.keep_pieces
    Hints hints = {};          ///< MPI-IO's and Hakobi's (hints.hpp)
};

/// Seconds that this rank has spent in Output, by phase.
struct OutputTimes {
    double layout_s = 0;  ///< rank 0 writes the file's metadata; the others wait
    double encode_s =
        0;  ///< compressed fields: moving the values to the ranks that compress them, and compressing
    double values_s = 0;  ///< moving values: messages, shuffle, file access
    double finish_s = 0;  ///< sync, rename, agreement
    double gather_s = 0;  ///< `per-process`: assembling one file from the pieces
    double hidden_s = 0;  ///< storing this rank's values while the program continues; not part of any call
    double run_s = 0;     ///< from create to close: the total
    double cpu_s = 0;  ///< processor time of this process's I/O threads since create; not in the other phases
    std::int64_t bytes = 0;  ///< size of the values put by this rank
};

/// Writes time steps, one NetCDF-4 file with CF conventions per step: `<prefix>_000000.nc`,
/// `<prefix>_000001.nc`, …
///
/// A step is written as `<prefix>_000000.nc.0123456789abcdef.part` (16 random hexadecimal digits) and renamed
/// when it is complete. A step for which end_step has returned is whole, is completed later, or is named as
/// lost, however the program ends: MPI_Finalize completes it if close was not called (an exception, a
/// forgotten object). After a signal or MPI_Abort, the next Output::create with `resume`, Input::open or
/// `hakobi gather` completes every step whose values were all stored, and names the others on stderr: values
/// of hidden steps that were still in memory are gone. (On RADOS without a stage create names all of them.) A
/// file's bytes do not depend on the method or on the number of ranks. `per-process` writes
/// `<prefix>_000000.nc.pieces/` and makes the files in `close`.
///
/// With format vtkhdf a step is an unstructured mesh with its fields, `<prefix>_000000.hdf` in VTKHDF 1.0
/// (2.0 with several steps in it). Each rank's part is a piece, so the file depends on the number and order
/// of the ranks, but not on the method (docs/meshes.md). Use a separate Output for a part with another motion
/// (a rotor) or other fields (a surface).
///
/// One run at a time writes a prefix and holds `<prefix>.lock` from create to close. The lock of a dead run
/// is taken over, with a message on stderr. On storage without locks, as on RADOS without a stage, stderr
/// says that nobody is kept out.
///
/// Errors: a collective call throws the same Error on every rank or on none. After an error the object is
/// failed: every call except `close` throws `failed` without communicating. Earlier steps stay complete.
class HAKOBI_EXPORT Output {
  public:
    /// Collective over `comm`; `prefix` and `options` equal on all ranks. Makes the prefix's folder and its
    /// parents if they are missing. Throws invalid_argument for an unknown method (naming the nearest one), a
    /// backslash in the file name (NetCDF opens none such) or a storage that keeps nothing (`null:`,
    /// `memory:`); permission or not_found for the folder; exists if the prefix holds steps
    /// (OutputOptions::if_exists), if another run writes it, or for anything else in the way.
    [[nodiscard]] static Output create(const Comm& comm, std::string_view prefix, OutputOptions options = {});

    Output(Output&&) noexcept;
    Output& operator=(Output&&) noexcept;
    /// Never communicates. Without close, the steps that end_step has accepted are completed in the next
    /// collective call that can do so: MPI_Finalize, Comm::free, or Output::create or Input::open on the same
    /// Comm; on one rank at once. Rank 0 says so on stderr. The prefix stays locked until then. A step that
    /// was not ended is abandoned.
    ~Output();

    /// Defines a field of this output's steps, once for all of them. Collective; `definition` equal on all
    /// ranks. A step has the fields that are put in it. Throws invalid_argument or unsupported where ranks
    /// define different fields, a name is defined twice, or the format, the grid's axes or the output's other
    /// options do not go with the field; the output stays as it was.
    [[nodiscard]] FieldId define(const FieldDefinition& definition);

    /// Opens the next step at model time `time` (in time_units). All ranks call it in the same order; it does
    /// not communicate. A call out of order (begin_step while a step is open; put or end_step without one)
    /// throws invalid_argument immediately and changes nothing. Rank 0 warns once where a time is earlier
    /// than that of the step before.
    void begin_step(double time);
    /// Puts this rank's block of a defined field into the open step, or a further one (adaptive meshes). All
    /// ranks put the same fields; the order of their first blocks must be equal. The blocks must not overlap;
    /// elements that no block covers get the fill value. Empty `block`: a scalar, whose value is rank 0's; a
    /// field on the mesh, with `components` values per point or cell in the mesh's order; with empty `data`,
    /// and where the definition has `global`, a rank that has nothing.
    /// `data` has the values in C order without gaps, unless `layout` says otherwise, and stays valid and
    /// unchanged until end_step returns, with hidden output too. Does not communicate: end_step reports
    /// errors, on every rank.
    void put(FieldId field, const Block& block, Field::Data data, const MemoryLayout& layout = {});
    /// The same for a field that is described with each step: the older form, kept for one whose description
    /// changes from step to step. Its type does not: end_step refuses another one.
    void put(const Field& field);

    /// Sets the open step's mesh; before its first field, format vtkhdf only. Every rank puts its part, even
    /// if it is empty. end_step reports errors: cells with points that this rank does not have, offsets that
    /// do not match the cells' types, motion or point types that differ between ranks. A fixed mesh, and the
    /// cells of a moving one, are stored once, in `<prefix>_000000.hdf.mesh` (with the step's number), and
    /// the steps' files link to it.
    void put_mesh(const Mesh& mesh);
    /// New coordinates of a moving mesh's points; in every step after the one with put_mesh.
    void put_points(Mesh::Points points);

    /// For language bindings whose own checks fail before they can call put: end_step then throws
    /// invalid_argument with this reason on every rank. Local.
    void refuse(std::string_view reason);
    /// Writes the step. Collective. On return the file has its final name; with hidden output it gets the
    /// name by the time a later end_step, or close, returns, and these calls also throw its errors, naming
    /// every step that is lost. Throws invalid_argument if ranks put different fields (name, type, units,
    /// order, global extents) or times, or overlapping blocks; the text names them.
    void end_step();
    /// Returns when every step that end_step has accepted has its final name; on a stage, there; of
    /// `per-process`, when its pieces are stored. Collective, between steps. Throws the errors of hidden
    /// steps, as end_step does.
    void flush();
    /// Completes pending work (storing hidden steps, gathering pieces) and releases everything. Collective,
    /// also after a failure. Throws errors of the pending work, and invalid_argument if a step is open (its
    /// fields are lost); everything is released in these cases, too. Calling it again does nothing.
    void close();

    [[nodiscard]] OutputTimes times() const;
    /// The current method. Never "auto", which may change the method during the first steps.
    [[nodiscard]] std::string_view method() const;
    /// A text for people: the method and why, whether output is hidden, how much memory it takes, and, after
    /// close, how long the slowest rank waited for output. Local; HAKOBI_EXPLAIN=1 prints it.
    [[nodiscard]] std::string explain() const;

  private:
    struct Impl;
    explicit Output(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

/// The names for OutputOptions::method, in the order of the documentation, without `auto`.
[[nodiscard]] HAKOBI_EXPORT std::span<const std::string_view> output_methods();

/// The names for OutputOptions::format.
[[nodiscard]] HAKOBI_EXPORT std::span<const std::string_view> output_formats();

}  // namespace v0
}  // namespace hakobi
