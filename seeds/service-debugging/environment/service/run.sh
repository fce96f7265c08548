#!/usr/bin/env bash
# run.sh DATA OUT: carries out the recorded requests in DATA, from its snapshot, with the code beside this file.
# Leaves the spans of each worker, and the accounts and lockers afterwards, in OUT.
set -euo pipefail
export LC_ALL=C

here=$(cd "$(dirname "$0")" && pwd)
data=$1 out=$2
conf=$here/service.conf
mkdir -p "$out"

awk -f "$here/load.awk" "$data/accounts.tsv" "$data/lockers.tsv" "$data/journal.tsv" >"$out/state.tsv"

awk -f "$here/merge.awk" "$data/frontends.tsv" "$data"/requests-*.log |
  sort -t$'\t' -k1,1n -k2,2 -k3,3n |
  awk -v config="$conf" -f "$here/lib.awk" -f "$here/intake.awk" >"$out/intake.tsv"
awk -f "$here/route.awk" "$data/stations.tsv" "$data/routes.tsv" "$out/intake.tsv" >"$out/route.tsv"
awk -v config="$conf" -f "$here/lib.awk" -f "$here/price.awk" "$data/tariffs.tsv" "$data/classes.tsv" \
  "$data/holidays.tsv" "$data/accounts.tsv" "$out/route.tsv" >"$out/price.tsv"
awk -v config="$conf" -f "$here/lib.awk" -f "$here/desk.awk" "$out/state.tsv" "$out/price.tsv" >"$out/desk.tsv"

# Spans: what each worker added, by request.
cut -f1,3-10 "$out/intake.tsv" >"$out/spans-intake.tsv"
cut -f1,11-12 "$out/route.tsv" >"$out/spans-route.tsv"
cut -f1,13-16 "$out/price.tsv" >"$out/spans-price.tsv"
grep '^response' "$out/desk.tsv" | cut -f2- >"$out/spans-desk.tsv"
grep '^account' "$out/desk.tsv" | cut -f2- >"$out/accounts-after.tsv"
grep '^locker' "$out/desk.tsv" | cut -f2- >"$out/lockers-after.tsv"
