#include "contender.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <hakobi/grib.hpp>

#include "fdb/fdb.hpp"
#include "storage/objects.hpp"
#include "storage/place.hpp"

namespace hakobi::bench {
namespace {

constexpr int params[] = {130, 131, 132, 155};
constexpr std::int64_t num_levels = 100;
constexpr std::int64_t retrieve_each = 7;

void put_big_endian(std::span<std::byte> to, std::uint32_t value) {
    for (int i = 0; i < 4; ++i)
        to[static_cast<std::size_t>(i)] = static_cast<std::byte>(value >> (24 - 8 * i));
}

[[noreturn]] void fail(const char* what, const std::string& path) {
    throw Error(ErrorCode::io, std::string(what) + " " + path + ": " + std::strerror(errno));
}

class HakobiContender : public Contender {
  public:
    explicit HakobiContender(std::string folder) : folder_(std::move(folder)) {}
    void archive(Fields& fields, bool is_keyed) override {
        Store store = Store::open(folder_, {.schema = "weather"});
        for (std::int64_t i = 0; i < fields.size(); ++i) {
            if (is_keyed) {
                store.archive(fields.key(i), fields.message(i), "grib");
            } else {
                store.archive_grib(fields.message(i));
            }
        }
        store.flush();
        store.close();
    }
    std::int64_t retrieve(Fields& fields) override {
        const Store store = Store::open(folder_);
        std::int64_t total = 0;
        for (std::int64_t i = 0; i < fields.size(); i += retrieve_each) {
            const std::vector<std::byte> bytes = store.retrieve(fields.key(i));
            check(bytes, fields.message(i));
            total += static_cast<std::int64_t>(bytes.size());
        }
        return total;
    }
    std::int64_t list() override {
        const Store store = Store::open(folder_);
        const Listing all = store.list();
        std::string text;
        for (std::int64_t i = 0; i < all.size(); ++i) {
            text.clear();
            all.append_text(i, text);
        }
        return all.size();
    }
    static void check(std::span<const std::byte> got, std::span<const std::byte> expected) {
        // memcmp: a loop over bytes takes as long as the read itself.
        if (got.size() != expected.size() || std::memcmp(got.data(), expected.data(), got.size()) != 0)
            throw Error(ErrorCode::format, "a field came back with other bytes");
    }

  private:
    std::string folder_;
};

class FdbContender : public Contender {
  public:
    explicit FdbContender(const std::string& folder) {
        // As `weather` has it; FDB has no type for levtype.
        const std::string schema = folder + ".schema", data = folder + "/data";
        std::filesystem::create_directories(data);
        std::ofstream(schema) << "[ class, expver, stream=oper, date, time, domain?\n"
                                 "  [ type, levtype\n    [ step, levelist?, param ] ] ]\n";
        yaml_ = "{type: local, engine: toc, schema: " + schema +
                ", spaces: [{handler: Default, roots: [{path: " + data + "}]}]}";
    }
    void archive(Fields& fields, bool is_keyed) override {
        fdb::Fdb store(yaml_);
        for (std::int64_t i = 0; i < fields.size(); ++i) {
            if (is_keyed) {
                store.archive(fields.key(i).entries(), fields.message(i));
            } else {
                store.archive_message(fields.message(i));
            }
        }
        store.flush();
    }
    std::int64_t retrieve(Fields& fields) override {
        fdb::Fdb store(yaml_);
        std::int64_t total = 0;
        for (std::int64_t i = 0; i < fields.size(); i += retrieve_each) {
            const std::vector<std::byte> bytes = store.retrieve(fields.key(i).entries());
            HakobiContender::check(bytes, fields.message(i));
            total += static_cast<std::int64_t>(bytes.size());
        }
        return total;
    }
    std::int64_t list() override {
        fdb::Fdb store(yaml_);
        return static_cast<std::int64_t>(store.list({{"class", "rd"}}));
    }

  private:
    std::string yaml_;
};

/// The floor: the same bytes, one write a field, then one sync each of the data, of a second small file and
/// of the folder, as the store's flush has them; read back at offsets that are known.
class DdContender : public Contender {
  public:
    DdContender(std::string folder, int process) : folder_(std::move(folder)), process_(process) {}
    void archive(Fields& fields, bool) override {
        std::filesystem::create_directories(folder_);
        const int data = open_file("data", O_WRONLY | O_CREAT | O_TRUNC),
                  index = open_file("index", O_WRONLY | O_CREAT | O_TRUNC);
        for (std::int64_t i = 0; i < fields.size(); ++i) {
            for (std::span<const std::byte> rest = fields.message(i); !rest.empty();) {
                const ssize_t written = ::write(data, rest.data(), rest.size());
                if (written < 0 && errno == EINTR) continue;
                if (written <= 0) fail("cannot write", folder_);
                rest = rest.subspan(static_cast<std::size_t>(written));
            }
        }
        const std::vector<char> small(4096);
        if (::write(index, small.data(), small.size()) != static_cast<ssize_t>(small.size()))
            fail("cannot write", folder_);
        const int folder = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (::fdatasync(data) != 0 || ::fdatasync(index) != 0 || ::fsync(folder) != 0)
            fail("cannot sync", folder_);
        for (const int file : {data, index, folder}) ::close(file);
    }
    std::int64_t retrieve(Fields& fields) override {
        const int data = open_file("data", O_RDONLY);
        std::vector<std::byte> bytes(static_cast<std::size_t>(fields.message_bytes()));
        std::int64_t total = 0;
        for (std::int64_t i = 0; i < fields.size(); i += retrieve_each) {
            total += ::pread(data, bytes.data(), bytes.size(), i * fields.message_bytes());
            HakobiContender::check(bytes, fields.message(i));
        }
        ::close(data);
        return total;
    }
    std::int64_t list() override { return -1; }

  private:
    int open_file(const std::string& name, int flags) const {
        const std::string path = folder_ + "/" + name + std::to_string(process_);
        const int file = ::open(path.c_str(), flags | O_CLOEXEC, 0666);
        if (file < 0) fail("cannot open", path);
        return file;
    }
    std::string folder_;
    int process_;
};

}  // namespace

Fields::Fields(std::int64_t field_bytes, std::int64_t num_fields, int process)
    : num_fields_(num_fields), process_(process) {
    // Two bytes a value, on a grid whose rows are equal; what is not values takes about 300 bytes.
    const std::int64_t columns =
        std::max<std::int64_t>(4, static_cast<std::int64_t>(std::sqrt(static_cast<double>(field_bytes) / 4)));
    const std::int64_t rows = std::max<std::int64_t>(1, field_bytes / 4 / columns) * 2;
    const GribEncoder encoder(
        {.points_per_row = std::vector<std::int64_t>(static_cast<std::size_t>(rows), columns)});
    std::vector<double> values(static_cast<std::size_t>(encoder.num_values()));
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = std::sin(0.37 * static_cast<double>(i)) + process;
    for (const int param : params) {
        messages_.push_back(encoder.encode(key(0).set("param", std::to_string(param)), values));
        const std::vector<std::byte>& message = messages_.back();
        std::size_t at = 16;
        while (message[at + 4] != std::byte{4}) {
            std::uint32_t length = 0;
            for (std::size_t i = 0; i < 4; ++i)
                length = length << 8 | std::to_integer<std::uint32_t>(message[at + i]);
            at += length;
        }
        product_.push_back(at);
    }
}

Key Fields::key(std::int64_t field) const {
    const std::int64_t param = field % 4, level = field / 4 % num_levels, step = field / 4 / num_levels;
    Key key;
    key.set("class", "rd").set("stream", "oper").set("expver", "hako").set("type", "fc").set("levtype", "pl");
    key.set("date", std::to_string(20110101 + process_))
        .set("time", "0000")
        .set("step", std::to_string(step));
    key.set("levelist", std::to_string(level + 1)).set("param", std::to_string(params[param]));
    return key;
}

std::span<const std::byte> Fields::message(std::int64_t field) {
    std::vector<std::byte>& message = messages_[static_cast<std::size_t>(field % 4)];
    const std::span<std::byte> product =
        std::span(message).subspan(product_[static_cast<std::size_t>(field % 4)]);
    // Octets 19 to 22 and 24 to 28 of section 4 (template 0): hours of forecast; factor and pressure in Pa.
    put_big_endian(product.subspan(18), static_cast<std::uint32_t>(field / 4 / num_levels));
    product[23] = std::byte{0};
    put_big_endian(product.subspan(24), static_cast<std::uint32_t>((field / 4 % num_levels + 1) * 100));
    return message;
}

bool is_place(const std::string& name) {
    return storage::limits_of(name).is_on_objects;
}

void remove_objects(const std::string& prefix) {
    const auto objects = storage::open_objects(prefix);
    objects.status().throw_if_error();
    const auto listing = objects.value()->list({});
    listing.status().throw_if_error();
    for (const storage::ListedObject& object : listing.value().objects)
        objects.value()->remove(object.name).throw_if_error();
}

std::unique_ptr<Contender> make_contender(const std::string& name, const std::string& folder, int process) {
    if (name == "hakobi" || is_place(name)) return std::make_unique<HakobiContender>(folder);
    if (name == "fdb") return std::make_unique<FdbContender>(folder);
    if (name == "dd") return std::make_unique<DdContender>(folder, process);
    throw Error(ErrorCode::invalid_argument, "contender '" + name + "': hakobi, fdb and dd are there");
}

}  // namespace hakobi::bench
