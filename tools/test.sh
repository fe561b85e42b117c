#!/usr/bin/env bash
# All checks, cheapest first; stops at the first stage that fails. Needs tools/bootstrap.sh before.
#   tools/test.sh [STAGE…]   stages: release sanitize thread fuzz install
set -euo pipefail
cd "$(dirname "$0")/.."
stages=("$@")
if ((${#stages[@]} == 0)); then stages=(release sanitize thread fuzz install); fi

werror=OFF
if [[ "${CI:-}" == true ]]; then werror=ON; fi
launcher=()
if command -v ccache >/dev/null; then launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
jobs=$(nproc)
report=()

# Shows what failed in full, and always the summary.
run_ctest() {
  local log status=0
  log=$(mktemp)
  ctest --output-on-failure --no-tests=error -j "$jobs" "$@" >"$log" 2>&1 || status=$?
  if ((status)); then cat "$log"; fi
  sed -n '/tests passed/,$p' "$log"
  rm -f "$log"
  return "$status"
}

configure() {
  local preset=$1
  shift
  cmake --preset "$preset" -DFORETRAIN_WERROR=$werror "${launcher[@]}" "$@" >/dev/null
}

stage_release() {  # budget 480 s: the rest of the build, all tests, the lint
  configure release -DFORETRAIN_HEADER_CHECKS=ON
  cmake --build build
  run_ctest --test-dir build
}

stage_sanitize() {  # budget 480 s
  configure asan-ubsan
  cmake --build build-asan-ubsan
  run_ctest --test-dir build-asan-ubsan -L 'unit|property|scenario|fuzz'
}

stage_thread() {  # budget 60 s: only what is labelled as threaded, of which there may be nothing
  configure tsan
  local wanted
  wanted=$(ctest --test-dir build-tsan -N -L threaded | sed -n 's/^Total Tests: //p')
  if [[ "$wanted" == 0 ]]; then
    echo "skipped: no test is labelled threaded"
    return 0
  fi
  cmake --build build-tsan
  run_ctest --test-dir build-tsan -L threaded
}

stage_fuzz() {  # budget 240 s
  if ! command -v clang++-14 >/dev/null ||
     ! compgen -G '/usr/lib/llvm-14/lib/clang/*/lib/linux/libclang_rt.fuzzer-*.a' >/dev/null; then
    echo "skipped: clang-14 with libclang-rt-14-dev is not installed"
    return 0
  fi
  configure fuzz
  cmake --build build-fuzz --target fuzzers
  local target name work seeds
  for target in build-fuzz/tests/fuzz/*_fuzz; do
    name=$(basename "$target" _fuzz)
    work=$(mktemp -d)
    seeds=("tests/fuzz/corpus/$name" tests/fuzz/corpus/common)
    if [[ "$name" != unit_parser ]]; then seeds+=(tests/scenario/accept tests/scenario/reject); fi
    echo "-- $name, ${FUZZ_SECONDS:-20} s"
    "$target" -max_total_time="${FUZZ_SECONDS:-20}" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
      -artifact_prefix="$work/" "$work" "${seeds[@]}" >"$work.log" 2>&1 || {
        tail -n 60 "$work.log"
        return 1
      }
    grep -E 'number_of_executed_units|peak_rss' "$work.log"
    rm -rf "$work" "$work.log"
  done
}

stage_install() {  # budget 60 s
  tests/install/run.sh build
}

for stage in "${stages[@]}"; do
  echo "== $stage"
  started=$SECONDS
  "stage_$stage"
  report+=("$(printf '%-10s %5d s' "$stage" $((SECONDS - started)))")
done
echo "== all stages passed"
printf '%s\n' "${report[@]}" "$(printf '%-10s %5d s' total "$SECONDS")"
