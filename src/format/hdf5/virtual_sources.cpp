#include "format/hdf5/virtual_sources.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "format/hdf5/hdf5.hpp"
#include "format/hdf5/reading.hpp"

namespace hakobi::format {
namespace {

namespace fs = std::filesystem;

/// A name in which HDF5 puts a block's number for %b; the same for another number where it has none.
std::string numbered(const std::string& name, std::int64_t number) {
    std::string text;
    for (std::size_t i = 0; i < name.size(); ++i) {
        if (name[i] != '%' || i + 1 == name.size()) {
            text += name[i];
        } else if (name[++i] == 'b') {
            text += std::to_string(number);
        } else {
            text += name[i];
        }
    }
    return text;
}

class Search {
  public:
    void visit(hid_t dataset) {
        const Handle creation(H5Dget_create_plist(dataset), H5Pclose, "H5Dget_create_plist");
        if (H5Pget_layout(creation) != H5D_VIRTUAL) return;
        const Key key = key_of(dataset);
        if (std::ranges::find(above_, key) != above_.end()) {
            is_loop_ = true;
            throw Hdf5Failure(std::string("a virtual data set shows itself"));
        }
        if (!visited_.insert(key).second) return;
        above_.push_back(key);
        std::size_t num = 0;
        check(H5Pget_virtual_count(creation, &num), "H5Pget_virtual_count");
        for (std::size_t i = 0; i < num; ++i) {
            const std::string file = text_of(H5Pget_virtual_filename, creation, i);
            const std::string name = text_of(H5Pget_virtual_dsetname, creation, i);
            for (std::int64_t number = 0;
                 visit_source(dataset, numbered(file, number), numbered(name, number)); ++number) {
                if (numbered(file, 0) == numbered(file, 1) && numbered(name, 0) == numbered(name, 1)) break;
            }
        }
        above_.pop_back();
    }

  private:
    using Key = std::tuple<dev_t, ino_t, std::uint64_t>;  // of a file, and the object's place in it

    static Key key_of(hid_t dataset) {
        struct stat info {};
        ::stat(path_of(dataset).c_str(), &info);
        return {info.st_dev, info.st_ino, place_of(dataset)};
    }

    static std::string text_of(ssize_t (*get)(hid_t, size_t, char*, size_t), hid_t creation, std::size_t i) {
        std::string text(static_cast<std::size_t>(check(get(creation, i, nullptr, 0), "H5Pget_virtual")),
                         '\0');
        get(creation, i, text.data(), text.size() + 1);
        return text;
    }

    /// Whether it is there, in one of the places where HDF5 looks for it.
    bool visit_source(hid_t dataset, const std::string& file, const std::string& name) {
        if (file == ".") {
            const Handle own(H5Iget_file_id(dataset), H5Fclose, "H5Iget_file_id");
            return visit_in(own, name);
        }
        const fs::path folder = fs::path(path_of(dataset)).parent_path();
        std::vector<fs::path> places = {folder / file, folder / fs::path(file).filename(), file};
        if (const char* prefix = std::getenv("HDF5_VDS_PREFIX"); prefix != nullptr)
            places.push_back(fs::path(prefix) / file);
        bool is_there = false;
        for (const fs::path& place : places) {
            std::error_code unknown;
            if (!fs::is_regular_file(place, unknown)) continue;
            try {
                const OpenFile source(place.string());
                is_there = visit_in(source.id(), name) || is_there;
            } catch (const Hdf5Failure&) {
                if (is_loop_) throw;  // else no file of HDF5's: its records are not there
            }
        }
        return is_there;
    }

    bool visit_in(hid_t file, const std::string& name) {
        const hid_t source = H5Dopen2(file, name.c_str(), H5P_DEFAULT);
        if (source < 0) return false;
        const Handle closing(source, H5Dclose, "H5Dopen2");
        visit(source);
        return true;
    }

    std::vector<Key> above_;  // those that are being looked into
    std::set<Key> visited_;
    bool is_loop_ = false;
};

}  // namespace

void refuse_loops(hid_t dataset) {
    Search().visit(dataset);
}

}  // namespace hakobi::format
