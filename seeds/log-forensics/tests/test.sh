#!/usr/bin/env bash
# Compares the three reports with what happened that night. The expected rows were written together
# with the logs, from the same played-out night, not by a solution.
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

is_report() {
  [[ -f /app/out/$1 && ! -L /app/out/$1 ]] || { echo "/app/out/$1 is no regular file" && return 1; }
  [[ -s /app/out/$1 ]] || { echo "/app/out/$1 is empty" && return 1; }
  [[ $(stat -c %s "/app/out/$1") -lt 5000000 ]] || { echo "/app/out/$1 is far too large" && return 1; }
}

same_header() {
  [[ $(head -n 1 "/app/out/$1") == "$(head -n 1 "/tests/expected/$1")" ]] ||
    { echo "the first line should be: $(head -n 1 "/tests/expected/$1")" && return 1; }
}

# same_keys FILE COLUMN: the same rows, by the column that names them, whatever their order
same_keys() {
  awk -F, -v column="$2" '
    FNR == 1 { next }
    NR == FNR { expected[$column] = 1; next }
    !($column in expected) { print "should not be there: " $column; wrong = 1 }
    seen[$column]++ == 1 { print "there twice: " $column; wrong = 1 }
    END {
      for (key in expected) if (!(key in seen)) { print "missing: " key; wrong = 1 }
      exit wrong
    }' "/tests/expected/$1" "/app/out/$1"
}

# same_values FILE KEY_COLUMN COLUMN: that column is right in every row
same_values() {
  awk -F, -v key="$2" -v column="$3" '
    NR == FNR { expected[$key] = $column; next }
    FNR > 1 && ($key in expected) && $column "" != expected[$key] "" {
      print $key ": should be " expected[$key] ", is " $column; wrong = 1
    }
    END { exit wrong }' "/tests/expected/$1" "/app/out/$1"
}

# same_order FILE COLUMN
same_order() {
  awk -F, -v column="$2" '
    NR == FNR { expected[FNR] = $column; next }
    $column "" != expected[FNR] "" {
      print "line " FNR " should be " expected[FNR] ", is " $column; wrong = 1; exit
    }
    END { exit wrong }' "/tests/expected/$1" "/app/out/$1"
}

same_entry() {
  local expected actual
  expected=$(grep "^$1=" /tests/expected/report.txt)
  actual=$(grep -a "^$1=" /app/out/report.txt)
  [[ $actual == "$expected" ]] || { echo "should be $expected, is ${actual:-not there}" && return 1; }
}

same_bytes() {
  [[ $(sha256sum <"/app/out/$1") == "$(sha256sum <"/tests/expected/$1")" ]] ||
    { echo "the file differs somewhere: a row, an extra column, a carriage return, the last line end" && return 1; }
}

for file in sessions.csv hostile.csv report.txt; do
  check "$file was written" is_report "$file"
done

if [[ $failures == 0 ]]; then
  check "sessions.csv has its header" same_header sessions.csv
  check "sessions.csv lists every session once" same_keys sessions.csv 1
  check "sessions.csv names the accounts" same_values sessions.csv 1 2
  check "sessions.csv has true opening times" same_values sessions.csv 1 3
  check "sessions.csv names who logged in" same_values sessions.csv 1 4
  check "sessions.csv counts each request once" same_values sessions.csv 1 5
  check "sessions.csv sums the bytes" same_values sessions.csv 1 6
  check "sessions.csv has the verdicts" same_values sessions.csv 1 7
  check "sessions.csv is sorted" same_order sessions.csv 1
  check "hostile.csv has its header" same_header hostile.csv
  check "hostile.csv lists every hostile request once" same_keys hostile.csv 2
  check "hostile.csv has true times" same_values hostile.csv 2 1
  check "hostile.csv names sessions" same_values hostile.csv 2 3
  check "hostile.csv names accounts" same_values hostile.csv 2 4
  check "hostile.csv names who sent them" same_values hostile.csv 2 5
  check "hostile.csv has methods" same_values hostile.csv 2 6
  check "hostile.csv has paths" same_values hostile.csv 2 7
  check "hostile.csv has statuses" same_values hostile.csv 2 8
  check "hostile.csv has bytes" same_values hostile.csv 2 9
  check "hostile.csv is sorted" same_order hostile.csv 2
  for entry in first_hostile clients accounts documents exfiltrated_bytes; do
    check "report.txt: $entry" same_entry "$entry"
  done
  for file in sessions.csv hostile.csv report.txt; do
    check "$file holds exactly that" same_bytes "$file"
  done
fi

echo "1..$number"
mkdir -p /logs/verifier
if [[ $failures == 0 ]]; then echo 1; else echo 0; fi >/logs/verifier/reward.txt
