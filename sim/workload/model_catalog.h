// Public models by catalog name, read from scenarios/catalog/models.csv.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/diagnostics.h"
#include "sim/workload/model_spec.h"

namespace foretrain {

struct CatalogModel {
  ModelSpec spec;
  std::string title;  // "Llama-3/3.1 70B"
  std::string source;
  std::int64_t published_parameters = 0;  // 0: unknown
  std::vector<std::string> aliases;       // other names of the same model; find() takes them too
  std::string published_rounded;          // as the publisher says it: "46.7B, 12.9B active"
  std::string date;                       // on which the source was read
};

class ModelCatalog {
 public:
  [[nodiscard]] static Result<ModelCatalog> load(const std::string& catalog_dir);
  [[nodiscard]] const CatalogModel* find(const std::string& name) const;
  /// Names in file order, without aliases.
  [[nodiscard]] std::vector<std::string> names() const;
  /// Names and aliases, for "did you mean".
  [[nodiscard]] std::vector<std::string> names_and_aliases() const;

 private:
  std::vector<CatalogModel> models_;
};

}  // namespace foretrain
