#!/usr/bin/env bash
# Compares the six results with the release as it was built from the pristine texts. The expected files were
# written together with the damaged ones, and each fault was noted when it was put in; no solution made them.
set -u
export LC_ALL=C

failures=0 number=0

# check NAME COMMAND...: the command says on stdout what is wrong, and fails
check() {
  local name=$1 said
  shift
  number=$((number + 1))
  if said=$("$@" 2>&1); then
    echo "ok $number - $name"
  else
    echo "not ok $number - $name"
    head -n 12 <<<"$said" | sed 's/^/#   /'
    failures=$((failures + 1))
  fi
}

is_result() {
  [[ -f /app/out/$1 && ! -L /app/out/$1 ]] || { echo "/app/out/$1 is no regular file" && return 1; }
  [[ -s /app/out/$1 ]] || { echo "/app/out/$1 is empty" && return 1; }
  [[ $(stat -c %s "/app/out/$1") -lt 5000000 ]] || { echo "/app/out/$1 is far too large" && return 1; }
}

same_header() {
  [[ $(head -n 1 "/app/out/$1") == "$(head -n 1 "/tests/expected/$1")" ]] ||
    { echo "the first line should be: $(head -n 1 "/tests/expected/$1")" && return 1; }
}

# same_values FILE KEY_COLUMN COLUMN: the same keys, each with that column right, whatever their order
same_values() {
  awk -F'\t' -v key="$2" -v column="$3" '
    FNR == 1 { next }
    NR == FNR { expected[$key] = $column; next }
    !($key in expected) { print "should not be there: " $key; wrong = 1; next }
    seen[$key]++ { print "there twice: " $key; wrong = 1 }
    $column "" != expected[$key] "" { print $key ": should be " expected[$key] ", is " $column; wrong = 1 }
    END {
      for (key in expected) if (!(key in seen)) { print "missing: " key; wrong = 1 }
      exit wrong
    }' "/tests/expected/$1" "/app/out/$1"
}

# same_faults KIND: the faults of one kind, whatever their order
same_faults() {
  awk -F'\t' -v kind="$1" '
    $1 != kind { next }
    NR == FNR { expected[$0] = 1; next }
    !($0 in expected) { print "should not be there: " $0; wrong = 1 }
    { seen[$0] = 1 }
    END {
      for (row in expected) if (!(row in seen)) { print "missing: " row; wrong = 1 }
      exit wrong
    }' /tests/expected/faults.tsv /app/out/faults.tsv
}

same_bytes() {
  local differs
  differs=$(cmp "/tests/expected/$1" "/app/out/$1" 2>&1) || { echo "$differs" && return 1; }
}

for file in guide.txt index.txt plaques.txt lock.tsv order.tsv faults.tsv; do
  check "$file was written" is_result "$file"
done

if [[ $failures == 0 ]]; then
  for file in lock.tsv order.tsv faults.tsv; do
    check "$file has its header" same_header "$file"
  done
  check "lock.tsv has the right versions" same_values lock.tsv 1 2
  check "lock.tsv has the right checksums" same_values lock.tsv 1 3
  check "order.tsv has the needed targets in order" same_values order.tsv 2 1
  check "order.tsv has the checksums of what was made" same_values order.tsv 2 3
  for kind in cycle undeclared renamed lock damaged sum stale corrupt orphan unneeded; do
    check "faults.tsv has the faults of kind $kind" same_faults "$kind"
  done
  for file in guide.txt index.txt plaques.txt lock.tsv order.tsv faults.tsv; do
    check "$file is right to the byte" same_bytes "$file"
  done
fi

echo "1..$number"
mkdir -p /logs/verifier
if [[ $failures == 0 ]]; then echo 1; else echo 0; fi >/logs/verifier/reward.txt
