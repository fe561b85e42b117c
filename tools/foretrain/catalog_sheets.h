// What `foretrain catalog` shows: every entry as a sheet of facts, for people and for machines.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/core/diagnostics.h"
#include "sim/hardware/device_spec.h"

namespace foretrain {

using Json = nlohmann::ordered_json;

/// One property: `key` and `value` for machines (SI units, unit in the key), `label` and `text` for
/// people. A fact with an empty text is left out of the listing, one with a null value out of JSON.
struct Fact {
  std::string key;
  Json value;
  std::string label;
  std::string text;
};

struct Sheet {
  std::string name;
  std::vector<Fact> facts;
  std::vector<FieldSource> sources;  // the entry's own first, with an empty field
  std::string note;

  [[nodiscard]] std::string text(const std::string& key) const {
    for (const Fact& fact : facts) {
      if (fact.key == key) return fact.text;
    }
    return {};
  }
};

struct Column {
  std::string header;
  std::string key;
  bool right = true;
};

struct Kind {
  std::string name;  // as on the command line
  std::string singular;
  std::vector<Column> columns;
  std::vector<Sheet> sheets;
  std::vector<std::string> candidates;  // for "did you mean"; aliases too
};

/// All kinds in the order of the overview, or every problem of the catalog's files.
[[nodiscard]] Result<std::vector<Kind>> load_kinds(const std::string& data_dir);

/// By name, or by alias for models; nullptr if there is none.
[[nodiscard]] const Sheet* find_sheet(const Kind& kind, const std::string& name);

}  // namespace foretrain
