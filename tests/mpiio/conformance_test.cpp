// The drop-in against the MPI library underneath: the same random program on two files, one through the
// drop-in, one by the library's own functions. After every step the ranks compare what they were told and
// what they read, at the end the files' bytes.
//
// A case is a seed: HAKOBI_CASE=17 runs that one alone, HAKOBI_CASES=5000 the first 5000 (by default as many
// as take a few seconds). Ranks draw the same numbers for what must be equal among them and their own for the
// rest. Writes of different ranks never share a byte.
//
// The library's side moves the same data packed (MPI_Pack), and so do calls that pass: how the libraries walk
// memory types inside their file functions is not what is tested.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "mpiio/random_types.hpp"
#include "mpiio/side.hpp"

namespace hakobi::mpiio_test {
namespace {

constexpr int file_bytes = 1 << 18;       // before the first step
constexpr int rank_span_elements = 2048;  // in views that all ranks share: each rank stays in its own span

int number_from(const char* variable, int otherwise) {
    const char* text = std::getenv(variable);
    return text != nullptr ? std::atoi(text) : otherwise;
}

class World {
  public:
    World() {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        // Memory where there is a file system of it: the steps sync.
        const bool has_memory = std::getenv("TMPDIR") == nullptr && std::filesystem::is_directory("/dev/shm");
        const std::filesystem::path parent = has_memory ? "/dev/shm" : std::filesystem::temp_directory_path();
        std::string name = (parent / ("hakobi-conformance-" + std::to_string(getpid()))).string();
        name.resize(256, '\0');
        MPI_Bcast(name.data(), 256, MPI_CHAR, 0, MPI_COMM_WORLD);
        folder = name.c_str();
        if (rank == 0) std::filesystem::create_directories(folder);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    ~World() {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) std::filesystem::remove_all(folder);
    }
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    /// Whether it holds on all ranks.
    static bool all(bool mine) {
        int value = mine ? 1 : 0, everywhere = 0;
        MPI_Allreduce(&value, &everywhere, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
        return everywhere != 0;
    }

    int rank = 0, size = 1;
    std::filesystem::path folder;
};

std::string bytes_of_file(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

std::string text_of(int error) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(error, text, &length);
    return text;
}

/// Memory that an access of `count` items touches, with room before and after it, and the address MPI is
/// given.
class Buffer {
  public:
    Buffer(MPI_Datatype type, int count, Random& random) {
        MPI_Count true_lower = 0, true_extent = 0;
        MPI_Type_get_true_extent_x(type, &true_lower, &true_extent);
        const std::int64_t span = extent_of(type) * std::max(count - 1, 0);
        const std::int64_t begin = true_lower + std::min<std::int64_t>(span, 0) - 32;
        const std::int64_t end = true_lower + true_extent + std::max<std::int64_t>(span, 0) + 32;
        bytes_.resize(static_cast<std::size_t>(end - begin));
        for (std::byte& byte : bytes_) byte = static_cast<std::byte>(random.next());
        origin_ = -begin;
    }
    std::byte* origin() { return bytes_.data() + origin_; }
    bool operator==(const Buffer&) const = default;

  private:
    std::vector<std::byte> bytes_;
    std::int64_t origin_ = 0;
};

class Program {
  public:
    Program(World& world, int seed)
        : world_(world),
          common_(static_cast<std::uint64_t>(seed)),
          local_(static_cast<std::uint64_t>(seed) * 1000003 + static_cast<std::uint64_t>(world.rank) + 1),
          common_types_(common_),
          local_types_(local_) {}

    /// Returns "" or, on every rank, what differed first (the detail on the ranks where it did).
    std::string run() {
        for (Side* side : {&ours_, &theirs_}) {
            side->path = (world_.folder / (side == &ours_ ? "ours" : "theirs")).string();
            if (world_.rank == 0) write_initial(side->path);
        }
        draw_hints();
        MPI_Barrier(MPI_COMM_WORLD);
        for (Side* side : {&ours_, &theirs_}) {
            const int error = side->calls.File_open(MPI_COMM_WORLD, side->path.c_str(), MPI_MODE_RDWR,
                                                    MPI_INFO_NULL, &side->file);
            if (error != MPI_SUCCESS) return agree(false, "opening " + side->path + ": " + text_of(error));
        }
        set_view();
        const int num_steps = common_.between(3, 8);
        std::string difference;
        for (int i = 0; i < num_steps && difference.empty(); ++i) difference = step();
        for (Side* side : {&ours_, &theirs_}) side->calls.File_close(&side->file);
        MPI_Barrier(MPI_COMM_WORLD);
        if (difference.empty() && world_.rank == 0 &&
            bytes_of_file(ours_.path) != bytes_of_file(theirs_.path)) {
            difference = "the files differ" + trace_;
        }
        if (World::all(difference.empty())) return "";
        return difference.empty() ? "differs on another rank" : difference;
    }

  private:
    void write_initial(const std::string& path) {
        static const std::string text = [] {
            Random bytes(99);
            std::string made(file_bytes, '\0');
            for (char& c : made) c = static_cast<char>(bytes.next());
            return made;
        }();
        std::ofstream(path, std::ios::binary) << text;
    }

    // Small buffers, so that a few hundred bytes are many cycles.
    void draw_hints() {
        const char* const shuffles[] = {"auto", "always", "never"};
        const char* const accesses[] = {"threads", "posix"};
        std::ostringstream hints;
        hints << "hakobi_shuffle=" << shuffles[common_.between(0, 2)]
              << ";hakobi_access=" << accesses[common_.between(0, 1)]
              << ";hakobi_depth=" << common_.between(1, 4);
        if (!common_.one_in(4)) hints << ";cb_buffer_size=" << (64 << common_.between(0, 8));
        if (common_.one_in(2)) hints << ";cb_nodes=" << common_.between(1, world_.size);
        setenv("HAKOBI_HINTS", hints.str().c_str(), 1);
        const char* const late_views = common_.one_in(3) ? "0" : "1";
        setenv("HAKOBI_LATE_VIEWS", late_views, 1);
        trace_ = " [" + hints.str() + " HAKOBI_LATE_VIEWS=" + late_views + "]";
    }

    void set_view() {
        element_ = common_types_.element();
        is_shared_ = common_.one_in(4);
        const MPI_Datatype filetype =
            is_shared_ ? element_ : common_types_.file(element_, world_.rank, world_.size);
        const MPI_Offset displacement = common_.between(0, 3) * 24;
        for (Side* side : {&ours_, &theirs_}) {
            side->calls.File_set_view(side->file, displacement, element_, filetype, "native", MPI_INFO_NULL);
            if (is_shared_) side->calls.File_seek(side->file, span_begin(), MPI_SEEK_SET);
        }
        trace_ += is_shared_ ? " shared view;" : " view;";
    }

    [[nodiscard]] MPI_Offset span_begin() const { return is_shared_ ? world_.rank * rank_span_elements : 0; }

    std::string step() {
        switch (common_.between(0, 17)) {
            case 0:
            case 16:
                set_view();
                return "";
            case 17:
                return ask_view();
            case 1:
                return seek();
            case 2:
                return change_size();
            case 3:
                for (Side* side : {&ours_, &theirs_}) side->calls.File_sync(side->file);
                trace_ += " sync;";
                return "";
            case 4: {
                const int flag = common_.one_in(2) ? 1 : 0;
                for (Side* side : {&ours_, &theirs_}) side->calls.File_set_atomicity(side->file, flag);
                is_atomic_ = flag != 0;
                trace_ += flag != 0 ? " atomic;" : " not atomic;";
                return "";
            }
            default:
                return move_data();
        }
    }

    std::string seek() {
        const bool is_relative = common_.one_in(2);
        const MPI_Offset offset = local_.between(0, 20);
        MPI_Offset positions[2] = {-1, -1};
        int i = 0;
        for (Side* side : {&ours_, &theirs_}) {
            side->calls.File_seek(side->file, is_relative ? offset : span_begin() + offset,
                                  is_relative ? MPI_SEEK_CUR : MPI_SEEK_SET);
            side->calls.File_get_position(side->file, &positions[i++]);
        }
        trace_ += " seek;";
        return agree(positions[0] == positions[1], "positions differ after a seek");
    }

    // Compares both sides' view: the displacement, what the types are made of, and where an offset lies.
    std::string ask_view() {
        const MPI_Offset offset = local_.between(0, 500);
        std::ostringstream answers[2];
        int i = 0;
        for (Side* side : {&ours_, &theirs_}) {
            MPI_Offset displacement = -1, bytes = -1;
            MPI_Datatype types[2] = {MPI_DATATYPE_NULL, MPI_DATATYPE_NULL};
            char representation[MPI_MAX_DATAREP_STRING] = "";
            side->calls.File_get_view(side->file, &displacement, &types[0], &types[1], representation);
            side->calls.File_get_byte_offset(side->file, offset, &bytes);
            answers[i] << displacement << ' ' << representation << ' ' << bytes;
            for (MPI_Datatype& type : types) {
                int num_integers = 0, num_addresses = 0, num_types = 0, combiner = 0;
                MPI_Type_get_envelope(type, &num_integers, &num_addresses, &num_types, &combiner);
                answers[i] << ' ' << (combiner == MPI_COMBINER_NAMED) << ' ' << size_of(type) << ' '
                           << extent_of(type);
                if (combiner != MPI_COMBINER_NAMED) MPI_Type_free(&type);
            }
            ++i;
        }
        trace_ += " get_view;";
        return agree(answers[0].str() == answers[1].str(),
                     "views: " + answers[0].str() + ", the library: " + answers[1].str());
    }

    std::string change_size() {
        const bool is_preallocation = common_.one_in(4);
        // Preallocating within the file: what it appends has no defined contents, and OMPIO leaves other than
        // zeros.
        const MPI_Offset bytes =
            common_.between(file_bytes / 2, is_preallocation ? file_bytes / 2 : 2 * file_bytes);
        MPI_Offset sizes[2] = {-1, -1};
        int i = 0;
        for (Side* side : {&ours_, &theirs_}) {
            if (is_preallocation)
                MPI_File_preallocate(side->file, bytes);
            else
                MPI_File_set_size(side->file, bytes);
            MPI_Barrier(MPI_COMM_WORLD);  // get_size is not collective
            MPI_File_get_size(side->file, &sizes[i++]);
        }
        trace_ += is_preallocation ? " preallocate;" : " set_size;";
        MPI_Barrier(MPI_COMM_WORLD);
        return agree(sizes[0] == sizes[1], "sizes differ");
    }

    std::string move_data() {
        Call call;
        const int kind = common_.between(0, 9);
        call.kind = kind < 5    ? Kind::collective
                    : kind < 7  ? Kind::split
                    : kind == 7 ? Kind::nonblocking_collective
                    : kind == 8 ? Kind::independent
                                : Kind::nonblocking;
        call.is_write = !common_.one_in(3);
        call.has_offset = common_.one_in(2);
        const MPI_Datatype type = local_types_.memory(element_, call.is_write);
        const int per_item = static_cast<int>(size_of(type) / size_of(element_));
        const int count = local_.one_in(6) || per_item == 0 ? 0 : local_.between(1, 1 + 60 / per_item);
        const MPI_Offset offset = span_begin() + local_.between(0, 50);
        if (!call.is_write && !is_inside(call, offset, static_cast<MPI_Offset>(count) * per_item)) return "";

        trace_ += " " + name_of(call) + ";";
        const Random same_random = local_;
        Random fill = same_random, same_fill = same_random;
        Buffer ours(type, count, fill), theirs(type, count, same_fill);
        const bool is_engines = (call.kind == Kind::collective || call.kind == Kind::split ||
                                 call.kind == Kind::nonblocking_collective) &&
                                !is_atomic_;
        const Answer our_answer = is_engines ? access(ours_, call, offset, ours.origin(), count, type)
                                             : access_packed(ours_, call, offset, ours.origin(), count, type);
        const Answer their_answer = access_packed(theirs_, call, offset, theirs.origin(), count, type);
        MPI_Barrier(MPI_COMM_WORLD);  // the next step may read what another rank has written
        std::ostringstream text;
        if (our_answer != their_answer) {
            text << name_of(call) << ": class " << our_answer.error_class << " bytes " << our_answer.bytes
                 << " position " << our_answer.position << ", the library: " << their_answer.error_class
                 << " " << their_answer.bytes << " " << their_answer.position << "; ";
        }
        if (!(ours == theirs)) {
            // The library's independent read says which of the two is wrong.
            Random arbiter_fill = same_random;
            Buffer arbiter(type, count, arbiter_fill);
            const MPI_Offset position =
                call.has_offset ? offset : their_answer.position - static_cast<MPI_Offset>(count) * per_item;
            (void)access_packed(theirs_, {Kind::independent, false, true}, position, arbiter.origin(), count,
                                type);
            text << name_of(call) << ": memory differs, "
                 << (ours == arbiter     ? "the library's"
                     : theirs == arbiter ? "the drop-in's"
                                         : "either")
                 << " is wrong; ";
        }
        return agree(text.str().empty(), text.str());
    }

    // Whether all ranks read inside the file: at its end the libraries differ from each other
    // (end_of_file_test.cpp).
    bool is_inside(const Call& call, MPI_Offset offset, MPI_Offset elements) {
        MPI_Offset from = offset, end = 0, size = 0;
        if (!call.has_offset) theirs_.calls.File_get_position(theirs_.file, &from);
        MPI_File_get_byte_offset(theirs_.file, from + elements + 1, &end);
        MPI_File_get_size(theirs_.file, &size);
        return World::all(end <= size);
    }

    std::string agree(bool is_equal, const std::string& text) {
        if (World::all(is_equal)) return "";
        return (is_equal ? "differs on another rank" : text) + trace_;
    }

    World& world_;
    Random common_, local_;
    Types common_types_, local_types_;
    Side ours_{Side::through_drop_in()}, theirs_{Side::underneath()};
    MPI_Datatype element_ = MPI_BYTE;
    bool is_shared_ = false;
    bool is_atomic_ = false;
    std::string trace_;
};

TEST(Conformance, TheDropInIsInForce) {
    World world;
    const std::string path = (world.folder / "file").string();
    MPI_File file = MPI_FILE_NULL;
    MPI_Info info = MPI_INFO_NULL;
    ASSERT_EQ(
        MPI_File_open(MPI_COMM_WORLD, path.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file),
        MPI_SUCCESS);
    ASSERT_EQ(MPI_File_get_info(file, &info), MPI_SUCCESS);
    char value[64] = "";
    int is_set = 0;
    MPI_Info_get(info, "hakobi_access", 63, value, &is_set);
    EXPECT_NE(is_set, 0) << "the MPI library's own functions are called";
    MPI_Info_free(&info);
    MPI_File_close(&file);
}

TEST(Conformance, RomiosNamesSetTheEnginesHints) {
    World world;
    const std::string path = (world.folder / "file").string();
    MPI_File file = MPI_FILE_NULL;
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_ds_write", "disable");
    MPI_Info_set(info, "cb_config_list", "*:3");
    ASSERT_EQ(MPI_File_open(MPI_COMM_WORLD, path.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file),
              MPI_SUCCESS);
    MPI_Info_free(&info);
    ASSERT_EQ(MPI_File_get_info(file, &info), MPI_SUCCESS);
    char holes[64] = "", aggregators[64] = "";
    int is_set = 0;
    MPI_Info_get(info, "hakobi_holes", 63, holes, &is_set);
    MPI_Info_get(info, "hakobi_aggregators_per_node", 63, aggregators, &is_set);
    EXPECT_STREQ(holes, "untouched");
    EXPECT_STREQ(aggregators, "3");
    MPI_Info_free(&info);
    MPI_File_close(&file);
}

// ROMIO takes a list of hosts there, and everybody takes the hints beside one that nobody can read.
TEST(Conformance, OneHintThatIsNotReadLeavesTheOthers) {
    World world;
    const std::string path = (world.folder / "file").string();
    MPI_File file = MPI_FILE_NULL;
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    char host[MPI_MAX_PROCESSOR_NAME + 8] = "";
    int length = 0;
    MPI_Get_processor_name(host, &length);
    std::strcat(host, ":1");
    MPI_Info_set(info, "cb_config_list", host);
    MPI_Info_set(info, "hakobi_depth", "deep");
    MPI_Info_set(info, "hakobi_shuffle", "always");
    ASSERT_EQ(MPI_File_open(MPI_COMM_WORLD, path.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file),
              MPI_SUCCESS);
    MPI_Info_free(&info);
    testing::internal::CaptureStderr();
    char byte = 'x';
    MPI_File_write_at_all(file, world.rank, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(said.find("cb_config_list"), std::string::npos) << said;
    EXPECT_EQ(said.find("hakobi_depth") == std::string::npos, world.rank != 0) << said;
    ASSERT_EQ(MPI_File_get_info(file, &info), MPI_SUCCESS);
    char shuffle[64] = "";
    int is_set = 0;
    MPI_Info_get(info, "hakobi_shuffle", 63, shuffle, &is_set);
    EXPECT_STREQ(shuffle, "always");
    MPI_Info_free(&info);
    MPI_File_close(&file);
}

TEST(Conformance, EveryProgramDoesTheSameWithAndWithoutTheDropIn) {
    World world;
    const int only = number_from("HAKOBI_CASE", -1);
#ifdef OPEN_MPI
    constexpr int by_default = 500;
#else
    constexpr int by_default = 100;  // MPICH polls without yielding: more ranks than idle cores take long
#endif
    const int num_cases = number_from("HAKOBI_CASES", world.size == 1 ? 1000 : by_default);
    int num_failed = 0;
    for (int seed = only >= 0 ? only : 0; seed < (only >= 0 ? only + 1 : num_cases) && num_failed < 5;
         ++seed) {
        const std::string difference = Program(world, seed).run();
        if (difference.empty()) continue;
        ++num_failed;
        ADD_FAILURE() << "case " << seed << " on " << world.size << " ranks: " << difference;
    }
}

}  // namespace
}  // namespace hakobi::mpiio_test
