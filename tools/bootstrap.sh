#!/usr/bin/env bash
# From a bare Debian 12 to a first answer: installs packages, builds, runs one published scenario.
# SKIP_PACKAGES=1 leaves the packages alone.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(g++ cmake ninja-build python3 libboost-graph-dev libeigen3-dev libfmt-dev libexpected-dev
  libyaml-cpp-dev nlohmann-json3-dev libcli11-dev zlib1g-dev librandom123-dev libgtest-dev libgmock-dev
  librapidcheck-dev libvalijson-dev)

# apt-get asks the network even if nothing is missing; dpkg knows for free.
missing=()
for package in "${packages[@]}"; do
  state=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [[ "$state" == installed ]] || missing+=("$package")
done
if ((${#missing[@]})) && [[ -z "${SKIP_PACKAGES:-}" ]]; then
  as_root=()
  if ((EUID != 0)); then as_root=(sudo); fi
  echo "== packages: ${missing[*]}"
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    "${missing[@]}"
fi

werror=OFF
if [[ "${CI:-}" == true ]]; then werror=ON; fi
launcher=()
if command -v ccache >/dev/null; then launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi

echo "== build"
cmake --preset release -DFORETRAIN_WERROR=$werror "${launcher[@]}"
cmake --build build --target foretrain

echo "== GPT-3 175B on 64 A100s of Selene, as measured with Megatron-LM"
build/tools/foretrain/foretrain run scenarios/published/megatron-175b-selene-64xa100.yaml
