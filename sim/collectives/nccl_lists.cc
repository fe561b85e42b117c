#include "sim/collectives/nccl_lists.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <sstream>
#include <vector>

namespace foretrain {
namespace {

// In the order of the enumerators; the last, peer to peer, is no word of NCCL's.
constexpr std::array<const char*, 7> kAlgorithmNames{
    "tree", "ring", "collnetdirect", "collnetchain", "nvls", "nvlstree", "pat"};
constexpr std::array<const char*, 3> kProtocolNames{"ll", "ll128", "simple"};
constexpr std::array<const char*, 5> kFunctionNames{"allreduce", "allgather", "reducescatter",
                                                    "broadcast", "reduce"};

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream{text};
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

/// Applies `[^]a,b` to `allowed`.
template <std::size_t kCount>
void apply_list(std::string list, const std::array<const char*, kCount>& names, bool* allowed) {
  const bool excludes = !list.empty() && list.front() == '^';
  if (excludes) list.erase(0, 1);
  for (std::size_t i = 0; i < kCount; ++i) {
    const auto words = split(list, ',');
    const bool listed = std::find(words.begin(), words.end(), names[i]) != words.end();
    allowed[i] = excludes ? allowed[i] && !listed : listed;
  }
}

/// The list that counts for a function: its own, else the default; later ones win.
template <std::size_t kCount>
bool apply_variable(const NcclSettings& settings, const char* variable, const std::string& function,
                    const std::array<const char*, kCount>& names, bool* allowed,
                    std::string* chosen) {
  const auto found = settings.environment.find(variable);
  if (found == settings.environment.end() || found->second.empty()) return false;
  std::string own, general;
  for (const std::string& part : split(lower_case(found->second), ';')) {
    const std::size_t colon = part.find(':');
    if (colon == std::string::npos) {
      general = part;
    } else if (part.substr(0, colon) == function) {
      own = part.substr(colon + 1);
    }
  }
  *chosen = own.empty() ? general : own;
  if (chosen->empty()) return false;
  apply_list(*chosen, names, allowed);
  return true;
}

}  // namespace

NcclLists::NcclLists(const NcclSettings& settings, CollectiveKind kind) {
  std::fill(std::begin(algorithms_), std::end(algorithms_), true);
  std::fill(std::begin(protocols_), std::end(protocols_), true);
  const auto index = static_cast<std::size_t>(kind);
  if (index >= kFunctionNames.size()) return;
  const std::string function = kFunctionNames[index];
  std::string chosen;
  apply_variable(settings, "NCCL_ALGO", function, kAlgorithmNames, algorithms_, &chosen);
  if (apply_variable(settings, "NCCL_PROTO", function, kProtocolNames, protocols_, &chosen)) {
    names_ll128_ = chosen.front() != '^' && protocols_[1];
  }
}

bool NcclLists::allows(CollectiveAlgorithm algorithm) const {
  return algorithms_[static_cast<std::size_t>(algorithm)];
}
bool NcclLists::allows(CollectiveProtocol protocol) const {
  return protocols_[static_cast<std::size_t>(protocol)];
}

std::string nccl_list_problem(const std::string& variable, const std::string& value) {
  std::vector<std::string> names;
  if (variable == "NCCL_ALGO") {
    names.assign(kAlgorithmNames.begin(), kAlgorithmNames.end());
  } else {
    names.assign(kProtocolNames.begin(), kProtocolNames.end());
  }
  for (std::string list : split(lower_case(value), ';')) {
    if (const std::size_t colon = list.find(':'); colon != std::string::npos) {
      const std::string function = list.substr(0, colon);
      if (std::find(kFunctionNames.begin(), kFunctionNames.end(), function) ==
          kFunctionNames.end()) {
        return "'" + function + "' is no collective that takes a list";
      }
      list.erase(0, colon + 1);
    }
    if (!list.empty() && list.front() == '^') list.erase(0, 1);
    for (const std::string& word : split(list, ',')) {
      if (std::find(names.begin(), names.end(), word) != names.end()) continue;
      const std::string nearest = nearest_name(word, names);
      return "'" + word + "' is not known" + (nearest.empty() ? "" : ", '" + nearest + "' is");
    }
  }
  return {};
}

}  // namespace foretrain
