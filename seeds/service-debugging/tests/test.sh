#!/usr/bin/env bash
# Compares the five results with those of a desk that keeps the contract. The expected rows were written together
# with the requests, by another program than the service, not by a solution. No code of the solver is run.
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

# same_keys FILE: the same rows, by their first column, each once, whatever their order
same_keys() {
  awk -F'\t' '
    FNR == 1 { next }
    NR == FNR { expected[$1] = 1; next }
    !($1 in expected) { print "should not be there: " $1; wrong = 1 }
    seen[$1]++ == 1 { print "there twice: " $1; wrong = 1 }
    END {
      for (key in expected) if (!(key in seen)) { print "missing: " key; wrong = 1 }
      exit wrong
    }' "/tests/expected/$1" "/app/out/$1"
}

# same_values FILE COLUMN: that column is right in every row
same_values() {
  awk -F'\t' -v column="$2" '
    NR == FNR { expected[$1] = $column; next }
    FNR > 1 && ($1 in expected) && $column "" != expected[$1] "" {
      print $1 ": should be " expected[$1] ", is " $column; wrong = 1
    }
    END { exit wrong }' "/tests/expected/$1" "/app/out/$1"
}

# same_order FILE
same_order() {
  awk -F'\t' '
    NR == FNR { expected[FNR] = $1; next }
    $1 "" != expected[FNR] "" { print "line " FNR " should be " expected[FNR] ", is " $1; wrong = 1; exit }
    END { exit wrong }' "/tests/expected/$1" "/app/out/$1"
}

same_bytes() {
  local differs
  differs=$(cmp "/tests/expected/$1" "/app/out/$1" 2>&1) || { echo "$differs" && return 1; }
}

# check_table FILE COLUMN_NAME...: header, rows, then each further column
check_table() {
  local file=$1 column=1 name
  shift
  check "$file has its header" same_header "$file"
  check "$file has every row once" same_keys "$file"
  for name in "$@"; do
    column=$((column + 1))
    check "$file: $name" same_values "$file" "$column"
  done
  check "$file is in order" same_order "$file"
  check "$file is right to the byte" same_bytes "$file"
}

for file in responses.tsv lockers.tsv accounts.tsv wrong.tsv stages.tsv; do
  check "$file was written" is_result "$file"
done

if [[ $failures == 0 ]]; then
  check_table responses.tsv status locker amount balance
  check_table lockers.tsv ref until
  check_table accounts.tsv balance due
  check_table wrong.tsv stage recorded right
  check_table stages.tsv wrong first
fi

echo "1..$number"
mkdir -p /logs/verifier
if [[ $failures == 0 ]]; then echo 1; else echo 0; fi >/logs/verifier/reward.txt
