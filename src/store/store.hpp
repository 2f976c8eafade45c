#pragma once

#include <hakobi/store.hpp>
#include <memory>
#include <mutex>

#include "base/forked.hpp"
#include "store/field_reader.hpp"
#include "store/folder.hpp"
#include "store/index_reader.hpp"
#include "store/writer.hpp"

namespace hakobi {

/// Behind hakobi::Store.
struct HAKOBI_HIDDEN Store::Impl {
    Impl(store::Folder opened, StoreOptions given)
        : options(std::move(given)),
          folder(std::move(opened)),
          index(folder),
          reader(folder, options.num_threads) {}

    StoreOptions options;
    store::Folder folder;
    store::IndexReader index;
    store::FieldReader reader;
    std::mutex writing;  ///< for what follows
    std::unique_ptr<store::Writer, DeletedByMaker> writer;
};

}  // namespace hakobi
