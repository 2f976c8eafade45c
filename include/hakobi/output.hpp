#pragma once

#include <cstdint>
#include <hakobi/attribute.hpp>
#include <hakobi/block.hpp>
#include <hakobi/comm.hpp>
#include <hakobi/export.hpp>
#include <hakobi/hints.hpp>
#include <hakobi/mesh.hpp>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace hakobi {

/// A dimension's coordinate variable: CF's name, units and values, given whole and equal on every rank.
struct Axis {
    std::string name;                ///< "lat", "lon", "x", …: also the dimension's name in the file
    std::string units;               ///< "degrees_north", "degrees_east", "m", …
    std::string standard_name = {};  ///< CF's, or ""
    /// One a grid point; none: a named dimension without a coordinate variable.
    std::vector<double> values;
    /// CF's others: {"positive", "down"} and {"axis", "Z"} of a vertical one, "formula_terms", …
    Attributes attributes = {};
};

/// What Output::create takes; equal on every rank.
struct OutputOptions {
    /// A name from output_methods(), or "auto": each of the first steps is written by another of `pipelined` and
    /// `root`, hidden and not, and what costs the run least here is kept; Output::explain says why.
    std::string method = "auto";
    /// A name from output_formats(): what the files are.
    std::string format = "netcdf4";
    /// The grid's dimensions, slowest first. A field that does not name its own gets axes in this order whose lengths
    /// are its extents: (lat, lon) fields stand beside (level, lat, lon) ones. Where several choices fit (two axes of one
    /// length and a field with one of them), or none, that is an error. Without any axis the dimensions are called dim_0,
    /// dim_1, …
    std::vector<Axis> axes = {};
    std::string title = "";  ///< CF's global attribute
    Attributes attributes =
        {};  ///< other global ones: "institution", "history", … "source" is ours where you say none
    std::string time_units = "s";  ///< units of begin_step's time: "seconds since 2011-03-11 05:46:24"
    /// How fields of at least 16 KiB are stored: "none", or shuffled and packed by "deflate" (levels "deflate:1" to "deflate:9",
    /// 1 without one), which every reader of NetCDF-4 knows, or by "zstd" ("zstd:1" to "zstd:22", 3 without one), for which a
    /// reader needs HDF5's filter 32015. The values go in chunks of at most 1 MiB, whose shape depends on the field's
    /// extents only; every rank packs its share of them.
    std::string compression = "none";
    /// Bits of the mantissa that floating-point values of compressed fields keep, 1 to 52: each is rounded to within
    /// 2^-(bits + 1) of itself, which its field's _QuantizeBitRoundNumberOfSignificantBits says. 10 bits are 3 decimal digits.
    /// 0: all.
    int significant_bits = 0;
    bool sync = false;  ///< fsync each step's file and its folder before end_step returns
    /// Hidden output: end_step returns when the values are copied, and they are stored while the program goes on. Unset:
    /// HAKOBI_ASYNCHRONOUS (1 or 0), else yes where the method can and memory allows (Output::explain says). True where the
    /// method cannot (`parallel`) is invalid_argument.
    std::optional<bool> asynchronous = {};
    /// Bound of the copies that wait to be stored, on each node; a step that finds no room waits. At least 1 MiB (`pipelined`
    /// takes its collective buffers in any case); 0: 256 MiB, or an eighth of the memory that is free, where that is less.
    std::int64_t asynchronous_bytes = 0;
    int writer_stride = 0;  ///< `writers`: every n-th rank writes; 0: one in four, at least one a node
    /// Bound of what `root`, `writers` and gathering hold of other ranks' data at one time; at least 4096.
    std::int64_t buffer_bytes = 64 << 20;
    /// A prefix that holds steps already is refused (exists), unless one of these is asked for. `resume`: the run goes on
    /// after the last whole step; what a killed run left unfinished is removed, and pieces that are whole are gathered. Its
    /// first step must have the fields and the grid of the last whole one, or of one before: else end_step throws
    /// invalid_argument, which says what differs.
    /// `replace`: the earlier steps are removed in create.
    bool resume = false;
    bool replace = false;
    /// A coarse version of each step's fields in 2-D and 3-D beside its file (`<file>.overview.zip`, as `hakobi index` makes
    /// it), there before the step has its name. Rank 0 makes it of the file: in end_step, or, where output is hidden, while
    /// the ranks go on; the step then has its name in a later call. Fields that are compressed by their own option are left
    /// out. Not with `per-process` or `compression` (unsupported).
    bool overview = false;
    /// `per-process`: leave the pieces for `hakobi gather`, do not gather at close.
    bool keep_pieces = false;
    Hints hints = {};  ///< MPI-IO's names and ours (hints.hpp)
};

/// Seconds that this rank has spent inside Output, by phase; local.
struct OutputTimes {
    double layout_s = 0;  ///< rank 0 lays the file out and the others wait for it
    double encode_s = 0;  ///< compressed fields: values go to the ranks that pack them, and are packed
    double values_s = 0;  ///< moving values: messages, shuffle, file access
    double finish_s = 0;  ///< sync, rename, agreement
    double gather_s = 0;  ///< `per-process`: making one file of the pieces
    double hidden_s = 0;  ///< not in any call: this rank's values were stored while the program went on
    double run_s = 0;     ///< since create, until close: what the others are a share of
    double cpu_s = 0;  ///< processor time of this process's storing threads since create: not in the others
    std::int64_t bytes = 0;  ///< values put by this rank
};

/// A field of one step. `data` is lent until end_step returns, which has copied it where the output is hidden. The ranks' blocks
/// must not overlap; elements that no block covers get the fill value. A block without dimensions is a scalar: all ranks put it,
/// and the file has rank 0's value.
struct Field {
    using Data = std::variant<std::span<const double>, std::span<const float>, std::span<const std::int32_t>,
                              std::span<const std::int64_t>, std::span<const std::int8_t>,
                              std::span<const std::uint8_t>, std::span<const std::int16_t>,
                              std::span<const std::uint16_t>, std::span<const std::uint32_t>,
                              std::span<const std::uint64_t>>;
    std::string name;  ///< letters, digits, underscore
    std::string units = "1";
    std::string long_name = {};
    std::string standard_name = {};  ///< CF's, or ""
    /// Its dimensions' names, slowest first: axes of OutputOptions, or others, which then have no coordinate variable.
    /// None: see OutputOptions::axes.
    std::vector<std::string> dims = {};
    /// In the place of OutputOptions' for this field: "" and 0 leave them in force. A field that keeps all bits has 52.
    std::string compression = {};
    int significant_bits = 0;
    /// This rank's part; `global` equal on all ranks. A rank that has several blocks of a field (adaptive meshes) puts each
    /// under the same name, one that has none an empty block.
    Block block;
    /// Native byte order. block.num_elements() values in C order without gaps, unless one of the next says else.
    Data data;
    /// Layers of other elements around the block in memory, one entry a dimension: `data` is the array with them, which are
    /// not written.
    std::vector<std::int64_t> ghosts = {};
    /// Elements from one element of the block to the next in memory, one entry a dimension, none negative: `data` begins with
    /// the block's first element and reaches to its last at least.
    std::vector<std::int64_t> strides = {};
    /// Its other attributes, CF's or your own: "valid_range", "cell_methods", "flag_meanings", …
    Attributes attributes = {};
    /// What elements hold that no rank puts, of data's type, and readers take for missing (`_FillValue`). None: NaN where
    /// values are real; integers are 0 then, and nothing is declared.
    std::optional<FillValue> fill_value = {};
    /// Fields of the same step that are coordinates of this one, as CF's attribute says: {"lat", "lon"} of two dimensions.
    std::vector<std::string> coordinates = {};
    /// Valid for all steps: it has no dimension time, and once put stands in this step's file and in all later ones, from a
    /// copy that each rank keeps of its part. Put again, it changes from that step on.
    bool is_static = false;
    /// Points or cells: a field on the mesh (Output::put_mesh), whose `block` and `dims` stay empty. `data` has `components`
    /// values of one point or cell after the other, in the mesh's order, unless `strides` has two entries, from an element and from
    /// a component to the next. Names are of points or of cells, not of both.
    On on = On::grid;
    std::int64_t components = 1;  ///< 3 of a vector, 9 of a tensor (row by row); equal on all ranks
};

/// Writes time steps, one NetCDF-4 file with CF conventions a step: `<prefix>_000000.nc`,
/// `<prefix>_000001.nc`, … A step is written under `<prefix>_000000.nc.0123456789abcdef.part` (16 random hexadecimal
/// digits) and renamed when it is whole; what a killed run leaves of that name, the next run of the prefix removes.
/// The bytes of a file do not depend on the method or on the number of ranks. With format vtkhdf a step is an unstructured
/// mesh and fields on it, `<prefix>_000000.hdf` in VTKHDF 1.0, in which each rank's part is a piece: the ranks' number and
/// order decide the file, the method does not (docs/meshes.md). A part of another motion (a rotor) or with other fields (a
/// surface) is an Output of its own. `per-process` leaves
/// `<prefix>_000000.nc.pieces/`, and its files come into being in `close`. One run at a time writes a prefix: from create
/// to close `<prefix>.lock` says which. A dead run's lock is taken over, which is said on stderr.
///
/// Errors: every collective call throws the same Error on every rank or none; after one the object is failed,
/// every call but `close` throws `failed` without communicating, and earlier steps stay whole.
class HAKOBI_EXPORT Output {
  public:
    /// Collective over `comm`; `prefix` and `options` equal on all ranks. The prefix's folder is made if it
    /// is missing, with those above it. Throws invalid_argument for an unknown method (naming the nearest) or a prefix whose
    /// storage keeps nothing (`null:`, `memory:`), permission or not_found for the folder, exists when the prefix holds
    /// steps (see OutputOptions::resume), another run writes it, or something that is not a regular file is in the way.
    [[nodiscard]] static Output create(const Comm& comm, std::string_view prefix, OutputOptions options = {});

    Output(Output&&) noexcept;
    Output& operator=(Output&&) noexcept;
    /// Never communicates: an unfinished step is abandoned and its temporary file removed by rank 0. Pieces
    /// that close has not gathered stay for `gather_pieces`.
    ~Output();

    /// Opens the next step at model time `time` (in time_units). Collective in order only: it does not
    /// communicate. Calls out of order (a step is open, or for put and end_step none is) throw
    /// invalid_argument at once, and nothing is broken by them.
    void begin_step(double time);
    /// Adds a field, or another block of it, to the open step. All ranks put the same fields in the same order of their
    /// first blocks; nothing is communicated until end_step, which reports what is wrong with any of them.
    void put(const Field& field);

    /// Gives the open step its mesh, before its first field; format vtkhdf. Every rank puts its part, an empty one too.
    /// What is wrong with it (cells that name points which this rank does not have, offsets that do not fit the cells' types,
    /// motion or type of points that differ between ranks) end_step reports. A fixed mesh and the cells of one that moves are
    /// stored once, in `<prefix>_000000.hdf.mesh` with the number of the step, and the steps' files link to it.
    void put_mesh(const Mesh& mesh);
    /// New places of the same points, of a mesh that moves: in every step after the one that put it.
    void put_points(Mesh::Points points);

    /// In the place of put where the caller has no field to lend: end_step throws invalid_argument with this reason on
    /// every rank. For bindings, whose own checks come before put's; local.
    void refuse(std::string_view reason);
    /// Writes the step. Collective. On return the file has its final name; where the output is hidden, when a later end_step,
    /// or close, returns, which also throw what went wrong with it. invalid_argument when
    /// ranks put different fields (name, type, units, order, global extents) or times, or blocks that
    /// overlap: the text says which.
    void end_step();
    /// Finishes what is under way (draining, gathering pieces) and releases everything. Collective, also
    /// after a failure. Throws what asynchronous work or gathering met, and invalid_argument when a step is open, whose
    /// fields are lost; all is released then, too. Calling it again does nothing.
    void close();

    [[nodiscard]] OutputTimes times() const;
    /// The method in force: never "auto", which may change it in the first steps.
    [[nodiscard]] std::string_view method() const;
    /// How the steps are written and why so, for people: the method, whether it is hidden, with how much memory; after close
    /// also how long the slowest rank waited for it. Local; HAKOBI_EXPLAIN=1 prints it.
    [[nodiscard]] std::string explain() const;

  private:
    struct Impl;
    explicit Output(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

/// The names that OutputOptions::method takes, in the order of the documentation, `auto` left out.
[[nodiscard]] HAKOBI_EXPORT std::span<const std::string_view> output_methods();

/// The names that OutputOptions::format takes.
[[nodiscard]] HAKOBI_EXPORT std::span<const std::string_view> output_formats();

/// Makes whole files of the pieces that `per-process` left in `<path>` (a `*.pieces` folder) or in every such
/// folder of the directory `path`: complete sets are gathered into their file, which is read back, and then removed.
/// Incomplete ones (a killed run), those beside a file that holds something else, and those of a prefix that a run or
/// another gathering is at work on, are left and named. Local: no MPI. Throws not_found, format, no_space, io.
struct GatherResult {
    std::vector<std::string> files;       ///< made, in order
    std::vector<std::string> incomplete;  ///< folders that were left as they are, each with the reason
};
HAKOBI_EXPORT GatherResult gather_pieces(std::string_view path);

}  // namespace hakobi
