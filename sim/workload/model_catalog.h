// Public models by catalog name, read from scenarios/catalog/models.csv.
#pragma once

#include <string>
#include <vector>

#include "sim/core/diagnostics.h"
#include "sim/workload/model_spec.h"

namespace foretrain {

struct CatalogModel {
  ModelSpec spec;
  std::string title;       // "Llama-3/3.1 70B"
  std::string source;
  std::int64_t published_parameters = 0;  // 0: unknown
};

class ModelCatalog {
 public:
  [[nodiscard]] static Result<ModelCatalog> load(const std::string& catalog_dir);
  [[nodiscard]] const CatalogModel* find(const std::string& name) const;
  [[nodiscard]] std::vector<std::string> names() const;

 private:
  std::vector<CatalogModel> models_;
};

}  // namespace foretrain
