#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "store/format.hpp"
#include "store/place.hpp"

namespace hakobi::store {

/// The values that one keyword has in a group: code by value, and the values' order.
class Dictionary {
  public:
    std::uint32_t code_of(std::string_view value);  ///< makes one for a new value
    /// The code, or num_values() where there is none.
    [[nodiscard]] std::uint32_t find(std::string_view value) const;
    [[nodiscard]] const std::string& value(std::uint32_t code) const { return values_[code]; }
    [[nodiscard]] std::uint32_t num_values() const noexcept {
        return static_cast<std::uint32_t>(values_.size());
    }
    /// The place of each code's value among all values, by value_less.
    [[nodiscard]] const std::vector<std::uint32_t>& ranks() const noexcept { return ranks_; }
    void rank();  ///< brings ranks() up to date

  private:
    struct TextHash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const noexcept {
            return std::hash<std::string_view>()(text);
        }
    };
    std::vector<std::string> values_;
    std::unordered_map<std::string, std::uint32_t, TextHash, std::equal_to<>> codes_;
    std::vector<std::uint32_t> ranks_;
};

/// Fields of a group by column; row r has its codes at codes[r * num_keywords].
struct Columns {
    std::vector<std::uint32_t> codes, forms, files;
    std::vector<std::int64_t> offsets, lengths, stamps;
    std::vector<std::uint64_t> checksums;
    [[nodiscard]] std::size_t num_rows() const noexcept { return offsets.size(); }
};

struct Group {
    GroupName name;
    std::vector<Dictionary> dictionaries;  ///< one for each field keyword
    Dictionary forms;
    Columns rows;  ///< as they came; never reordered
    /// Rows in key order, of equal keys the latest first; the first `order.size()` rows.
    std::vector<std::uint32_t> order;
    /// The text that all keys of the group have in common (append_key_text): with it ten thousand keys are
    /// written in a few milliseconds.
    struct KeyText {
        std::string upper;                     ///< "class=od,…": the levels above the fields'
        std::vector<std::string> upper_empty;  ///< keywords there that the fields have no value of
        std::vector<std::string> keywords;     ///< "step=": before each value of the fields' own
        struct Addition {
            std::vector<std::string> adds;  ///< keywords of another rule of the schema, which the group lacks
            std::vector<std::size_t>
                unless;  ///< field keywords that the other rule lacks: does one have a value?
        };
        std::vector<Addition> additions;
    } key_text;
    /// Rows below this are in `order` as they are: a consolidated catalogue has them sorted.
    std::size_t num_sorted = 0;

    [[nodiscard]] std::size_t num_keywords() const noexcept { return dictionaries.size(); }
    /// Negative, 0, positive: by the keys' order alone.
    [[nodiscard]] int compare(std::uint32_t row, std::uint32_t other) const;
    void sort();
};

/// The identity of a group: its packed name.
std::string identity_of(const GroupName& name);
std::string identity_of(const SplitKey& key);

/// A data file that rows point to.
struct DataFile {
    std::string stem;
    std::uint64_t id = 0;
    std::int64_t index_bytes = 0;     ///< of its index, read so far
    std::int64_t data_end_bytes = 0;  ///< by the last record
    std::uint64_t num_records = 0;
};

/// The contents of the indexes: all fields, by group. Rows and values are only ever added. Readers hold the
/// mutex shared.
struct Catalogue {
    mutable std::shared_mutex mutex;
    std::vector<std::unique_ptr<Group>> groups;
    std::unordered_map<std::string, std::uint32_t> group_numbers;  ///< by identity
    std::vector<DataFile> files;
    PlacePtr place;                               ///< where the data lies
    std::vector<std::vector<std::string>> rules;  ///< the keywords of each of the schema's rules

    [[nodiscard]] std::pair<std::string, std::int64_t> data_place(std::uint32_t file,
                                                                  std::int64_t offset_bytes) const {
        return place->data_place(files[file].stem, offset_bytes);
    }
    Group& group(const GroupName& name);
    [[nodiscard]] std::int64_t num_rows() const;
    /// Groups in the order of their names.
    [[nodiscard]] std::vector<std::uint32_t> group_order() const;
    /// Brings every group's `order` up to date.
    void sort();
};

/// A field in a catalogue.
struct RowReference {
    std::uint32_t group = 0;
    std::uint32_t row = 0;
};

/// Adds a commit's rows, those left out that `wiped` names (offsets in the same file).
void add_rows(Catalogue& catalogue, const GroupRows& rows, std::uint32_t file, std::int64_t stamp_ns,
              const std::set<std::int64_t>& wiped);

}  // namespace hakobi::store
