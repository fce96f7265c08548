#!/usr/bin/env bash
# Compares the recovered tables and reports with what was committed. The expected rows were written by the
# run that made the store, before anything was damaged, not by a solution.
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

is_file() {
  [[ -f /app/out/$1 && ! -L /app/out/$1 ]] || { echo "/app/out/$1 is no regular file" && return 1; }
  [[ -s /app/out/$1 ]] || { echo "/app/out/$1 is empty" && return 1; }
  [[ $(stat -c %s "/app/out/$1") -lt 5000000 ]] || { echo "/app/out/$1 is far too large" && return 1; }
}

same_header() {
  [[ $(head -n 1 "/app/out/$1") == "$(head -n 1 "/tests/expected/$1")" ]] ||
    { echo "the first line should be: $(head -n 1 "/tests/expected/$1")" && return 1; }
}

# same_keys FILE COLUMNS: the same rows, by the first COLUMNS columns, whatever their order
same_keys() {
  awk -F, -v columns="$2" '
    function key(    i, made) { for (i = 1; i <= columns; i++) made = made (i > 1 ? "," : "") $i; return made }
    FNR == 1 { next }
    NR == FNR { expected[key()] = 1; next }
    !(key() in expected) { print "should not be there: " key(); wrong = 1 }
    seen[key()]++ == 1 { print "there twice: " key(); wrong = 1 }
    END {
      for (k in expected) if (!(k in seen)) { print "missing: " k; wrong = 1 }
      exit wrong
    }' "/tests/expected/$1" "/app/out/$1"
}

# same_rows FILE COLUMNS: every row whose key is right has the right values
same_rows() {
  awk -F, -v columns="$2" '
    function key(    i, made) { for (i = 1; i <= columns; i++) made = made (i > 1 ? "," : "") $i; return made }
    FNR == 1 { next }
    NR == FNR { expected[key()] = $0; next }
    (key() in expected) && $0 != expected[key()] { print "should be: " expected[key()]; print "is:        " $0; wrong = 1 }
    END { exit wrong }' "/tests/expected/$1" "/app/out/$1"
}

same_order() {
  awk -F, -v columns="$2" '
    function key(    i, made) { for (i = 1; i <= columns; i++) made = made (i > 1 ? "," : "") $i; return made }
    NR == FNR { expected[FNR] = key(); next }
    key() != expected[FNR] { print "line " FNR " should be " expected[FNR] ", is " key(); wrong = 1; exit }
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

# check_rows FILE COLUMNS
check_rows() {
  check "$1 has its header" same_header "$1"
  check "$1 has the right rows, each once" same_keys "$1" "$2"
  check "$1 has the right values" same_rows "$1" "$2"
  check "$1 is sorted" same_order "$1" "$2"
}

files=(members.csv tools.csv loans.csv fees.csv lost.csv pages.csv transactions.csv report.txt)
for file in "${files[@]}"; do
  check "$file was written" is_file "$file"
done

if [[ $failures == 0 ]]; then
  for file in members.csv tools.csv loans.csv fees.csv transactions.csv; do
    check_rows "$file" 1
  done
  for file in lost.csv pages.csv; do
    check_rows "$file" 2
  done
  for entry in consistent_lsn from_mirror unreadable_pages lost_rows orphans open_loans fees_cents; do
    check "report.txt: $entry" same_entry "$entry"
  done
  for file in "${files[@]}"; do
    check "$file holds exactly that" same_bytes "$file"
  done
fi

echo "1..$number"
mkdir -p /logs/verifier
if [[ $failures == 0 ]]; then echo 1; else echo 0; fi >/logs/verifier/reward.txt
