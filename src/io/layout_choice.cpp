#include "io/layout_choice.hpp"

#include <algorithm>

#include "io/policy.hpp"

namespace hakobi::io {
namespace {

using storage::LayoutFacts;
using storage::LayoutWish;

std::string count_text(std::int64_t count, const std::string& what) {
    return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

/// The stripes of a file of the folder, in the part that holds the bulk of a large one.
int folder_stripes(const LayoutFacts& facts) {
    return std::max(facts.of_folder.num_stripes(), 1);
}

class Asked {
  public:
    Asked(const EngineOptions& options, const LayoutFacts& facts) : options_(options), facts_(facts) {}

    LayoutChoice choose() {
        LayoutWish wish;
        wish.stripe_bytes = stripe_bytes();
        const int ratio = overstriping();
        const int servers = num_servers();
        wish.overstripes = ratio > 1;
        wish.num_servers = ratio > 1 ? std::max(servers, 0) : 0;
        if (servers == LayoutWish::all && ratio == 1) {
            wish.num_stripes = LayoutWish::all;
        } else {
            const std::int64_t stripes = std::int64_t{std::max(servers, 1)} * ratio;
            wish.num_stripes = static_cast<int>(std::min<std::int64_t>(stripes, policy_limits::most_stripes));
            if (stripes > policy_limits::most_stripes)
                remark("a file has at most " + std::to_string(policy_limits::most_stripes) + " stripes",
                       "striping_factor", stripes);
        }
        wish.first_server = first_server();
        choice_.wish = wish;
        choice_.why = "asked for by hints";
        return std::move(choice_);
    }

  private:
    void remark(const std::string& done, const std::string& hint, std::int64_t value) {
        choice_.remarks.push_back(hint + "=" + std::to_string(value) + ": " + done);
    }

    std::int64_t stripe_bytes() {
        const std::int64_t asked = options_.striping_unit_bytes;
        if (asked == 0) return facts_.of_folder.stripe_bytes();
        const std::int64_t rounded = (asked + facts_.unit_bytes - 1) / facts_.unit_bytes * facts_.unit_bytes;
        if (rounded != asked)
            remark("stripes are multiples of " + std::to_string(facts_.unit_bytes) + " bytes there; " +
                       std::to_string(rounded) + " it is",
                   "striping_unit", asked);
        return rounded;
    }

    int overstriping() {
        const int asked = std::max(options_.overstriping_ratio, 1);
        if (asked == 1 || facts_.overstripes) return asked;
        remark("a server has one stripe of a file on " + std::string(facts_.file_system),
               "overstriping_ratio", asked);
        return 1;
    }

    int num_servers() {
        const int asked = options_.striping_factor;
        if (asked == 0) return folder_servers();
        if (asked < 0 && facts_.spreads_objects) {
            remark("how many servers there are is not known; the folder's number of stripes",
                   "striping_factor", asked);
            return folder_servers();
        }
        if (asked < 0) return facts_.num_servers > 0 ? facts_.num_servers : LayoutWish::all;
        if (facts_.num_servers == 0 || asked <= facts_.num_servers) return asked;
        remark("the file system has " + count_text(facts_.num_servers, "server"), "striping_factor", asked);
        return facts_.num_servers;
    }

    [[nodiscard]] int folder_servers() const {
        const int servers = facts_.of_folder.num_servers();
        return servers > 0 ? servers : folder_stripes(facts_);
    }

    int first_server() {
        const int asked = options_.start_iodevice;
        if (asked < 0) return -1;
        if (!facts_.has_first_server) {
            remark("a hash chooses servers on " + std::string(facts_.file_system), "start_iodevice", asked);
        } else if (facts_.num_servers > 0 && asked >= facts_.num_servers) {
            remark("servers are numbered from 0 to " + std::to_string(facts_.num_servers - 1) +
                       "; the file system chooses one",
                   "start_iodevice", asked);
        } else {
            return asked;
        }
        return -1;
    }

    const EngineOptions& options_;
    const LayoutFacts& facts_;
    LayoutChoice choice_;
};

LayoutChoice left(std::string why) {
    LayoutChoice choice;
    choice.why = std::move(why);
    return choice;
}

LayoutChoice automatic(const LayoutFacts& facts, int num_nodes, std::int64_t size_bytes) {
    const int nodes = std::max(num_nodes, 1);
    std::int64_t stripes = std::int64_t{nodes} * policy().auto_stripes_a_node;
    std::string why = "for " + count_text(nodes, "node");
    if (stripes > facts.num_servers) {
        stripes = facts.num_servers;
        why += ", on all " + count_text(facts.num_servers, "server");
    }
    if (size_bytes > 0 && stripes > size_bytes / policy().least_auto_stripe_share) {
        stripes = std::max<std::int64_t>(1, size_bytes / policy().least_auto_stripe_share);
        why += ", no more for " + std::to_string(size_bytes) + " bytes";
    }
    const std::string wanted = count_text(stripes, "stripe") + " would do " + why;
    if (stripes <= folder_stripes(facts))
        return left("the folder's layout has as many stripes as help: " + wanted);
    LayoutChoice choice;
    choice.wish =
        LayoutWish{.num_stripes = static_cast<int>(stripes), .stripe_bytes = facts.of_folder.stripe_bytes()};
    choice.why = "chosen " + why;
    return choice;
}

}  // namespace

LayoutChoice choose_layout(const EngineOptions& options, const LayoutFacts& facts, int num_nodes,
                           std::int64_t size_bytes) {
    if (facts.file_system.empty()) return {};
    const bool is_asked = options.striping_factor != 0 || options.striping_unit_bytes > 0 ||
                          options.start_iodevice >= 0 || options.overstriping_ratio > 1;
    if (is_asked) return Asked(options, facts).choose();
    if (options.layout == "folder") return left("the folder's, as hakobi_layout says");
    if (facts.is_folders_own) return left("the folder's, which somebody has chosen");
    if (facts.spreads_objects) return left("the folder's: its objects lie on all servers");
    if (facts.num_servers == 0) return left("the folder's: the number of servers is not known");
    return automatic(facts, num_nodes, size_bytes);
}

Hints hints_of(const storage::Layout& layout) {
    Hints hints;
    if (layout.num_stripes() == 0) return hints;
    const int servers = layout.num_servers() > 0 ? layout.num_servers() : layout.num_stripes();
    hints["striping_factor"] = std::to_string(servers);
    hints["striping_unit"] = std::to_string(layout.stripe_bytes());
    hints["overstriping_ratio"] = std::to_string((layout.num_stripes() + servers - 1) / servers);
    const std::vector<int>& known = layout.parts.back().striping.servers;
    if (!known.empty()) hints["start_iodevice"] = std::to_string(known.front());
    return hints;
}

}  // namespace hakobi::io
