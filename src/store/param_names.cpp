#include <algorithm>
#include <array>
#include <utility>

#include "store/value_type.hpp"

namespace hakobi::store {

namespace {

using Name = std::pair<std::string_view, std::string_view>;

// Short names and numbers of ECMWF's parameter database, those of an atmospheric model's usual output; sorted by name.
constexpr std::array table = std::to_array<Name>({
    {"100u", "228246"}, {"100v", "228247"}, {"10fg", "49"},  {"10u", "165"},    {"10v", "166"},
    {"2d", "168"},      {"2t", "167"},      {"al", "174"},   {"asn", "32"},     {"blh", "159"},
    {"cape", "59"},     {"cc", "248"},      {"chnk", "148"}, {"ci", "31"},      {"ciwc", "247"},
    {"clwc", "246"},    {"cp", "143"},      {"crwc", "75"},  {"cswc", "76"},    {"d", "155"},
    {"e", "182"},       {"etadot", "77"},   {"ewss", "180"}, {"fal", "243"},    {"gh", "156"},
    {"hcc", "188"},     {"lcc", "186"},     {"lnsp", "152"}, {"lsm", "172"},    {"lsp", "142"},
    {"mcc", "187"},     {"mn2t6", "122"},   {"msl", "151"},  {"mwd", "140230"}, {"mwp", "140232"},
    {"mx2t6", "121"},   {"nsss", "181"},    {"o3", "203"},   {"pt", "3"},       {"pv", "60"},
    {"q", "133"},       {"r", "157"},       {"ro", "205"},   {"rsn", "33"},     {"sd", "141"},
    {"sf", "144"},      {"skt", "235"},     {"slhf", "147"}, {"sp", "134"},     {"src", "198"},
    {"sshf", "146"},    {"ssr", "176"},     {"ssrd", "169"}, {"sst", "34"},     {"stl1", "139"},
    {"stl2", "170"},    {"stl3", "183"},    {"stl4", "236"}, {"str", "177"},    {"strd", "175"},
    {"strf", "1"},      {"swh", "140229"},  {"swvl1", "39"}, {"swvl2", "40"},   {"swvl3", "41"},
    {"swvl4", "42"},    {"t", "130"},       {"tcc", "164"},  {"tciw", "79"},    {"tclw", "78"},
    {"tcw", "136"},     {"tcwv", "137"},    {"tp", "228"},   {"tsn", "238"},    {"tsr", "178"},
    {"ttr", "179"},     {"u", "131"},       {"v", "132"},    {"vo", "138"},     {"vp", "2"},
    {"w", "135"},       {"z", "129"},
});
static_assert(std::ranges::is_sorted(table));

}  // namespace

std::string_view param_number(std::string_view short_name) {
    const auto* found = std::ranges::lower_bound(table, short_name, {}, &Name::first);
    return found != table.end() && found->first == short_name ? found->second : std::string_view();
}

std::string_view param_name(std::string_view number) {
    const auto* found = std::ranges::find(table, number, &Name::second);
    return found != table.end() ? found->first : std::string_view();
}

}  // namespace hakobi::store
