// NCCL's two binary trees over nodes: every node is inside at most one of them and a leaf of the
// other.
#pragma once

namespace foretrain {

/// Parent of node `id` in tree 0 or 1 of `nodes` nodes, or -1 for the root. In tree 0, b the lowest
/// set bit of id: (id - b) | 2 b, or id - b if that is no node. Tree 1 is the mirror for even, a
/// shift by one for odd counts.
/// @source NVIDIA NCCL, src/graph/trees.cc; Sanders, Speck and Traeff, Parallel Comput. 35 (2009).
[[nodiscard]] int double_tree_parent(int id, int nodes, int tree);

}  // namespace foretrain
