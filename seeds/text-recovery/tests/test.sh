#!/usr/bin/env bash
# Compares the recovered texts with what was written. The expected files were made from the letters as they
# were before five systems wrote them down, not by a solution.
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

# same_lines FILE: the same lines, each as often, whatever their order
same_lines() {
  awk '
    NR == FNR { expected[$0]++; next }
    { seen[$0]++ }
    END {
      for (line in expected) if (seen[line] < expected[line]) { print "missing: " line; wrong = 1 }
      for (line in seen) if (seen[line] > expected[line]) { print "should not be there: " line; wrong = 1 }
      exit wrong
    }' "/tests/expected/$1" "/app/out/$1"
}

# same_keys FILE: the same entries in the first column, whatever their order
same_keys() {
  awk -F'\t' '
    NR == FNR { expected[$1]++; next }
    { seen[$1]++ }
    END {
      for (key in expected) if (seen[key] < expected[key]) { print "missing: " key; wrong = 1 }
      for (key in seen) if (seen[key] > expected[key]) { print "should not be there: " key; wrong = 1 }
      exit wrong
    }' "/tests/expected/$1" "/app/out/$1"
}

# same_values FILE COLUMN: that column is right in every entry
same_values() {
  awk -F'\t' -v column="$2" '
    NR == FNR { expected[$1] = $column; next }
    ($1 in expected) && $column "" != expected[$1] "" { print $1 ": should be " expected[$1] ", is " $column; wrong = 1 }
    END { exit wrong }' "/tests/expected/$1" "/app/out/$1"
}

same_order() {
  awk -F'\t' '
    NR == FNR { expected[FNR] = $1; next }
    $1 "" != expected[FNR] "" { print "line " FNR " should begin with " expected[FNR] ", begins with " $1; wrong = 1; exit }
    END { exit wrong }' "/tests/expected/$1" "/app/out/$1"
}

same_bytes() {
  [[ $(sha256sum <"/app/out/$1") == "$(sha256sum <"/tests/expected/$1")" ]] ||
    { echo "the file differs somewhere: a row, an extra column, a carriage return, the last line end" && return 1; }
}

files=(letters.txt register.tsv concordance.tsv damage.tsv systems.tsv persons.tsv)
for file in "${files[@]}"; do
  check "$file was written" is_file "$file"
done

if [[ $failures == 0 ]]; then
  check "letters.txt has all paragraphs" same_lines letters.txt
  for file in register.tsv concordance.tsv damage.tsv systems.tsv persons.tsv; do
    check "$file has its header" same_header "$file"
    check "$file has the right entries" same_keys "$file"
  done
  column=1
  for name in date from to copies used paragraphs words characters lost subject; do
    column=$((column + 1))
    check "register.tsv: $name" same_values register.tsv "$column"
  done
  check "concordance.tsv counts each word" same_values concordance.tsv 2
  check "concordance.tsv names its places" same_values concordance.tsv 3
  for file in damage.tsv systems.tsv persons.tsv; do
    check "$file has all lines" same_lines "$file"
  done
  for file in register.tsv concordance.tsv damage.tsv systems.tsv persons.tsv; do
    check "$file is sorted" same_order "$file"
  done
  for file in "${files[@]}"; do
    check "$file holds exactly that" same_bytes "$file"
  done
fi

echo "1..$number"
mkdir -p /logs/verifier
if [[ $failures == 0 ]]; then echo 1; else echo 0; fi >/logs/verifier/reward.txt
