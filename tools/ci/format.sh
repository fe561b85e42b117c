#!/usr/bin/env bash
# Formats all C++ and CUDA sources with clang-format-14; --check changes nothing and fails on a difference.
set -euo pipefail
cd "$(dirname "$0")/../.."
options=(-i)
if [[ "${1:-}" == --check ]]; then options=(--dry-run --Werror); fi
git ls-files -z '*.h' '*.cc' '*.cu' | xargs -0 clang-format-14 "${options[@]}"
