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

// What readers of the formats that are HDF5 files share. All but check_kind and with_file throw Hdf5Failure.

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

/// Before HDF5 looks at the file: errors that say what it is.
Status check_kind(const std::string& path);

/// The `format` error of with_file.
Status failure_of(const std::string& path, const char* kind, const Hdf5Failure& failure);

/// Opens the file to read it; what `body` throws of Hdf5Failure is a `format`, that it is no whole file of that `kind`. Local.
template <class Body>
Status with_file(const std::string& path, const char* kind, Body&& body) {
    const QuietErrors quiet;
    try {
        const OpenFile file(storage::system_path(path));
        body(file.id());
        return {};
    } catch (const Hdf5Failure& failure) {
        return failure_of(path, kind, failure);
    } catch (const std::bad_alloc&) {
        return {ErrorCode::out_of_memory, path + ": no memory to read it"};
    }
}

/// Of a group's links, in the order in which they were made where the file keeps it.
[[nodiscard]] std::vector<std::string> names_in(hid_t group);
/// As ncdump calls it, or what it is.
[[nodiscard]] std::string text_of_type(hid_t type);
[[nodiscard]] std::vector<std::int64_t> extents_of(hid_t dataset, bool* is_unlimited = nullptr);
/// Of an attribute of text; several with commas.
[[nodiscard]] std::string read_text(hid_t attribute, hid_t type);
/// All but those that netCDF keeps for itself.
[[nodiscard]] Attributes attributes_of(hid_t object);
[[nodiscard]] std::string text_attribute(const Attributes& attributes, const char* name);
/// Opens a data set whose extents and values may be asked for.
[[nodiscard]] Handle open_dataset(hid_t where, const std::string& name);
/// Of the file that an object is in, as HDF5 opened it: where links lead to another, that one's.
[[nodiscard]] std::string path_of(hid_t object);
/// Where an object begins in that file.
[[nodiscard]] std::uint64_t place_of(hid_t object);
[[nodiscard]] bool is_in_file(hid_t object, hid_t file);
/// Where values are that may be read without the library: in `file`, or in the one that field.file names.
void locate(hid_t file, hid_t dataset, FoundField& field);

}  // namespace hakobi::format
