#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "store/files.hpp"
#include "store/place.hpp"
#include "store/schema.hpp"

namespace hakobi::store {

/// The schema that is asked for: a shipped one's text, or that of a file. Throws not_found, naming the
/// shipped ones.
std::string schema_text(std::string_view asked);

/// A store's folder, or what stands for it on object storage: its place and its schema, and how it comes into
/// being.
class Folder {
  public:
    /// The store in `path`; with a schema (a shipped one's name or a file's path) it is made where there is
    /// none. Throws not_found, unsupported (newer), exists (a store with another schema, or something else in
    /// the way), invalid_argument.
    static Folder open(std::string_view path, std::string_view schema);
    /// The same with a schema's text, which `name` stands for in messages.
    static Folder open_with(std::string_view path, const std::string& text, std::string_view name);
    static Folder open_at(PlacePtr place, const std::string& text, std::string_view name);
    /// Whether there is a store.
    static bool is_there(std::string_view path);

    [[nodiscard]] const std::string& path() const noexcept { return place_->path(); }
    [[nodiscard]] const Schema& schema() const noexcept { return schema_; }
    [[nodiscard]] Place& place() const noexcept { return *place_; }
    [[nodiscard]] const PlacePtr& shared_place() const noexcept { return place_; }
    [[nodiscard]] std::string catalogue_path() const { return path() + "/" + std::string(catalogue_name); }
    /// Its marker is there: it was not moved or removed since it was opened.
    [[nodiscard]] bool is_store() const;
    /// Throws what looking met.
    [[nodiscard]] FolderContents contents() const { return place_->contents(Place::Look::everything); }

  private:
    Folder(PlacePtr place, Schema schema) : place_(std::move(place)), schema_(std::move(schema)) {}
    PlacePtr place_;
    Schema schema_;
};

/// Whether a writer may be called so: letters, digits, '.', '_', '-', at most 100.
bool is_writer_name(std::string_view name);

}  // namespace hakobi::store
