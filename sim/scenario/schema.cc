#include <nlohmann/json.hpp>

#include "sim/scenario/decode.h"
#include "sim/scenario/keys.h"
#include "sim/scenario/scenario.h"

namespace foretrain {
namespace {

using Json = nlohmann::ordered_json;

class SchemaBuilder {
 public:
  explicit SchemaBuilder(const Result<Catalogs>& catalogs) : catalogs_(catalogs) {}

  Json build() {
    Json schema;
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema";
    schema["title"] = "foretrain scenario";
    schema.update(map_of(""));
    schema["required"] = Json::array({"foretrain", "name"});
    return schema;
  }

 private:
  Json names(std::string_view choices) {
    Json values = Json::array();
    if (!choices.starts_with("@")) {
      for (const KeySpec& key : scenario_keys()) {
        if (key.choices != choices) continue;
        for (const std::string& word : choices_of(key)) values.push_back(word);
        break;
      }
      return values;
    }
    if (!catalogs_) return values;
    std::vector<std::string> words;
    if (choices == "@nodes") words = catalogs_->hardware.node_names();
    if (choices == "@gpus") words = catalogs_->hardware.gpu_names();
    if (choices == "@nics") words = catalogs_->hardware.nic_names();
    if (choices == "@models") words = catalogs_->models.names_and_aliases();
    if (choices == "@frameworks") {
      for (const auto& [name, preset] : catalogs_->frameworks) words.push_back(name);
    }
    for (const std::string& word : words) values.push_back(word);
    return values;
  }

  Json one_of(std::string_view choices) {
    Json values = names(choices);
    // Without a catalog there is nothing to complete.
    if (values.empty()) return {{"type", "string"}};
    return {{"enum", std::move(values)}};
  }

  static Json quantity(const char* pattern) { return {{"type", "string"}, {"pattern", pattern}}; }

  Json map_of(const std::string& path) {
    Json properties = Json::object();
    const std::string prefix = path.empty() ? "" : path + ".";
    for (const std::string& key : keys_below(path))
      properties[key] = value_of(*find_key(prefix + key));
    Json map;
    map["type"] = "object";
    map["properties"] = properties;
    if (path == "nccl") {
      map["patternProperties"] = {
          {"^NCCL_", {{"type", Json::array({"string", "number", "integer", "boolean"})}}}};
    }
    if (path == "sweep") {
      map["additionalProperties"] = {{"type", "array"}};
    } else if (path == "run.failures") {
      map["additionalProperties"] = true;
    } else {
      map["additionalProperties"] = false;
    }
    return map;
  }

  Json any_of(const KeySpec& key, const std::string& path) {
    const std::string word = path.substr(path.rfind('.') + 1);
    Json scalar;
    if (!key.choices.empty()) scalar = one_of(key.choices);
    if (word == "oversubscription" || word == "attention_window") {
      const char* type = word == "oversubscription" ? "number" : "integer";
      const Json one = {{"type", type}};
      const Json list = {{"type", "array"}, {"items", one}};
      return {{"anyOf", Json::array({one, list})}};
    }
    if (word == "value") return {{"type", Json::array({"number", "string", "boolean"})}};
    return {{"anyOf", Json::array({scalar, map_of(path)})}};
  }

  Json value_of(const KeySpec& key) {
    const std::string path{key.path};
    Json value;
    switch (key.type) {
      case KeyType::kText: value = {{"type", Json::array({"string", "number", "integer"})}}; break;
      case KeyType::kInteger: value = {{"type", "integer"}}; break;
      case KeyType::kNumber: value = {{"type", "number"}}; break;
      case KeyType::kBoolean: value = {{"type", "boolean"}}; break;
      case KeyType::kChoice: value = one_of(key.choices); break;
      case KeyType::kBytes: value = quantity("^[0-9.]+ ?([kMGTP]i?)?B$"); break;
      case KeyType::kRate: value = quantity("^[0-9.eE+]+ ?([kKMGT]i?)?(bit|B)/s$"); break;
      case KeyType::kDuration: value = quantity("^[0-9.eE+-]+ ?(ps|ns|us|ms|s|min|h|d)$"); break;
      case KeyType::kPercent: value = quantity("^[0-9.eE+-]+ ?%$"); break;
      case KeyType::kMap: value = map_of(path); break;
      case KeyType::kList: value = {{"type", "array"}, {"items", map_of(path + "[]")}}; break;
      case KeyType::kAny: value = any_of(key, path); break;
    }
    std::string description{key.description};
    if (!key.default_text.empty())
      description += " (default: " + std::string{key.default_text} + ")";
    value["description"] = description;
    return value;
  }

  const Result<Catalogs>& catalogs_;
};

}  // namespace

std::string scenario_schema(const std::string& data_dir) {
  const Result<Catalogs> catalogs = load_catalogs(data_dir);
  return SchemaBuilder{catalogs}.build().dump(2) + "\n";
}

}  // namespace foretrain
