#include "io/new_file.hpp"

#include <algorithm>

#include "io/layout_choice.hpp"
#include "io/report.hpp"
#include "storage/file.hpp"
#include "storage/layout_wish.hpp"

namespace hakobi::io {
namespace {

std::string text_of(const storage::LayoutWish& wish) {
    const bool is_all = wish.num_stripes == storage::LayoutWish::all;
    return (is_all ? "a stripe on each server"
                   : storage::Layout::plain({wish.stripe_bytes, wish.num_stripes}).text()) +
           (wish.overstripes ? ", several on a server" : "") +
           (wish.first_server >= 0 ? ", from server " + std::to_string(wish.first_server) + " on" : "");
}

}  // namespace

bool make_with_layout(const NewFile& file, const EngineOptions& options) {
    const storage::LayoutFacts facts = storage::layout_facts(file.path);
    const LayoutChoice choice = choose_layout(options, facts, file.num_nodes, file.size_bytes);
    const Explainer explainer(0, storage::name_for_people(file.path));
    for (const std::string& remark : choice.remarks) explainer.warn(remark);
    if (!choice.wish) {
        if (!choice.why.empty()) explainer.tell("layout: " + choice.why);
        return false;
    }
    const std::string wanted = text_of(*choice.wish);
    explainer.tell("layout: " + wanted + ", " + choice.why);
    const storage::LaidOut made = storage::make_laid_out(file.path, *choice.wish);
    if (made.is_made && !made.refused.ok()) {
        explainer.warn("the file system refuses " + wanted + ": " + made.refused.text() +
                       "; the folder's layout holds");
    } else if (made.refused.code() == ErrorCode::exists) {
        explainer.warn("made by somebody else in the meantime: its layout stays");
    }
    return made.is_made;
}

}  // namespace hakobi::io
