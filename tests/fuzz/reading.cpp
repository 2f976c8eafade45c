// A step's file as Input reads it, through HDF5: what it says of itself, and the values of its fields and of
// its mesh.
#include <hakobi/input.hpp>

#include <sanitizer/lsan_interface.h>

#include <filesystem>

#include "format/step.hpp"
#include "input.hpp"

using namespace hakobi;
namespace fs = std::filesystem;

namespace {

/// Shows the file as the one step of a series, by the format's name.
void show(const fuzz::Folder& folder, const std::string& file, const char* name) {
    folder.empty();
    fs::create_symlink(file, folder.path_of(name));
}

template <class T>
void read(Input& input, const InputField& field) {
    std::int64_t elements = 1;
    for (const std::int64_t length : field.shape) elements *= std::min<std::int64_t>(length, 8);
    if (elements > 4096) return;
    Block block{.global = field.shape, .start = {}, .count = {}};
    for (const std::int64_t length : field.shape) {
        block.count.push_back(std::min<std::int64_t>(length, 8));
        block.start.push_back(length - block.count.back());
    }
    std::vector<T> values(static_cast<std::size_t>(elements));
    input.read({.name = field.name, .block = block, .data = std::span(values)});
}

void read_all(const std::string& prefix) {
    try {
        Input input = Input::open(prefix);
        for (const InputField& field : input.fields()) {
            try {
                if (field.type == "double") read<double>(input, field);
                if (field.type == "float") read<float>(input, field);
                if (field.type == "int") read<std::int32_t>(input, field);
                if (field.type == "ubyte") read<std::uint8_t>(input, field);
                static_cast<void>(input.explain(field.name));
            } catch (const Error& error) {
                fuzz::require(error.code() != ErrorCode::internal);
            }
        }
        static_cast<void>(input.read_mesh());
    } catch (const Error& error) {
        fuzz::require(error.code() != ErrorCode::internal);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const fuzz::Folder folder;
    const __lsan::ScopedDisabler hdf5_loses_memory;  // where it fails
    const fuzz::FileOf file(fuzz::Input(data, size).bytes());
    for (const char* name : {"run_000000.nc", "run_000001.hdf"}) {
        show(folder, file.path(), name);
        read_all(folder.path_of("run"));
    }
    return 0;
}
