#pragma once

#include <string>

#include "base/descriptor.hpp"
#include "store/folder.hpp"

namespace hakobi::store {

/// Keeps new writers out of a store that is being moved: the file STORE/moving, locked by the one who moves while it lives.
///
/// Either the writer or the move sees the other, and gives way. A writer makes its index, which shows that it lives, and
/// then looks for the gate (`refuse_closed`); a move makes the gate and then looks for living writers. Whoever comes second
/// finds what the first has made. A gate whose maker is dead is none.
class Gate {
  public:
    /// Closes the store. Throws exists where it is being moved already, or a writer is at work.
    Gate(const Folder& folder, const std::string& target);
    ~Gate();  ///< opens it again
    Gate(const Gate&) = delete;
    Gate& operator=(const Gate&) = delete;
    /// The store's folder was renamed, and the gate with it.
    void follow(const std::string& folder);

    /// Throws exists where the store is closed, not_found where it was moved: its marker goes before its gate does.
    static void refuse_closed(const Folder& folder);
    /// Removes a gate whose maker is dead; whether there was one.
    static bool remove_dead(const Folder& folder);

  private:
    std::string path_;
    Descriptor lock_;
};

}  // namespace hakobi::store
