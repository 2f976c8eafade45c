#include "mpi/mpi_file.hpp"

#include <algorithm>
#include <vector>

#include "mpi/comm_state.hpp"

namespace hakobi::mpi {
namespace {

MPI_Datatype element_type(std::int64_t element_bytes) {
    return element_bytes == 8 ? MPI_INT64_T : MPI_INT32_T;
}

/// What an MPI file call said, as a Status; MPI's text names the library's reason.
Status status_of(int mpi_error, const char* call, const std::string& path = {}) {
    if (mpi_error == MPI_SUCCESS) return {};
    int error_class = MPI_ERR_OTHER;
    MPI_Error_class(mpi_error, &error_class);
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(mpi_error, text, &length);
    ErrorCode code = ErrorCode::io;
    if (error_class == MPI_ERR_NO_SPACE || error_class == MPI_ERR_QUOTA) code = ErrorCode::no_space;
    if (error_class == MPI_ERR_ACCESS || error_class == MPI_ERR_READ_ONLY) code = ErrorCode::permission;
    if (error_class == MPI_ERR_NO_SUCH_FILE) code = ErrorCode::not_found;
    if (error_class == MPI_ERR_NO_MEM) code = ErrorCode::out_of_memory;
    std::string message = std::string(call) + (path.empty() ? "" : " " + path) + ": " + text;
    std::replace(message.begin(), message.end(), '\n', ' ');
    return {code, std::move(message)};
}

/// Frees a derived type that others were built of.
MPI_Datatype replace(MPI_Datatype old_type, MPI_Datatype new_type) {
    MPI_Type_free(&old_type);
    return new_type;
}

/// `count` elements `stride_bytes` apart, also where the count is more than MPI takes at once.
MPI_Datatype large_vector(std::int64_t count, std::int64_t stride_bytes, MPI_Datatype element,
                          std::int64_t largest_count) {
    MPI_Datatype result = MPI_DATATYPE_NULL;
    if (count <= largest_count) {
        check(MPI_Type_create_hvector(static_cast<int>(count), 1, stride_bytes, element, &result),
              "MPI_Type_create_hvector");
        return result;
    }
    const std::int64_t whole = count / largest_count, rest = count % largest_count;
    MPI_Datatype chunk = large_vector(largest_count, stride_bytes, element, largest_count);
    MPI_Datatype chunks =
        replace(chunk, large_vector(whole, largest_count * stride_bytes, chunk, largest_count));
    if (rest == 0) return chunks;
    MPI_Datatype types[2] = {chunks, large_vector(rest, stride_bytes, element, largest_count)};
    const int lengths[2] = {1, 1};
    const MPI_Aint displacements[2] = {0, whole * largest_count * stride_bytes};
    check(MPI_Type_create_struct(2, lengths, displacements, types, &result), "MPI_Type_create_struct");
    MPI_Type_free(&types[0]);
    MPI_Type_free(&types[1]);
    return result;
}

/// Only rows whose extent in the file is below that of an int can be described by subarray.
bool is_small(const Block& block, std::int64_t largest_count) {
    return std::all_of(block.global.begin(), block.global.end(),
                       [&](std::int64_t extent) { return extent <= largest_count; });
}

}  // namespace

MPI_Datatype file_type_of(const Block& block, std::int64_t element_bytes, std::int64_t largest_count) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    if (block.num_elements() == 0) return type;
    const std::size_t num_dims = block.global.size();
    if (is_small(block, largest_count)) {
        const std::vector<int> sizes(block.global.begin(), block.global.end()),
            starts(block.start.begin(), block.start.end()), counts(block.count.begin(), block.count.end());
        check(MPI_Type_create_subarray(static_cast<int>(num_dims), sizes.data(), counts.data(), starts.data(),
                                       MPI_ORDER_C, element_type(element_bytes), &type),
              "MPI_Type_create_subarray");
    } else {
        std::int64_t stride_bytes = element_bytes;
        std::int64_t start_bytes = 0;
        for (std::size_t d = num_dims; d-- > 0;) {
            MPI_Datatype outer =
                large_vector(block.count[d], stride_bytes,
                             d + 1 == num_dims ? element_type(element_bytes) : type, largest_count);
            type = d + 1 == num_dims ? outer : replace(type, outer);
            start_bytes += block.start[d] * stride_bytes;
            stride_bytes *= block.global[d];
        }
        const int one = 1;
        const MPI_Aint displacement = start_bytes;
        MPI_Datatype placed = MPI_DATATYPE_NULL;
        check(MPI_Type_create_struct(1, &one, &displacement, &type, &placed), "MPI_Type_create_struct");
        type = replace(type, placed);
        check(MPI_Type_create_resized(type, 0, stride_bytes, &placed), "MPI_Type_create_resized");
        type = replace(type, placed);
    }
    check(MPI_Type_commit(&type), "MPI_Type_commit");
    return type;
}

Status MpiFile::open(const Comm& comm, const std::string& path, const Hints& hints,
                     std::unique_ptr<MpiFile>& file) {
    // All ranks have the same hints: all of them return here, or none does.
    for (const auto& [name, value] : hints) {
        if (name.empty() || name.size() >= MPI_MAX_INFO_KEY || value.size() >= MPI_MAX_INFO_VAL ||
            value.empty()) {
            return {ErrorCode::invalid_argument, "hint " + name + " is too long or empty for MPI_Info"};
        }
    }
    MPI_Info info = MPI_INFO_NULL;
    check(MPI_Info_create(&info), "MPI_Info_create");
    for (const auto& [name, value] : hints)
        check(MPI_Info_set(info, name.c_str(), value.c_str()), "MPI_Info_set");
    MPI_File handle = MPI_FILE_NULL;
    // Also for reading: some libraries read around the pieces that they write.
    const int error = MPI_File_open(comm.state().internal, path.c_str(), MPI_MODE_RDWR, info, &handle);
    MPI_Info_free(&info);
    if (error == MPI_SUCCESS) {
        MPI_File_set_errhandler(handle, MPI_ERRORS_RETURN);
        file.reset(new MpiFile(handle));
    }
    return status_of(error, "MPI_File_open", path);
}

Status MpiFile::write_block_all(std::int64_t offset_bytes, const Block& block, std::int64_t element_bytes,
                                std::span<const std::byte> values, std::int64_t num_rounds,
                                std::int64_t round_bytes) {
    const MPI_Datatype element = element_type(element_bytes);
    MPI_Datatype type = file_type_of(block, element_bytes);
    Status status =
        status_of(MPI_File_set_view(file_, offset_bytes, element, type == MPI_DATATYPE_NULL ? element : type,
                                    "native", MPI_INFO_NULL),
                  "MPI_File_set_view");
    if (type != MPI_DATATYPE_NULL) MPI_Type_free(&type);
    for (std::int64_t round = 0; round < num_rounds; ++round) {
        const std::size_t length =
            status.ok() ? std::min(values.size(), static_cast<std::size_t>(round_bytes)) : 0;
        const int count = static_cast<int>(static_cast<std::int64_t>(length) / element_bytes);
        MPI_Status moved;
        const int error = MPI_File_write_all(file_, values.data(), count, element, &moved);
        status.keep_first(status_of(error, "MPI_File_write_all"));
        int moved_count = count;
        if (error == MPI_SUCCESS && count > 0) MPI_Get_count(&moved, element, &moved_count);
        if (moved_count != count)
            status.keep_first({ErrorCode::io, "MPI_File_write_all wrote less than asked"});
        values = values.subspan(length);
    }
    if (!values.empty()) {
        status.keep_first({ErrorCode::internal, std::to_string(values.size()) + " bytes are left after " +
                                                    std::to_string(num_rounds) + " collective writes"});
    }
    return status;
}

Status MpiFile::sync_all() {
    return status_of(MPI_File_sync(file_), "MPI_File_sync");
}

Status MpiFile::close_all() {
    return status_of(MPI_File_close(&file_), "MPI_File_close");
}

}  // namespace hakobi::mpi
