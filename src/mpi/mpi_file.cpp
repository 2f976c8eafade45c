#include "mpi/mpi_file.hpp"

#include <algorithm>
#include <vector>

#include "mpi/comm_state.hpp"

namespace hakobi::mpi {
namespace {

/// The result of an MPI file call as a Status; MPI's text names the library's reason.
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

/// Types one after the other, each at its displacement; the types are freed.
MPI_Datatype joined(std::vector<MPI_Datatype> types, std::vector<MPI_Aint> displacements,
                    std::int64_t largest_count) {
    const auto largest = static_cast<std::size_t>(largest_count);
    while (types.size() > 1 || displacements[0] != 0) {
        std::vector<MPI_Datatype> outer;
        for (std::size_t first = 0; first < types.size(); first += largest) {
            const std::size_t num = std::min(largest, types.size() - first);
            const std::vector<int> ones(num, 1);
            outer.emplace_back();
            check(MPI_Type_create_struct(static_cast<int>(num), ones.data(), displacements.data() + first,
                                         types.data() + first, &outer.back()),
                  "MPI_Type_create_struct");
        }
        for (MPI_Datatype& type : types) MPI_Type_free(&type);
        types = std::move(outer);
        displacements.assign(types.size(), 0);
    }
    return types[0];
}

MPI_Datatype contiguous_type(std::int64_t length_bytes, std::int64_t largest_count) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    if (length_bytes <= largest_count) {
        check(MPI_Type_contiguous(static_cast<int>(length_bytes), MPI_BYTE, &type), "MPI_Type_contiguous");
        return type;
    }
    const std::int64_t whole = length_bytes / largest_count, rest = length_bytes % largest_count;
    MPI_Datatype chunk = contiguous_type(largest_count, largest_count);
    type = replace(chunk, large_vector(whole, largest_count, chunk, largest_count));
    if (rest == 0) return type;
    return joined({type, contiguous_type(rest, largest_count)}, {0, whole * largest_count}, largest_count);
}

/// A list whose pieces' lengths an MPI call takes, as most lists are.
MPI_Datatype listed_type(const Region::Node& node) {
    const std::vector<int> lengths(node.lengths.begin(), node.lengths.end());
    const std::vector<MPI_Aint> offsets(node.offsets.begin(), node.offsets.end());
    MPI_Datatype type = MPI_DATATYPE_NULL;
    check(MPI_Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(), offsets.data(), MPI_BYTE,
                                   &type),
          "MPI_Type_create_hindexed");
    return type;
}

MPI_Datatype uncommitted_type_of(const Region& region, std::int64_t largest_count) {
    const Region::Node& node = *region.node();
    std::vector<MPI_Datatype> types;
    std::vector<MPI_Aint> displacements;
    const auto add = [&](MPI_Datatype type, std::int64_t displacement) {
        types.push_back(type);
        displacements.push_back(displacement + region.shift_bytes());
    };
    switch (node.kind) {
        case Region::Node::Kind::contiguous:
            add(contiguous_type(node.size, largest_count), node.begin);
            break;
        case Region::Node::Kind::strided: {
            MPI_Datatype element = uncommitted_type_of(node.element, largest_count);
            add(replace(element, large_vector(node.count, node.stride, element, largest_count)), 0);
            break;
        }
        case Region::Node::Kind::pieces:
            if (std::ssize(node.lengths) <= largest_count &&
                std::ranges::all_of(node.lengths, [&](std::int64_t n) { return n <= largest_count; })) {
                add(listed_type(node), 0);
                break;
            }
            for (std::size_t i = 0; i < node.lengths.size(); ++i)
                add(contiguous_type(node.lengths[i], largest_count), node.offsets[i]);
            break;
        case Region::Node::Kind::parts:
            for (std::size_t i = 0; i < node.parts.size(); ++i) {
                if (node.parts[i].empty()) continue;
                add(uncommitted_type_of(node.parts[i], largest_count),
                    node.offsets.empty() ? 0 : node.offsets[i]);
            }
            break;
    }
    return joined(std::move(types), std::move(displacements), largest_count);
}

/// ROMIO takes what stands before a colon, anywhere in a path, for the name of a file system.
std::string name_for_library(const std::string& path) {
#ifdef MPICH_VERSION
    if (path.find(':') != std::string::npos) return "ufs:" + path;
#endif
    return path;
}

}  // namespace

MPI_Datatype datatype_of(const Region& region, std::int64_t largest_count) {
    if (region.empty()) return MPI_DATATYPE_NULL;
    MPI_Datatype type = uncommitted_type_of(region, largest_count);
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
    const int error =
        MPI_File_open(comm.state().internal, name_for_library(path).c_str(), MPI_MODE_RDWR, info, &handle);
    MPI_Info_free(&info);
    if (error == MPI_SUCCESS) {
        MPI_File_set_errhandler(handle, MPI_ERRORS_RETURN);
        file.reset(new MpiFile(handle));
    }
    return status_of(error, "MPI_File_open", path);
}

Status MpiFile::write_region_all(const Region& file, const Region& memory, std::int64_t num_rounds,
                                 std::int64_t round_bytes) {
    const std::int64_t begin = file.begin_bytes();
    MPI_Datatype type = datatype_of(file.moved(-begin));
    Status status =
        status_of(MPI_File_set_view(file_, begin, MPI_BYTE, type == MPI_DATATYPE_NULL ? MPI_BYTE : type,
                                    "native", MPI_INFO_NULL),
                  "MPI_File_set_view");
    if (type != MPI_DATATYPE_NULL) MPI_Type_free(&type);
    std::int64_t written = 0;
    for (std::int64_t round = 0; round < num_rounds; ++round) {
        const std::int64_t length = status.ok() ? std::min(memory.size_bytes() - written, round_bytes) : 0;
        const Region part = length > 0 ? memory.substream(written, length) : Region();
        status.keep_first(write_at_all(written, part));
        written += length;
    }
    if (written < memory.size_bytes()) {
        status.keep_first({ErrorCode::internal, std::to_string(memory.size_bytes() - written) +
                                                    " bytes are left after " + std::to_string(num_rounds) +
                                                    " collective writes"});
    }
    return status;
}

/// One collective write of this rank's bytes of the view, from `offset` on. By address: Open MPI 4's
/// MPI_File_write_all also counts bytes that could not be written (docs/mpi-faults.md).
Status MpiFile::write_at_all(std::int64_t offset, const Region& memory) {
    const std::int64_t origin = memory.begin_bytes();
    const bool is_plain = memory.is_contiguous();
    MPI_Datatype type = is_plain ? MPI_BYTE : datatype_of(memory.moved(-origin));
    MPI_Status moved;
    const int error =
        MPI_File_write_at_all(file_, offset, reinterpret_cast<const void*>(origin),
                              is_plain ? static_cast<int>(memory.size_bytes()) : 1, type, &moved);
    if (!is_plain) MPI_Type_free(&type);
    if (error != MPI_SUCCESS || memory.empty()) return status_of(error, "MPI_File_write_at_all");
    int moved_bytes = 0;
    MPI_Get_count(&moved, MPI_BYTE, &moved_bytes);
    if (moved_bytes == memory.size_bytes()) return {};
    return {ErrorCode::io, "MPI_File_write_at_all wrote less than asked"};
}

Status MpiFile::sync_all() {
    return status_of(MPI_File_sync(file_), "MPI_File_sync");
}

Status MpiFile::close_all() {
    return status_of(MPI_File_close(&file_), "MPI_File_close");
}

}  // namespace hakobi::mpi
