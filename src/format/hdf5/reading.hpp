#pragma once

#include <hdf5.h>

#include <new>
#include <optional>
#include <string>
#include <vector>

#include "format/found_step.hpp"
#include "format/hdf5/hdf5.hpp"
#include "format/hdf5/read_driver.hpp"
#include "storage/file.hpp"

// Functions that readers of the HDF5 formats share. All but check_kind and with_file throw Hdf5Failure.

namespace hakobi::format {

/// A file that is open to be read, with everything in it.
class OpenFile {
  public:
    explicit OpenFile(const std::string& path);
    [[nodiscard]] hid_t id() const { return file_; }

  private:
    void prepare();
    ReadDriver driver_;  // outlives the file
    Handle access_, file_;
};

/// Looks at the first bytes of a file, so that the error for one that is no HDF5 file says what it is.
/// Returns not_found, permission, format or unsupported. Local.
Status check_kind(const std::string& path);

/// The `format` error of with_file.
Status failure_of(const std::string& path, const char* kind, const Hdf5Failure& failure);

/// Opens the file for reading and calls `body` with it. Returns format, saying that it is no whole file of
/// that `kind`, where `body` or HDF5 fails (Hdf5Failure), and out_of_memory. Local.
template <class Body>
Status with_file(const std::string& path, const char* kind, Body&& body) {
    const QuietErrors quiet;
    try {
        const OpenFile file(storage::lasting_path(path));
        body(file.id());
        return {};
    } catch (const Hdf5Failure& failure) {
        return failure_of(path, kind, failure);
    } catch (const std::bad_alloc&) {
        return {ErrorCode::out_of_memory, path + ": no memory to read it"};
    }
}

/// The names of a group's links, in the order in which they were made where the file records it.
[[nodiscard]] std::vector<std::string> names_in(hid_t group);
/// Returns ncdump's name of the type, or a description of a type that it has no name for.
[[nodiscard]] std::string text_of_type(hid_t type);
[[nodiscard]] std::vector<std::int64_t> extents_of(hid_t dataset, bool* is_unlimited = nullptr);
/// The text of an attribute; several texts are joined by commas.
[[nodiscard]] std::string read_text(hid_t attribute, hid_t type);
/// An object's attributes, without those that netCDF reserves.
[[nodiscard]] Attributes attributes_of(hid_t object);
[[nodiscard]] std::string text_attribute(const Attributes& attributes, const char* name);
/// Opens a data set, and makes sure that asking for its extents and values ends (refuse_loops).
[[nodiscard]] Handle open_dataset(hid_t where, const std::string& name);
/// The path of the file that an object is in, as HDF5 opened it: that of another file where an external link
/// led there.
[[nodiscard]] std::string path_of(hid_t object);
/// Where an object begins in that file.
[[nodiscard]] std::uint64_t place_of(hid_t object);
[[nodiscard]] bool is_in_file(hid_t object, hid_t file);
/// Where values are that may be read without the library: in `file`, or in the one that field.file names.
void locate(hid_t file, hid_t dataset, FoundField& field);
/// After that, the same of a data set that has so many steps one behind the other, each an array of those
/// extents: where each is, if it is stored as one chunk without filters.
void locate_steps(hid_t dataset, const std::vector<std::int64_t>& of_step, std::int64_t num_steps,
                  FoundField& field);
/// Throws where a chunk of the data set, for which the library would make room, is larger than 64 MiB and
/// than the file: reads of a whole data set come after it.
void check_chunk(hid_t dataset);
/// The one value of a data set of one dimension, a step's time, and where it is
/// (FoundStep::time_offset_bytes).
[[nodiscard]] double read_time(hid_t file, hid_t dataset, std::int64_t& offset_bytes);
/// The times of a file's steps, of which it has one at least.
[[nodiscard]] std::vector<double> read_times(hid_t dataset);

}  // namespace hakobi::format
