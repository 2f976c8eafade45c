#include <atomic>
#include <cmath>
#include <hakobi/grib.hpp>
#include <map>
#include <utility>

#include "format/grib/eccodes.hpp"

// Steps of encode:
//  1. The key is split into what a template is made for (all but step and level) and those two.
//  2. The template is this thread's for the encoder and that part of the key; made from one of ecCodes'
//     samples.
//  3. Step, level and values are set, and the message is copied out. They replace one another completely: no
//     field sees what was encoded before it.

namespace hakobi {
namespace {

using format::grib::Eccodes;

/// Sets keys of an ecCodes handle and keeps the first error; the caller holds ecCodes' mutex.
class Setter {
  public:
    Setter(const Eccodes& eccodes, grib_handle* handle) : eccodes_(eccodes), handle_(handle) {}

    void set(const char* key, long value) {
        note(eccodes_.set_long(handle_, key, value), key, std::to_string(value));
    }
    void set(const char* key, const std::string& value) {
        std::size_t length = value.size();
        note(eccodes_.set_string(handle_, key, value.c_str(), &length), key, value);
    }
    void set(const char* key, std::span<const double> values) {
        note(eccodes_.set_double_array(handle_, key, values.data(), values.size()), key,
             std::to_string(values.size()) + " numbers");
    }
    void set(const char* key, const std::vector<long>& values) {
        note(eccodes_.set_long_array(handle_, key, values.data(), values.size()), key,
             std::to_string(values.size()) + " numbers");
    }
    [[nodiscard]] const Status& status() const { return status_; }

  private:
    void note(int error, const char* key, const std::string& value) {
        status_.keep_first(eccodes_.status(error, std::string("GRIB 2 does not take ") + key + "=" + value,
                                           ErrorCode::invalid_argument));
    }

    const Eccodes& eccodes_;
    grib_handle* handle_;
    Status status_;
};

[[noreturn]] void refuse(const std::string& text) {
    throw Error(ErrorCode::invalid_argument, text);
}

long number_of(std::string_view keyword, std::string_view text) {
    std::size_t used = 0;
    long value = 0;
    try {
        value = std::stol(std::string(text), &used);
    } catch (const std::exception&) {
        used = 0;
    }
    if (used == 0 || used != text.size())
        refuse(std::string(keyword) + "=" + std::string(text) + ": a whole number is needed");
    return value;
}

Eccodes& library() {
    Result<Eccodes*> loaded = Eccodes::get();
    loaded.status().throw_if_error();
    return *loaded.value();
}

using Template = std::shared_ptr<format::grib::Handle>;

/// Templates that a thread has prepared, by encoder and the part of the key that a template is made for.
using Prepared = std::map<std::pair<std::int64_t, std::string>, Template>;

/// Handles are ecCodes': those of a thread that ends are deleted under its mutex.
struct ThreadPrepared {
    Prepared all;
    ~ThreadPrepared() { clear(); }
    void clear() {
        if (all.empty()) return;
        const std::lock_guard lock(library().mutex);
        all.clear();
    }
};
thread_local ThreadPrepared prepared;
constexpr std::size_t max_prepared = 256;

constexpr std::string_view varying[] = {"step", "levelist"};
constexpr std::string_view known[] = {"class", "stream",  "expver", "date", "time",    "type",
                                      "param", "levtype", "number", "step", "levelist"};

template <class Names>
bool is_in(const Names& names, std::string_view name) {
    for (const std::string_view one : names) {
        if (one == name) return true;
    }
    return false;
}

}  // namespace

struct HAKOBI_HIDDEN GribEncoder::Impl {
    GribGrid grid;
    GribPacking packing;
    std::int64_t num_values = 0;
    std::int64_t id = 0;

    [[nodiscard]] bool is_spectral() const { return grid.points_per_row.empty(); }
    [[nodiscard]] Template make_template(const Key& key) const;
    void set_grid(Setter& setter) const;
};

void GribEncoder::Impl::set_grid(Setter& setter) const {
    if (is_spectral()) {
        for (const char* key : {"J", "K", "M"}) setter.set(key, grid.truncation);
        // The largest scales as 32-bit numbers beside the packed ones: 20 in ECMWF's model.
        const long unpacked = std::min(20, grid.truncation - 1);
        for (const char* key : {"JS", "KS", "MS"}) setter.set(key, unpacked);
        return;
    }
    const auto rows = static_cast<long>(grid.points_per_row.size());
    long most = 0;
    for (const std::int64_t points : grid.points_per_row) most = std::max(most, static_cast<long>(points));
    setter.set("N", rows / 2);
    setter.set("Nj", rows);
    setter.set("pl", std::vector<long>(grid.points_per_row.begin(), grid.points_per_row.end()));
    setter.set("numberOfDataPoints", static_cast<long>(num_values));
    setter.set("numberOfValues", static_cast<long>(num_values));
    // Corners in millionths of a degree: first and last Gaussian latitude, by Newton's method on the Legendre
    // polynomial.
    double root = std::cos(M_PI * 0.75 / (static_cast<double>(rows) + 0.5));
    for (int i = 0; i < 100; ++i) {
        double before = 1, now = root;
        for (long n = 2; n <= rows; ++n) {
            const auto degree = static_cast<double>(n);
            before = std::exchange(now, ((2 * degree - 1) * root * now - (degree - 1) * before) / degree);
        }
        const double slope = static_cast<double>(rows) * (before - root * now) / (1 - root * root);
        root -= now / slope;
    }
    const long top = std::lround(std::asin(root) * 180 / M_PI * 1e6);
    setter.set("latitudeOfFirstGridPoint", top);
    setter.set("longitudeOfFirstGridPoint", 0L);
    setter.set("latitudeOfLastGridPoint", -top);
    setter.set("longitudeOfLastGridPoint", std::lround(360e6 - 360e6 / static_cast<double>(most)));
}

Template GribEncoder::Impl::make_template(const Key& key) const {
    Eccodes& eccodes = library();
    const std::string_view levtype = key.get("levtype");
    if (levtype != "sfc" && levtype != "pl" && levtype != "ml") {
        refuse("levtype=" + std::string(levtype) + ": sfc, pl and ml can be encoded");
    }
    const std::string sample = is_spectral() ? "sh_pl_grib2" : "reduced_gg_pl_32_grib2";
    auto made =
        std::make_shared<format::grib::Handle>(eccodes, eccodes.new_from_samples(nullptr, sample.c_str()));
    if (made->get() == nullptr) {
        throw Error(ErrorCode::unsupported,
                    "ecCodes does not find its sample " + sample + ": is libeccodes-data installed?");
    }
    Setter setter(eccodes, made->get());
    const auto value = [&](const char* keyword, const char* otherwise) {
        const std::string_view given = key.get(keyword);
        return given.empty() ? std::string(otherwise) : std::string(given);
    };
    setter.set("tablesVersion", 28L);
    setter.set("centre", "ecmf");
    setter.set("setLocalDefinition", 1L);
    setter.set("localDefinitionNumber", 1L);
    setter.set("class", value("class", "rd"));
    setter.set("stream", value("stream", "oper"));
    setter.set("type", value("type", "fc"));
    setter.set("expver", value("expver", "0001"));
    setter.set("dataDate", number_of("date", key.get("date")));
    setter.set("dataTime", number_of("time", value("time", "0")));
    if (!key.get("number").empty()) {
        setter.set("productDefinitionTemplateNumber", 1L);
        setter.set("perturbationNumber", number_of("number", key.get("number")));
    }
    set_grid(setter);
    setter.set("typeOfLevel", levtype == "pl" ? "isobaricInhPa" : levtype == "ml" ? "hybrid" : "surface");
    if (levtype == "ml" && !grid.vertical.empty()) {
        setter.set("PVPresent", 1L);
        setter.set("pv", std::span<const double>(grid.vertical));
    }
    setter.set("paramId", number_of("param", key.get("param")));
    if (!is_spectral()) setter.set("packingType", packing.type == "ccsds" ? "grid_ccsds" : "grid_simple");
    setter.set("bitsPerValue", static_cast<long>(packing.bits_per_value));
    setter.status().throw_if_error();
    return made;
}

GribEncoder::GribEncoder(GribGrid grid, GribPacking packing) {
    static std::atomic<std::int64_t> next_id = 0;
    auto impl = std::make_shared<Impl>();
    if (packing.type != "simple" && packing.type != "ccsds")
        refuse("packing '" + packing.type + "': simple and ccsds are there");
    if (packing.bits_per_value < 1 || packing.bits_per_value > 32)
        refuse("bits_per_value is " + std::to_string(packing.bits_per_value) + ", not from 1 to 32");
    if (grid.points_per_row.empty()) {
        if (grid.truncation < 2 || grid.truncation > 21845)
            refuse("a truncation of " + std::to_string(grid.truncation) + " cannot be encoded");
        impl->num_values = std::int64_t{grid.truncation + 1} * (grid.truncation + 2);
    } else {
        if (grid.points_per_row.size() % 2 != 0) refuse("a Gaussian grid has an even number of rows");
        for (const std::int64_t points : grid.points_per_row) {
            if (points < 1 || points > 1 << 20) refuse("a row of " + std::to_string(points) + " points");
            impl->num_values += points;
        }
    }
    if (grid.vertical.size() % 2 != 0)
        refuse("vertical has A and B of each half level: an even number of values");
    (void)library();
    impl->grid = std::move(grid);
    impl->packing = std::move(packing);
    impl->id = next_id.fetch_add(1);
    impl_ = std::move(impl);
}

std::int64_t GribEncoder::num_values() const noexcept {
    return impl_->num_values;
}

std::vector<std::byte> GribEncoder::encode(const Key& key, std::span<const double> values) const {
    if (static_cast<std::int64_t>(values.size()) != impl_->num_values) {
        refuse(std::to_string(values.size()) + " values for a grid of " + std::to_string(impl_->num_values));
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (!std::isfinite(values[i])) refuse("value " + std::to_string(i) + " is not finite");
    }
    std::string constant;
    for (const auto& [keyword, value] : key.entries()) {
        if (!is_in(known, keyword))
            refuse("keyword " + keyword + ": it has no place in the messages that are encoded");
        if (!is_in(varying, keyword)) constant += keyword + "=" + value + ",";
    }
    const bool has_level = key.get("levtype") != "sfc";
    if (has_level != !key.get("levelist").empty()) refuse("levelist goes with levtype pl and ml");
    const long step = number_of("step", key.get("step"));
    const long level = has_level ? number_of("levelist", key.get("levelist")) : 0;

    Eccodes& eccodes = library();
    if (prepared.all.size() >= max_prepared) prepared.clear();
    const std::lock_guard lock(eccodes.mutex);
    Template& chosen = prepared.all[{impl_->id, constant}];
    if (chosen == nullptr) chosen = impl_->make_template(key);
    Setter setter(eccodes, chosen->get());
    setter.set("step", step);
    if (has_level) setter.set("level", level);
    // A constant field leaves 0 bits behind, which the next one would not keep.
    setter.set("bitsPerValue", static_cast<long>(impl_->packing.bits_per_value));
    setter.set("values", values);
    const void* bytes = nullptr;
    std::size_t length = 0;
    Status status = setter.status();
    if (status.ok()) {
        status = eccodes.status(eccodes.get_message(chosen->get(), &bytes, &length), "GRIB message",
                                ErrorCode::internal);
    }
    if (!status.ok()) chosen.reset();  // what a refused value left behind must not stay
    status.throw_if_error();
    const auto* begin = static_cast<const std::byte*>(bytes);
    return {begin, begin + length};
}

}  // namespace hakobi
