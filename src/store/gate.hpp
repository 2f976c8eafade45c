#pragma once

#include <memory>
#include <string>

#include "store/folder.hpp"

namespace hakobi::store {

/// Keeps new writers out of a store that is being moved: the file STORE/moving, locked by the one who moves
/// while it lives. On object storage an object STORE/moving/<id>, which names the one who moves: it is dead
/// where it was a process of this machine and has ended, and else only when a person removes it, since for a
/// move that only seems dead a writer would lose what it flushes.
///
/// Either the writer or the move sees the other, and gives way. A writer makes its index, which shows that it
/// lives, and then looks for the gate (`refuse_closed`); a move makes the gate and then looks for living
/// writers. Whoever comes second finds what the first has made. A gate whose maker is dead is none.
class Gate {
  public:
    /// Closes the store. Throws exists where it is being moved already, or a writer is at work.
    Gate(const Folder& folder, const std::string& target);
    /// The store's folder was renamed, and the gate with it.
    void follow(const std::string& folder) { held_->follow(folder); }

    /// Throws exists where the store is closed, not_found where it was moved: its marker goes before its gate
    /// does.
    static void refuse_closed(const Folder& folder);
    /// Removes a gate whose maker is dead; whether there was one.
    static bool remove_dead(const Folder& folder) { return folder.place().remove_dead_gates(); }

  private:
    std::unique_ptr<HeldGate> held_;  ///< its end opens the store again
};

}  // namespace hakobi::store
