#include "format/dimensions.hpp"

// Finds the dimensions of fields: those that they name, or the axes that fit.
#include <algorithm>

#include "format/names.hpp"

namespace hakobi::format {
namespace {

Status bad(std::string text) {
    return {ErrorCode::invalid_argument, std::move(text)};
}

/// The file's dimensions while fields find theirs; the axes come first. Length 0: no field has reached it.
class Finder {
  public:
    explicit Finder(const StepDescription& step) : step_(step) {
        for (std::size_t a = 0; a < step.axes.size(); ++a) {
            const auto length = static_cast<std::int64_t>(step.axes[a].values.size());
            found_.all.push_back({step.axes[a].name, length, static_cast<int>(a)});
        }
    }

    Status add(const FieldDescription& field) {
        if (field.place != Place::grid) {
            found_.of_field.emplace_back();
            return {};
        }
        mine_.assign(field.global.size(), -1);
        Status status = !field.dims.empty()  ? take_named(field)
                        : step_.axes.empty() ? share_equal(field)
                                             : guess(field);
        if (!status.ok()) return status;
        for (std::size_t d = 0; d < mine_.size(); ++d) length_of(mine_[d]) = field.global[d];
        found_.of_field.push_back(mine_);
        return {};
    }

    /// An axis without values that no field reached has no length and is not in the file.
    Dimensions take() {
        std::vector<int> place(found_.all.size(), -1);
        std::vector<Dimension> kept;
        for (std::size_t i = 0; i < found_.all.size(); ++i) {
            if (found_.all[i].length == 0) continue;
            place[i] = static_cast<int>(kept.size());
            Dimension dimension = found_.all[i];
            if (dimension.axis >= 0 && step_.axes[static_cast<std::size_t>(dimension.axis)].values.empty())
                dimension.axis = -1;
            kept.push_back(std::move(dimension));
        }
        found_.all = std::move(kept);
        for (std::vector<int>& of_field : found_.of_field) {
            for (int& index : of_field) index = place[static_cast<std::size_t>(index)];
        }
        return std::move(found_);
    }

  private:
    std::int64_t& length_of(int i) { return found_.all[static_cast<std::size_t>(i)].length; }
    [[nodiscard]] std::string named(const std::vector<int>& dims) const {
        std::string text;
        for (const int d : dims)
            text += (text.empty() ? "(" : ", ") + found_.all[static_cast<std::size_t>(d)].name;
        return text + ")";
    }

    Status take_named(const FieldDescription& field) {
        if (field.dims.size() != field.global.size()) {
            return bad("field " + field.name + " names " + std::to_string(field.dims.size()) +
                       " dimensions and has " + std::to_string(field.global.size()));
        }
        for (std::size_t d = 0; d < field.dims.size(); ++d) {
            const std::string& name = field.dims[d];
            if (!is_name(name) || name == "time")
                return bad("field " + field.name + ": '" + name + "' is no name of a dimension");
            const auto at = std::ranges::find(found_.all, name, &Dimension::name);
            const int index = static_cast<int>(at - found_.all.begin());
            if (at == found_.all.end()) {
                found_.all.push_back({name, field.global[d], -1});
            } else if (std::ranges::find(mine_, index) != mine_.end()) {
                return bad("field " + field.name + " names its dimension " + name + " twice");
            } else if (at->length != 0 && at->length != field.global[d]) {
                return bad("field " + field.name + ": its dimension " + name + " has " +
                           std::to_string(field.global[d]) + " points, elsewhere " +
                           std::to_string(at->length));
            }
            mine_[d] = index;
        }
        return {};
    }

    /// Without axes: the n-th dimension of equal length within a field is the n-th such dimension of the
    /// file.
    Status share_equal(const FieldDescription& field) {
        for (std::size_t d = 0; d < field.global.size(); ++d) {
            std::size_t i = 0;
            const auto serves = [&](std::size_t index) {
                return std::ranges::find(unnamed_, static_cast<int>(index)) != unnamed_.end() &&
                       std::ranges::find(mine_, static_cast<int>(index)) == mine_.end() &&
                       found_.all[index].length == field.global[d];
            };
            while (i < found_.all.size() && !serves(i)) ++i;
            if (i == found_.all.size()) {
                const std::string name = "dim_" + std::to_string(i);
                if (std::ranges::find(found_.all, name, &Dimension::name) != found_.all.end())
                    return bad("field " + field.name + ": another field names its dimension " + name);
                found_.all.push_back({name, field.global[d], -1});
                unnamed_.push_back(static_cast<int>(i));
            }
            mine_[d] = static_cast<int>(i);
        }
        return {};
    }

    /// All ways to give the field axes in their order, counted up to two: those whose lengths are known, or
    /// all.
    class Ways {
      public:
        Ways(const FieldDescription& field, const std::vector<Dimension>& all, std::size_t num_axes,
             bool takes_unknown)
            : num_dims_(field.global.size()), num_axes_(num_axes) {
            for (std::size_t d = 0; d < num_dims_; ++d) {
                for (std::size_t a = 0; a < num_axes_; ++a) {
                    fits_.push_back(all[a].length == field.global[d] ||
                                    (takes_unknown && all[a].length == 0));
                }
            }
            counts_.assign((num_dims_ + 1) * (num_axes_ + 1), 0);
            for (std::size_t a = 0; a <= num_axes_; ++a) count(num_dims_, a) = 1;
            for (std::size_t d = num_dims_; d-- > 0;) {
                for (std::size_t a = num_axes_; a-- > 0;)
                    count(d, a) = std::min(2, count(d, a + 1) + taken(d, a));
            }
        }
        [[nodiscard]] int number() { return count(0, 0); }
        [[nodiscard]] std::vector<int> way(int number) {
            std::vector<int> axes;
            for (std::size_t d = 0, a = 0; d < num_dims_; ++a) {
                if (number >= taken(d, a)) {
                    number -= taken(d, a);
                } else {
                    axes.push_back(static_cast<int>(a));
                    ++d;
                }
            }
            return axes;
        }

      private:
        int& count(std::size_t d, std::size_t a) { return counts_[d * (num_axes_ + 1) + a]; }
        int taken(std::size_t d, std::size_t a) { return fits_[d * num_axes_ + a] ? count(d + 1, a + 1) : 0; }
        std::size_t num_dims_, num_axes_;
        std::vector<bool> fits_;
        std::vector<int> counts_;  // from dimension d on, with the axes from a on
    };

    Status guess(const FieldDescription& field) {
        for (const bool takes_unknown : {false, true}) {
            Ways ways(field, found_.all, step_.axes.size(), takes_unknown);
            if (ways.number() == 0) continue;
            mine_ = ways.way(0);
            if (ways.number() == 1) return {};
            return bad("field " + field.name + " of " + extents_text(field.global) +
                       " could have the dimensions " + named(mine_) + " or " + named(ways.way(1)) +
                       ": it must name them (dims)");
        }
        std::string axes;
        for (const Axis& axis : step_.axes) {
            axes += (axes.empty() ? "" : ", ") + axis.name + " " + std::to_string(axis.values.size());
        }
        for (const std::int64_t extent : field.global) {
            const auto is_of = [&](const Dimension& dimension) {
                return dimension.axis >= 0 && (dimension.length == extent || dimension.length == 0);
            };
            if (std::ranges::none_of(found_.all, is_of)) {
                return bad("field " + field.name + " of " + extents_text(field.global) +
                           ": no axis for its extent " + std::to_string(extent) + " (axes: " + axes + ")");
            }
        }
        return bad("field " + field.name + " of " + extents_text(field.global) +
                   ": no axes in this order (axes: " + axes + ")");
    }

    const StepDescription& step_;
    Dimensions found_;
    std::vector<int> mine_;     // of the present field
    std::vector<int> unnamed_;  // dim_0, dim_1, …
};

}  // namespace

Result<Dimensions> dimensions_of(const StepDescription& step) {
    Finder finder(step);
    for (const FieldDescription& field : step.fields) {
        if (Status status = finder.add(field); !status.ok()) return status;
    }
    return finder.take();
}

}  // namespace hakobi::format
