#include "sim/collectives/double_tree.h"

#include "sim/core/contracts.h"

namespace foretrain {
namespace {

int binary_tree_parent(int id, int nodes) {
  if (id == 0) return -1;
  int bit = 1;
  while ((id & bit) == 0) bit *= 2;
  const int up = (id ^ bit) | (2 * bit);
  return up >= nodes ? id ^ bit : up;
}

}  // namespace

int double_tree_parent(int id, int nodes, int tree) {
  FORETRAIN_EXPECTS(id >= 0 && id < nodes && (tree == 0 || tree == 1),
                    "a node of one of two trees");
  if (tree == 0) return binary_tree_parent(id, nodes);
  if (nodes % 2 == 0) {
    const int parent = binary_tree_parent(nodes - 1 - id, nodes);
    return parent < 0 ? -1 : nodes - 1 - parent;
  }
  const int parent = binary_tree_parent((id + nodes - 1) % nodes, nodes);
  return parent < 0 ? -1 : (parent + 1) % nodes;
}

}  // namespace foretrain
