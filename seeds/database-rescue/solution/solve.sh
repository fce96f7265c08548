#!/usr/bin/env bash
# Log first: which records count, and what became of their transactions. Then the best copy of each page,
# the changes on top of it, and what is missing. Tables between the steps are tab-separated, in /tmp/rescue.
set -euo pipefail
export LC_ALL=C

mkdir -p /tmp/rescue /app/out

# adler: the checksum of a text. unescaped: a value as it was. csv: a value as the results want it.
common='
function adler(text,    i, n, a, b) {
  if (!("a" in code)) for (i = 1; i < 256; i++) code[sprintf("%c", i)] = i
  a = 1; b = 0; n = length(text)
  for (i = 1; i <= n; i++) { a = (a + code[substr(text, i, 1)]) % 65521; b = (b + a) % 65521 }
  return sprintf("%04x%04x", b, a)
}
function unescaped(value,    i, c, made) {
  for (i = 1; i <= length(value); i++) {
    c = substr(value, i, 1)
    if (c == "\\") { i++; c = substr(value, i, 1) == "p" ? "|" : "\\" }
    made = made c
  }
  return made
}
function csv(value) {
  if (value !~ /[,"]/) return value
  gsub(/"/, "\"\"", value)
  return "\"" value "\""
}
function csv_row(row,    part, n, i, made) {
  n = split(row, part, "|")
  for (i = 1; i <= n; i++) made = made (i > 1 ? "," : "") csv(unescaped(part[i]))
  return made
}
'

# Records with a right checksum, inside their segment and of the epoch in force: lsn, 0 wal or 1 mirror, rest.
awk -F'\t' "$common"'
  FILENAME == "/app/store/history.tsv" { if (FNR > 1) { epoch[++epochs] = $1; starts[epochs] = $2 } next }
  FNR == 1 { split($0, head, " "); mirror = FILENAME ~ /^\/app\/store\/mirror/; next }
  {
    body = $0; sub(/\t[^\t]*$/, "", body)
    if (NF < 4 || adler(body) != $NF) next
    if ($1 + 0 < head[6] + 0 || $1 + 0 > head[8] + 0 || in_force($1) != head[4]) next
    print $1 "\t" mirror "\t" substr(body, length($1) + 2)
  }
  function in_force(lsn,    i, found) {
    for (i = 1; i <= epochs; i++) if (starts[i] + 0 <= lsn + 0) found = epoch[i]
    return found
  }
' /app/store/history.tsv /app/store/wal/*.wal /app/store/mirror/*.wal >/tmp/rescue/valid.tsv

# Up to the first gap, each once.
sort -t"$(printf '\t')" -k1,1n -k2,2n /tmp/rescue/valid.tsv | awk -F'\t' '
  ended || $1 == last { next }
  last != "" && $1 != last + 1 { ended = 1; next }
  { print; last = $1 }
' >/tmp/rescue/log.tsv
point=$(tail -n 1 /tmp/rescue/log.tsv | cut -f1)

# Changes in their order: lsn, table, page, slot, operation, arguments, 1 if it counts, lsn at which it was
# taken back (0: not up to the point). And the transactions.
awk -F'\t' -v OFS='\t' '
  FILENAME == "/app/store/coordinator.tsv" { decision[$1] = $2; next }
  $3 == 0 { next }
  !($3 in first) { first[$3] = $1; txns[++count] = $3 }
  { last[$3] = $1 }
  $4 == "INS" || $4 == "UPD" || $4 == "DEL" {
    n = ++made[$3]; change[$3, n] = $1; back[$1] = 0
    line = $5 "\t" $6 "\t" $7 "\t" $4
    rest = $8; for (i = 9; i <= NF; i++) rest = rest "\t" $i
    what[$1] = line; arguments[$1] = rest; owner[$1] = $3; order[++changes] = $1
  }
  $4 == "SAVE" { saved[$3, $5] = made[$3] + 0 }
  $4 == "BACK" { take_back($3, saved[$3, $5], $1) }
  $4 == "ABORT" { take_back($3, 0, $1); outcome[$3] = "aborted" }
  $4 == "COMMIT" { outcome[$3] = "committed" }
  $4 == "PREPARE" { gid[$3] = $5 }
  function take_back(txn, after, lsn,    i) {
    for (i = after + 1; i <= made[txn]; i++) if (!back[change[txn, i]]) back[change[txn, i]] = lsn
  }
  END {
    for (i = 1; i <= count; i++) {
      t = txns[i]
      if (!(t in outcome)) {
        if (!(t in gid)) outcome[t] = "in-flight"
        else outcome[t] = decision[gid[t]] == "commit" ? "prepared-committed" : "prepared-aborted"
      }
      print t "," first[t] "," last[t] "," made[t] + 0 "," outcome[t] >"/tmp/rescue/transactions.csv"
    }
    for (i = 1; i <= changes; i++) {
      c = order[i]
      counts = outcome[owner[c]] ~ /committed$/ && !back[c]
      gsub(/\t/, "\001", arguments[c])
      print c, what[c], arguments[c], counts, back[c]
    }
  }
' /app/store/coordinator.tsv /tmp/rescue/log.tsv >/tmp/rescue/changes.tsv

{ echo txn,first,last,changes,outcome; sort -t, -k1,1n /tmp/rescue/transactions.csv; } >/app/out/transactions.csv

# Copies of pages: table, page, lsn, rank (4 own place ... 1 dump), slots as number, state, row, apart by \002.
for table in members tools loans fees; do
  awk -v OFS='\t' -v table="$table" "$common"'
    FILENAME == "/app/store/history.tsv" { if (FNR > 1) { epoch[++epochs] = $1; starts[epochs] = $2 } next }
    {
      for (place = 0; place * 1024 < length($0); place++) {
        page = substr($0, place * 1024 + 1, 1024)
        good = adler(substr(page, 1, 24) "00000000" substr(page, 33)) == substr(page, 25, 8)
        print table, place, good >("/tmp/rescue/places.tsv." table)
        lsn = substr(page, 15, 8) + 0; number = substr(page, 11, 4) + 0
        if (!good || substr(page, 9, 2) + 0 != in_force(lsn)) continue
        print table, number, lsn, number == place ? 4 : 3, slots(page, substr(page, 23, 2) + 0)
      }
    }
    function slots(page, count,    i, at, size, made) {
      at = 33
      for (i = 0; i < count; i++) {
        size = substr(page, at + 1, 3) + 0
        made = made "\002" i substr(page, at, 1) substr(page, at + 4, size)
        at += 4 + size
      }
      return substr(made, 2)
    }
    function in_force(lsn,    i, found) {
      for (i = 1; i <= epochs; i++) if (starts[i] + 0 <= lsn) found = epoch[i]
      return found + 0
    }
  ' /app/store/history.tsv "/app/store/pages/$table.pages" >"/tmp/rescue/$table.copies"

  awk -v OFS='\t' -v table="$table" '
    NR > 1 {
      split("", value); n = 1; quoted = 0
      for (i = 1; i <= length($0); i++) {
        c = substr($0, i, 1)
        if (c == "\"" && quoted && substr($0, i + 1, 1) == "\"") { value[n] = value[n] c; i++ }
        else if (c == "\"") quoted = !quoted
        else if (c == "," && !quoted) n++
        else if (c == "\\") value[n] = value[n] "\\\\"
        else if (c == "|") value[n] = value[n] "\\p"
        else value[n] = value[n] c
      }
      row = value[4]; for (i = 5; i <= n; i++) row = row "|" value[i]
      page = value[1]; lsn[page] = value[2]
      slots[page] = slots[page] "\002" value[3] "L" row
    }
    END { for (page in slots) print table, page, lsn[page], 1, substr(slots[page], 2) }
  ' "/app/store/dump/$table.csv" >"/tmp/rescue/$table.dumped"
done

awk -F'\t' -v OFS='\t' '
  $4 == "IMG" {
    slots = $7; for (i = 8; i <= NF; i++) slots = slots "\002" $i
    print $5, $6, $1, 2, slots
  }
' /tmp/rescue/log.tsv >/tmp/rescue/images

# The best usable copy of each page: table, page, lsn, source, slots.
cat /tmp/rescue/places.tsv.* >/tmp/rescue/places.tsv
cat /tmp/rescue/*.copies /tmp/rescue/*.dumped /tmp/rescue/images >/tmp/rescue/copies.tsv
awk -F'\t' -v OFS='\t' -v point="$point" '
  BEGIN { split("dump image elsewhere file", source, " ") }
  FILENAME == "/app/store/checkpoint.tsv" { if (FNR > 1) { changed[$1, $2] = $3; listed[$1, $2] = 1 } next }
  FILENAME == "/tmp/rescue/places.tsv" { wanted[$1 "\t" $2]; next }
  FILENAME == "/tmp/rescue/changes.tsv" { wanted[$2 "\t" $3]; next }
  $3 + 0 >= changed[$1, $2] + 0 && $3 + 0 <= point + 0 {
    key = $1 "\t" $2
    if (!(key in best) || $3 > lsn[key] || $3 == lsn[key] && $4 > rank[key]) {
      best[key] = $5; lsn[key] = $3 + 0; rank[key] = $4
    }
  }
  END {
    for (key in wanted) {
      split(key, part, "\t")
      if (key in best) print key, lsn[key], source[rank[key]], best[key]
      else print key, 0, (part[1], part[2]) in listed ? "none" : "new", ""
    }
  }
' /app/store/checkpoint.tsv /tmp/rescue/places.tsv /tmp/rescue/changes.tsv /tmp/rescue/copies.tsv >/tmp/rescue/bases.tsv

order='function table_number(table) { return (index("members tools   loans   fees", table) + 7) / 8 }'
{
  echo table,page,source,lsn
  awk -F'\t' "$order"'{ print table_number($1) "," $1 "," $2 "," $4 "," $3 }' /tmp/rescue/bases.tsv |
    sort -t, -k1,1n -k3,3n | cut -d, -f2-
} >/app/out/pages.csv

# The rows: first what the copy has of changes that were taken back later or do not count, last change first,
# back to what was; then what came after the copy and counts. Prints table and row, or table, id and "page".
tac /tmp/rescue/changes.tsv >/tmp/rescue/backwards.tsv
awk -F'\t' '
  FILENAME == "/app/store/schema.txt" {
    if ($0 ~ /->/) next
    n = split($0, part, " ")
    for (i = 3; i <= n; i++) column[part[1], part[i]] = i - 2
    next
  }
  FILENAME == "/tmp/rescue/bases.tsv" {
    base[$1, $2] = $3; source[$1, $2] = $4
    n = split($5, part, "\002")
    for (i = 1; i <= n; i++) {
      slot = part[i] + 0; sub(/^[0-9]+/, "", part[i])
      state[$1, $2, slot] = substr(part[i], 1, 1); row[$1, $2, slot] = substr(part[i], 2)
    }
    next
  }
  FILENAME == "/tmp/rescue/backwards.tsv" {
    at = $2 SUBSEP $3 SUBSEP $4; from = base[$2, $3]
    if (source[$2, $3] == "none" || $1 > from || $7 || $8 && $8 <= from) next
    if ($5 == "INS") state[at] = "F"
    else if ($5 == "DEL") { state[at] = "L"; row[at] = $6 }
    else update(at, $2, $6, 1)
    next
  }
  FILENAME == "/tmp/rescue/changes.tsv" {
    at = $2 SUBSEP $3 SUBSEP $4
    if (!$7 || source[$2, $3] != "none" && $1 <= base[$2, $3]) next
    if ($5 == "INS") { state[at] = "L"; row[at] = $6 }
    else if ($5 == "DEL") state[at] = "F"
    else if (at in state && state[at] == "L") update(at, $2, $6, 2)
    next
  }
  # What is left are the indexes.
  {
    name = FILENAME; sub(/.*\//, "", name); sub(/\.idx$/, "", name)
    split($0, part, " ")
    if (source[name, part[2]] == "none" && !((name, part[2], part[3]) in state)) print name "\t" part[1] "\tpage"
  }
  function update(at, table, text, which,    value, set, n, i, made) {
    split(row[at], value, "|"); columns = split(row[at], value, "|")
    n = split(text, set, "\001")
    for (i = 1; i < n; i += 3) value[column[table, set[i]]] = set[i + which]
    for (i = 1; i <= columns; i++) made = made (i > 1 ? "|" : "") value[i]
    row[at] = made
  }
  END {
    for (at in state) if (state[at] == "L") { split(at, part, SUBSEP); print part[1] "\t" row[at] }
  }
' /app/store/schema.txt /tmp/rescue/bases.tsv /tmp/rescue/backwards.tsv /tmp/rescue/changes.tsv \
  /app/store/index/members.idx /app/store/index/tools.idx /app/store/index/loans.idx /app/store/index/fees.idx \
  >/tmp/rescue/rows.tsv

# What refers to nothing, parents before children.
awk -F'\t' -v OFS='\t' '
  $3 == "page" { print; next }
  { split($2, value, "|"); line[++count] = $0; table[count] = $1; id[count] = value[1]; one[count] = value[2]; two[count] = value[3] }
  END {
    for (i = 1; i <= count; i++) if (table[i] == "members" || table[i] == "tools") keep(i)
    for (i = 1; i <= count; i++)
      if (table[i] == "loans") { if (("members", one[i]) in there && ("tools", two[i]) in there) keep(i); else drop(i) }
    for (i = 1; i <= count; i++)
      if (table[i] == "fees") { if (("loans", one[i]) in there) keep(i); else drop(i) }
  }
  function keep(i) { there[table[i], id[i]] = 1; print line[i], "kept" }
  function drop(i) { print table[i], id[i], "orphan" }
' /tmp/rescue/rows.tsv >/tmp/rescue/judged.tsv

table_of() {
  awk -F'\t' -v table="$1" '
    FNR == NR { if (index($0, table " ") == 1) { n = split($0, part, " "); for (i = 3; i <= n; i++) printf "%s%s", part[i], i < n ? "," : "\n" } }
  ' /app/store/schema.txt /dev/null
  awk -F'\t' -v table="$1" "$common"'$1 == table && $3 == "kept" { print csv_row($2) }' /tmp/rescue/judged.tsv | sort -t, -k1,1n
}
table_of members >/app/out/members.csv
table_of tools >/app/out/tools.csv
table_of loans >/app/out/loans.csv
table_of fees >/app/out/fees.csv

{
  echo table,id,reason
  awk -F'\t' "$order"'$3 != "kept" { print table_number($1) "," $1 "," $2 "," $3 }' /tmp/rescue/judged.tsv |
    sort -t, -k1,1n -k3,3n | cut -d, -f2-
} >/app/out/lost.csv

{
  echo "consistent_lsn=$point"
  echo "from_mirror=$(awk -F'\t' '$2 == 1 { n++ } END { print n + 0 }' /tmp/rescue/log.tsv)"
  echo "unreadable_pages=$(awk -F'\t' '!$3 { n++ } END { print n + 0 }' /tmp/rescue/places.tsv)"
  awk -F, '{ n[$3]++ } END { print "lost_rows=" n["page"] + 0; print "orphans=" n["orphan"] + 0 }' /app/out/lost.csv
  awk -F'\t' '
    $3 != "kept" { next }
    { split($2, value, "|") }
    $1 == "loans" && value[5] == "" { open++ }
    $1 == "fees" { cents += value[4] }
    END { printf "open_loans=%d\nfees_cents=%d\n", open, cents }
  ' /tmp/rescue/judged.tsv
} >/app/out/report.txt
