#include <algorithm>
#include <array>
#include <utility>

#include "store/value_type.hpp"

namespace hakobi::store {

namespace {

using Name = std::pair<std::string_view, std::string_view>;

// Short names and numbers of ECMWF's parameter database, those of atmospheric models' usual output; sorted by
// name.
constexpr std::array table = std::to_array<Name>({
    {"100u", "228246"},   {"100v", "228247"},   {"10fg", "49"},      {"10u", "165"},      {"10v", "166"},
    {"10wdir", "260260"}, {"2d", "168"},        {"2r", "260242"},    {"2sh", "174096"},   {"2t", "167"},
    {"4lftx", "260128"},  {"5wava", "260084"},  {"5wavh", "260080"}, {"absv", "3041"},    {"acpcp", "3063"},
    {"al", "174"},        {"asn", "32"},        {"blh", "159"},      {"btmp", "194"},     {"cape", "59"},
    {"cc", "248"},        {"cfrzr", "260030"},  {"chnk", "148"},     {"ci", "31"},        {"cicep", "260031"},
    {"cin", "228001"},    {"ciwc", "247"},      {"clwc", "246"},     {"clwmr", "260018"}, {"cp", "143"},
    {"cprat", "260033"},  {"crain", "260029"},  {"crwc", "75"},      {"csnow", "260032"}, {"cswc", "76"},
    {"cwat", "260102"},   {"cwork", "260111"},  {"d", "155"},        {"den", "3089"},     {"dlwrf", "260097"},
    {"dslm", "3082"},     {"dswrf", "260087"},  {"e", "182"},        {"etadot", "77"},    {"ewss", "180"},
    {"fal", "243"},       {"fldcp", "260483"},  {"gflux", "260186"}, {"gh", "156"},       {"gpa", "3027"},
    {"gust", "260065"},   {"hcc", "188"},       {"hlcy", "260125"},  {"icaht", "3005"},   {"icec", "3091"},
    {"ishf", "231"},      {"lcc", "186"},       {"lftx", "260127"},  {"lhtfl", "260002"}, {"lnsp", "152"},
    {"lsm", "172"},       {"lsp", "142"},       {"mcc", "187"},      {"mld", "3067"},     {"mn2t6", "122"},
    {"msl", "151"},       {"mslet", "260317"},  {"mwd", "140230"},   {"mwp", "140232"},   {"mx2t6", "121"},
    {"nsss", "181"},      {"o3", "203"},        {"o3mr", "260131"},  {"orog", "228002"},  {"pevpr", "260037"},
    {"pli", "3024"},      {"prate", "3059"},    {"pres", "54"},      {"prmsl", "260074"}, {"pt", "3"},
    {"pv", "60"},         {"pwat", "3054"},     {"q", "133"},        {"r", "157"},        {"ro", "205"},
    {"rsn", "33"},        {"sd", "141"},        {"sde", "3066"},     {"sdwe", "260056"},  {"sf", "144"},
    {"shww", "140234"},   {"skt", "235"},       {"slhf", "147"},     {"sm", "228039"},    {"soilw", "260185"},
    {"sp", "134"},        {"sr", "173"},        {"src", "198"},      {"sshf", "146"},     {"ssr", "176"},
    {"ssrd", "169"},      {"sst", "34"},        {"st", "228139"},    {"stl1", "139"},     {"stl2", "170"},
    {"stl3", "183"},      {"stl4", "236"},      {"str", "177"},      {"strd", "175"},     {"strf", "1"},
    {"sund", "189"},      {"sunsd", "7001292"}, {"swdir", "3104"},   {"swh", "140229"},   {"swvl1", "39"},
    {"swvl2", "40"},      {"swvl3", "41"},      {"swvl4", "42"},     {"t", "130"},        {"tcc", "164"},
    {"tciw", "79"},       {"tclw", "78"},       {"tcw", "136"},      {"tcwv", "137"},     {"tmax", "3015"},
    {"tmin", "3016"},     {"tozne", "260130"},  {"tp", "228"},       {"trpp", "228045"},  {"tsn", "238"},
    {"tsr", "178"},       {"ttr", "179"},       {"u", "131"},        {"u-gwd", "260081"}, {"uflx", "260062"},
    {"ulwrf", "260098"},  {"ustm", "260070"},   {"uswrf", "260088"}, {"v", "132"},        {"v-gwd", "260082"},
    {"vflx", "260063"},   {"vis", "3020"},      {"vo", "138"},       {"vp", "2"},         {"vstm", "260071"},
    {"vwsh", "260068"},   {"w", "135"},         {"watr", "260181"},  {"wilt", "260442"},  {"ws", "10"},
    {"z", "129"},
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
