#include "store/gate.hpp"

#include <unistd.h>

#include <hakobi/error.hpp>

namespace hakobi::store {

Gate::Gate(const Folder& folder, const std::string& target) {
    (void)remove_dead(folder);
    held_ = folder.place().hold_gate(host_name() + " " + std::to_string(::getpid()) + ", to " + target);
    for (const WriterFiles& files : folder.contents().writers) {
        if (!files.has_index || folder.place().is_over(files)) continue;
        throw Error(ErrorCode::exists,
                    "cannot move the store " + folder.path() + ": the writer " + files.stem + " is at work");
    }
}

void Gate::refuse_closed(const Folder& folder) {
    if (const auto held = folder.place().held_gate()) {
        store::refuse_closed(folder.path(), held->maker, held->path);
    }
    if (!folder.is_store()) {
        throw Error(ErrorCode::not_found, "the store " + folder.path() + " is gone: it was moved or removed");
    }
}

}  // namespace hakobi::store
