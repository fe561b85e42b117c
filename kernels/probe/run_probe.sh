#!/bin/sh
# Builds and runs the probes; results go to the folder named by the first argument.
set -e
out=${1:-.}
here=$(dirname "$0")
nvcc -O3 -std=c++17 -arch=native "$here/kernel_probe.cu" -lcublasLt -o "$out/kernel_probe"
nvidia-smi --query-gpu=timestamp,clocks.sm,power.draw,temperature.gpu,clocks_throttle_reasons.active \
  --format=csv -lms 1000 > "$out/clocks.csv" &
clocks=$!
"$out/kernel_probe" > "$out/h200_kernels.csv"
kill $clocks
python3 "$here/attention_probe.py" > "$out/h200_attention.csv"
rm "$out/kernel_probe"
