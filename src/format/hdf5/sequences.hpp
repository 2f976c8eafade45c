#pragma once

#include <hdf5.h>

#include <cstddef>
#include <vector>

namespace hakobi::format {

/// Reads what attributes have of sequences of any length (names of dimensions, texts) by HeapCollection, not by HDF5: that
/// copies as many bytes as a damaged file says. HDF5 is made to hand out where the sequences are instead. While the object lives.
class SequenceReader {
  public:
    SequenceReader();
    ~SequenceReader();
    SequenceReader(const SequenceReader&) = delete;
    SequenceReader& operator=(const SequenceReader&) = delete;

    /// Each element's bytes as the file has them, of an attribute whose type is H5T_VLEN, or a string of any length. Needs an
    /// object; throws Hdf5Failure.
    static std::vector<std::vector<std::byte>> read(hid_t attribute, hid_t type);
};

}  // namespace hakobi::format
