#!/usr/bin/env bash
# Compares the three results with the books. The expected rows were written together with the exports,
# from the same sales, with exact fractions, not by a solution.
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

# The columns that name a row, as awk: COLUMNS is "1" or "1 2".
key='
  BEGIN { split(columns, named, " ") }
  { key = $named[1] (2 in named ? "," $named[2] : "") }
'

# same_keys FILE COLUMNS: the same rows, by the columns that name them, whatever their order
same_keys() {
  awk -F, -v columns="$2" "$key"'
    FNR == 1 { next }
    NR == FNR { expected[key] = 1; next }
    !(key in expected) { print "should not be there: " key; wrong = 1 }
    seen[key]++ == 1 { print "there twice: " key; wrong = 1 }
    END {
      for (key in expected) if (!(key in seen)) { print "missing: " key; wrong = 1 }
      exit wrong
    }' "/tests/expected/$1" "/app/out/$1"
}

# same_values FILE COLUMNS COLUMN: that column is right in every row
same_values() {
  awk -F, -v columns="$2" -v column="$3" "$key"'
    NR == FNR { expected[key] = $column; next }
    FNR > 1 && (key in expected) && $column "" != expected[key] "" {
      print key ": should be " expected[key] ", is " $column; wrong = 1
    }
    END { exit wrong }' "/tests/expected/$1" "/app/out/$1"
}

# same_order FILE COLUMNS
same_order() {
  awk -F, -v columns="$2" "$key"'
    NR == FNR { expected[FNR] = key; next }
    key != expected[FNR] { print "line " FNR " should be " expected[FNR] ", is " key; wrong = 1; exit }
    END { exit wrong }' "/tests/expected/$1" "/app/out/$1"
}

# fits: the totals are those of the ledger that was handed in
fits() {
  awk -F, '
    FNR == 1 { next }
    NR == FNR { key = substr($2, 1, 7) "," $4; entries[key]++; pieces[key] += $5; cents[key] += number($8); all++; next }
    $1 == "TOTAL" { if ($3 != all) { print "TOTAL counts " $3 " entries, the ledger has " all; wrong = 1 } next }
    { key = $1 "," $2 }
    $3 != entries[key] || $4 != pieces[key] || number($5) != cents[key] { print key " is not the sum of the ledger"; wrong = 1 }
    function number(text) { sub(/\./, "", text); return text + 0 }
    END { exit wrong }' /app/out/ledger.csv /app/out/totals.csv
}

same_bytes() {
  [[ $(sha256sum <"/app/out/$1") == "$(sha256sum <"/tests/expected/$1")" ]] ||
    { echo "the file differs somewhere: a row, an extra column, a carriage return, the last line end" && return 1; }
}

for file in ledger.csv exceptions.csv totals.csv; do
  check "$file was written" is_report "$file"
done

if [[ $failures == 0 ]]; then
  for file in ledger.csv exceptions.csv totals.csv; do
    check "$file has its header" same_header "$file"
  done
  check "ledger.csv holds every accepted entry once" same_keys ledger.csv 1
  check "ledger.csv has business dates" same_values ledger.csv 1 2
  check "ledger.csv has sources" same_values ledger.csv 1 3
  check "ledger.csv has canonical SKUs" same_values ledger.csv 1 4
  check "ledger.csv has pieces" same_values ledger.csv 1 5
  check "ledger.csv has currencies" same_values ledger.csv 1 6
  check "ledger.csv has amounts" same_values ledger.csv 1 7
  check "ledger.csv has net euros, rounded once" same_values ledger.csv 1 8
  check "ledger.csv is sorted" same_order ledger.csv 1
  check "exceptions.csv lists every record once" same_keys exceptions.csv "1 2"
  check "exceptions.csv names entries" same_values exceptions.csv "1 2" 3
  check "exceptions.csv has the first reason" same_values exceptions.csv "1 2" 4
  check "exceptions.csv is sorted" same_order exceptions.csv "1 2"
  check "totals.csv has every month and SKU once" same_keys totals.csv "1 2"
  check "totals.csv counts entries" same_values totals.csv "1 2" 3
  check "totals.csv counts pieces" same_values totals.csv "1 2" 4
  check "totals.csv sums net euros" same_values totals.csv "1 2" 5
  check "totals.csv is sorted" same_order totals.csv "1 2"
  check "totals.csv fits ledger.csv" fits
  for file in ledger.csv exceptions.csv totals.csv; do
    check "$file holds exactly that" same_bytes "$file"
  done
fi

echo "1..$number"
mkdir -p /logs/verifier
if [[ $failures == 0 ]]; then echo 1; else echo 0; fi >/logs/verifier/reward.txt
