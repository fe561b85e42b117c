#!/usr/bin/env bash
# Installs a build to a fresh prefix, builds a consumer against it, runs both programs from there.
#   tests/install/run.sh BUILD_DIR
set -euo pipefail
source_dir=$(cd "$(dirname "$0")" && pwd)
build_dir=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$build_dir" --prefix "$work/prefix" >/dev/null
cmake -S "$source_dir/consumer" -B "$work/build" -G Ninja -DCMAKE_PREFIX_PATH="$work/prefix" \
  -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS="-Wall -Wextra -Werror" >/dev/null
cmake --build "$work/build" >/dev/null
[[ "$("$work/build/consumer")" == "installed: 83.9 us" ]]
# The program finds its data beside itself, not in the source tree.
(cd "$work" && env -u FORETRAIN_DATA prefix/bin/foretrain catalog gpus >/dev/null)
# No path of the machine that built it may leak into what other projects read.
if grep -rn "$build_dir\|${source_dir%/tests/install}" "$work/prefix/lib" "$work/prefix/include" \
    --include='*.cmake' --include='*.h'; then
  echo "error: the installed package names the build machine's folders" >&2
  exit 1
fi
echo "the installed package builds and runs a consumer"
