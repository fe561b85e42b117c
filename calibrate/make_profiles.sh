#!/bin/sh
# Makes every shipped profile again from the committed tables.
#   calibrate/make_profiles.sh path/to/foretrain [output folder]
set -e
foretrain=$1
here=$(cd "$(dirname "$0")" && pwd)
out=${2:-$here/../scenarios/profiles}
make() {
  "$foretrain" --data-dir "$here/../scenarios" calibrate --fit-tables \
    --gemm "$here/reference/gemm.csv.gz" --attention "$here/reference/context_attention.csv.gz" \
    --gpu "$1" --catalog-gpu "$2" -o "$out/$2.json"
}
make a100_sxm a100-80
make h100_sxm h100-sxm
make h200_sxm h200-sxm
make b200_sxm b200
make gb200 gb200
make l40s l40s
