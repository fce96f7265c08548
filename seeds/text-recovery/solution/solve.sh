#!/usr/bin/env bash
# Each system's text is brought into one form: system, letter, paragraph, text (UTF-8, tab-separated, in
# /tmp/letters). After that copies are compared and the results written.
set -euo pipefail
export LC_ALL=C

mkdir -p /tmp/letters /app/out

# number: of a hex text. character: UTF-8 of a code point. split_text: a text's characters, with their count.
common='
BEGIN {
  LOST = "\357\277\275"
  for (i = 1; i < 256; i++) { BYTE[i] = sprintf("%c", i); ORD[BYTE[i]] = i }
}
function number(hex,    i, n) {
  for (i = 1; i <= length(hex); i++) n = n * 16 + index("0123456789ABCDEF", toupper(substr(hex, i, 1))) - 1
  return n + 0
}
function character(n) {
  if (n < 128) return BYTE[n]
  if (n < 2048) return BYTE[192 + int(n / 64)] BYTE[128 + n % 64]
  return BYTE[224 + int(n / 4096)] BYTE[128 + int(n / 64) % 64] BYTE[128 + n % 64]
}
function listed(points,    part, n, i, made) {
  n = split(points, part, " ")
  for (i = 1; i <= n; i++) made = made character(number(part[i]))
  return made
}
function split_text(text, into,    i, n, size, lead) {
  split("", into)
  for (i = 1; i <= length(text); i += size) {
    lead = ORD[substr(text, i, 1)]
    size = lead < 192 ? 1 : lead < 224 ? 2 : lead < 240 ? 3 : 4
    into[++n] = substr(text, i, size)
  }
  return n + 0
}
function squeezed(text) { gsub(/  +/, " ", text); sub(/^ /, "", text); sub(/ $/, "", text); return text }
'
# clean: composed and normalised. load_clean: a line of the two lists, told by its file.
cleaning='
function load_clean() {
  if (FNR == 1) return 1
  if (FILENAME == "/app/archive/compose.tsv") { split($0, row, "\t"); COMPOSED[listed(row[1]), listed(row[2])] = listed(row[3]); return 1 }
  if (FILENAME == "/app/archive/normalise.tsv") { split($0, row, "\t"); NORMAL[listed(row[1])] = listed(row[2]); return 1 }
  return 0
}
function clean(text,    c, n, i, one, made) {
  n = split_text(text, c)
  for (i = 1; i <= n; i++) {
    one = c[i]
    if (i < n && (one, c[i + 1]) in COMPOSED) { one = COMPOSED[one, c[i + 1]]; i++ }
    made = made (one in NORMAL ? NORMAL[one] : one)
  }
  return made
}
'

# The terminal.
awk "$common"'
  FILENAME == "/app/archive/overstrike.tsv" { split($0, row, "\t"); struck[row[1], row[2]] = listed(row[3]); next }
  FILENAME ~ /charsets/ {
    name = FILENAME; sub(/.*\//, "", name); sub(/\.tsv$/, "", name)
    if (FNR > 1) { split($0, row, "\t"); national[name, BYTE[number(row[1])]] = listed(row[2]) }
    next
  }
  /^%% / { finish(); letter = $2; variant = $3; paragraph = 0; next }
  {
    while (match($0, /[^\177]\177/)) $0 = substr($0, 1, RSTART - 1) substr($0, RSTART + 2)
    if ($0 ~ /^ *$/) { finish(); next }
    text = text " " plain($0)
  }
  function plain(line,    i, c, made) {
    for (i = 1; i <= length(line); i++) {
      c = substr(line, i, 1)
      if (substr(line, i + 1, 1) == "\b") { made = made struck[c, substr(line, i + 2, 1)]; i += 2 }
      else if (c == "\032") made = made LOST
      else made = made ((variant, c) in national ? national[variant, c] : c)
    }
    return made
  }
  function finish() { if (text != "") print "terminal\t" letter "\t" ++paragraph "\t" squeezed(text); text = "" }
  END { finish() }
' /app/archive/overstrike.tsv /app/archive/charsets/646-de.tsv /app/archive/charsets/646-se.tsv \
  /app/archive/charsets/646-dk.tsv /app/archive/terminal.txt >/tmp/letters/terminal.tsv

# The word processor.
awk "$common"'
  FILENAME ~ /charsets/ {
    name = FILENAME; sub(/.*\//, "", name); sub(/\.tsv$/, "", name)
    if (FNR > 1) { split($0, row, "\t"); table[name, BYTE[number(row[1])]] = listed(row[2]) }
    next
  }
  /^%% L/ { finish(); sub(/\r$/, ""); letter = $2; page = $3; paragraph = 0; ended = 0; next }
  ended { next }
  {
    at = index($0, "\032")
    if (at) { ended = 1; text = text plain(substr($0, 1, at - 1)); finish(); next }
    last = substr($0, length($0))
    line = substr($0, 1, length($0) - 1)
    if (last == "\r") { text = text plain(line); finish() }
    else if (substr(line, length(line)) == "\037") text = text plain(substr(line, 1, length(line) - 1))
    else text = text plain(line) " "
  }
  function plain(line,    i, c, made) {
    for (i = 1; i <= length(line); i++) {
      c = substr(line, i, 1)
      if (c == "\036") continue
      if (c == "\177") made = made LOST
      else made = made ((page, c) in table ? table[page, c] : c)
    }
    return made
  }
  function finish() { if (text != "") print "dos\t" letter "\t" ++paragraph "\t" squeezed(text); text = "" }
  END { finish() }
' /app/archive/charsets/cp437.tsv /app/archive/charsets/cp850.tsv /app/archive/dos.dat >/tmp/letters/dos.tsv

# The mailbox; subjects go to a file of their own.
awk "$common"'
  FILENAME ~ /charsets/ {
    name = FILENAME; sub(/.*\//, "", name); sub(/\.tsv$/, "", name)
    if (FNR > 1) { split($0, row, "\t"); table[name, BYTE[number(row[1])]] = listed(row[2]) }
    next
  }
  /^From / { finish(); split("", head); last = body = ""; in_body = 0; next }
  !in_body && $0 == "" { in_body = 1; next }
  !in_body && /^[ \t]/ { head[last] = head[last] $0; next }
  !in_body { at = index($0, ":"); last = tolower(substr($0, 1, at - 1)); head[last] = substr($0, at + 1); next }
  { if ($0 ~ /^>+From /) sub(/^>/, ""); body = body $0 "\n" }
  END { finish() }

  function finish(    letter, type, way, text) {
    letter = head["x-letter"]; gsub(/[ \t]/, "", letter)
    if (letter == "") return
    type = tolower(head["content-type"]); way = tolower(head["content-transfer-encoding"])
    text = way ~ /base64/ ? base64(body) : way ~ /quoted-printable/ ? quoted(body, 0) : body
    match(type, /charset="?[a-z0-9-]+/)
    charset = substr(type, RSTART + 8, RLENGTH - 8); sub(/^"/, "", charset)
    paragraphs(letter, unicode(text, charset), type ~ /format=flowed/)
    print letter "\t" squeezed(subject(head["subject"])) >"/tmp/letters/subjects.tsv"
  }
  function unicode(text, charset,    i, c, made) {
    charset = tolower(charset)
    if (charset == "utf-8") return text
    if (charset == "iso-8859-1") charset = "windows-1252"
    for (i = 1; i <= length(text); i++) {
      c = substr(text, i, 1)
      made = made (ORD[c] < 128 ? c : (charset, c) in table ? table[charset, c] : LOST)
    }
    return made
  }
  function base64(text,    i, v, n, bits, made) {
    for (i = 1; i <= length(text); i++) {
      v = index("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", substr(text, i, 1)) - 1
      if (v < 0) continue
      n = n * 64 + v; bits += 6
      if (bits >= 8) { bits -= 8; made = made BYTE[int(n / 2 ^ bits)]; n = n % 2 ^ bits }
    }
    return made
  }
  function quoted(text, header,    i, c, two, made) {
    for (i = 1; i <= length(text); i++) {
      c = substr(text, i, 1)
      if (header && c == "_") c = " "
      else if (c == "=") {
        two = substr(text, i + 1, 2)
        if (substr(two, 1, 1) == "\n") { i++; continue }
        c = BYTE[number(two)]; i += 2
      }
      made = made c
    }
    return made
  }
  function subject(text,    word, part, after) {
    while (match(text, /=\?[^?]+\?[BbQq]\?[^?]*\?=/)) {
      word = substr(text, RSTART + 2, RLENGTH - 4); split(word, part, "?")
      word = unicode(toupper(part[2]) == "B" ? base64(part[3]) : quoted(part[3], 1), part[1])
      after = substr(text, RSTART + RLENGTH)
      if (after ~ /^[ \t]+=\?[^?]+\?[BbQq]\?[^?]*\?=/) sub(/^[ \t]+/, "", after)
      text = substr(text, 1, RSTART - 1) word after
    }
    gsub(/\t/, " ", text)
    return text
  }
  function paragraphs(letter, text, flowed,    line, n, i, paragraph, made) {
    n = split(text, line, "\n")
    for (i = 1; i <= n && line[i] != "-- "; i++) {
      if (line[i] ~ /^>/) continue
      if (flowed) {
        sub(/^ /, "", line[i])
        made = made line[i]
        if (line[i] ~ / $/) continue
      }
      else if (line[i] !~ /^ *$/) { made = made " " line[i]; continue }
      if (squeezed(made) != "") print "mail\t" letter "\t" ++paragraph "\t" squeezed(made)
      made = ""
    }
    if (squeezed(made) != "") print "mail\t" letter "\t" ++paragraph "\t" squeezed(made)
  }
' /app/archive/charsets/windows-1252.tsv /app/archive/charsets/iso-8859-2.tsv /app/archive/mail.mbox >/tmp/letters/mail.tsv

# The dump.
awk -F'\t' "$common"'
  FILENAME ~ /charsets/ { if (FNR > 1) back[listed($2)] = BYTE[number($1)]; next }
  FNR == 1 { n = split("129 141 143 144 157", open, " "); for (i = 1; i <= n; i++) back[character(open[i])] = BYTE[open[i]]; next }
  $4 == "deleted" { next }
  $1 + 0 > row[$2, $3] + 0 { row[$2, $3] = $1; part[$2, $3] = mended($5); if ($3 + 0 > parts[$2] + 0) parts[$2] = $3 }
  function mended(text,    better) {
    while ((better = once(text)) != "") text = better
    return text
  }
  function once(text,    c, n, i, made) {
    if (text !~ /[\200-\377]/) return ""
    n = split_text(text, c)
    for (i = 1; i <= n; i++) {
      if (length(c[i]) == 1) made = made c[i]
      else if (c[i] in back) made = made back[c[i]]
      else return ""
    }
    return valid(made) ? made : ""
  }
  function valid(text,    i, lead, more, second, low, high) {
    for (i = 1; i <= length(text); i++) {
      lead = ORD[substr(text, i, 1)]
      if (lead < 128) continue
      if (lead < 194 || lead > 244) return 0
      more = lead < 224 ? 1 : lead < 240 ? 2 : 3
      low = lead == 224 ? 160 : lead == 240 ? 144 : 128; high = lead == 237 ? 159 : lead == 244 ? 143 : 191
      for (; more; more--) {
        second = ORD[substr(text, ++i, 1)] + 0
        if (second < low || second > high) return 0
        low = 128; high = 191
      }
    }
    return 1
  }
  function resolved(text,    made, ref) {
    while (match(text, /&#[0-9]+;|&amp;/)) {
      ref = substr(text, RSTART, RLENGTH)
      made = made substr(text, 1, RSTART - 1) (ref == "&amp;" ? "&" : character(substr(ref, 3) + 0))
      text = substr(text, RSTART + RLENGTH)
    }
    return made text
  }
  function slashed(text,    made, c) {
    while (match(text, /\\[n\\]/)) {
      c = substr(text, RSTART + 1, 1)
      made = made substr(text, 1, RSTART - 1) (c == "n" ? "\n" : "\\")
      text = substr(text, RSTART + 2)
    }
    return made text
  }
  END {
    for (letter in parts) {
      text = ""
      for (i = 1; i <= parts[letter]; i++) text = text part[letter, i]
      n = split(slashed(text), line, "\n"); paragraph = 0
      for (i = 1; i <= n; i++) {
        line[i] = squeezed(resolved(line[i]))
        if (line[i] != "") print "dump\t" letter "\t" ++paragraph "\t" line[i]
      }
    }
  }
' /app/archive/charsets/windows-1252.tsv /app/archive/dump.tsv >/tmp/letters/dump.tsv

# The scans: pages by letter and number, then their lines together.
for scan in /app/archive/scans/scan-1.txt /app/archive/scans/scan-2.txt /app/archive/scans/scan-3.txt; do
  tr '\n\f' '\001\n' <"$scan"
  echo
done >/tmp/letters/pages.txt
awk "$common$cleaning"'
  FILENAME ~ /compose|normalise/ { load_clean(); next }
  FILENAME == "/app/archive/hyphenated.txt" { kept[$0] = 1; next }
  {
    n = split($0, line, "\001")
    while (n && line[n] ~ /^ *$/) n--
    if (!n) next
    split(line[1], word, " "); letter = word[1]; page = word[3]
    text = ""
    for (i = 2; i < n; i++) if (line[i] !~ /^ *$/) text = text line[i] "\n"
    bad = gsub(/\342\226\240/, "&", text)
    if ((letter, page) in best && best[letter, page] < bad) next
    best[letter, page] = bad; pages[letter] = word[5]; found[letter, page] = text
  }
  END {
    for (letter in pages) {
      text = ""
      for (i = 1; i <= pages[letter]; i++) {
        if (!((letter, i) in found)) break
        text = text found[letter, i]
      }
      if (i > pages[letter]) paragraphs(letter, text)
    }
  }
  function paragraphs(letter, text,    line, n, i, made, paragraph, joined, soft) {
    n = split(text, line, "\n") - 1
    for (i = 1; i <= n; i++) {
      if (line[i] ~ /^ /) { if (made != "") print "scans\t" letter "\t" ++paragraph "\t" squeezed(made); made = ""; joined = soft = 0 }
      soft_here = line[i] ~ /\302\255$/; hard_here = line[i] ~ /-$/
      text = squeezed(clean(line[i]))
      if (joined == 2) made = made text
      else if (joined == 1) made = (is_kept(made, text) ? made : substr(made, 1, length(made) - 1)) text
      else made = made " " text
      joined = soft_here ? 2 : hard_here ? 1 : 0
    }
    if (made != "") print "scans\t" letter "\t" ++paragraph "\t" squeezed(made)
  }
  function is_kept(before, after) {
    sub(/.* /, "", before); sub(/ .*/, "", after)
    before = before after
    gsub(/^[^A-Za-z]+|[^A-Za-z]+$/, "", before)
    return before in kept
  }
' /app/archive/compose.tsv /app/archive/normalise.tsv /app/archive/hyphenated.txt /tmp/letters/pages.txt >/tmp/letters/scans.tsv

# All copies normalised, and of each letter the best: letter, system, copies, paragraph, text.
cat /tmp/letters/mail.tsv /tmp/letters/dump.tsv /tmp/letters/dos.tsv /tmp/letters/terminal.tsv /tmp/letters/scans.tsv >/tmp/letters/all.tsv
awk -F'\t' "$common$cleaning"'
  FILENAME ~ /compose|normalise/ { load_clean(); next }
  FILENAME == "/tmp/letters/subjects.tsv" { print $1 "\t" squeezed(clean($2)) >"/tmp/letters/clean-subjects.tsv"; next }
  {
    text = squeezed(clean($4))
    if (!(($2, $1) in size)) copies[$2]++
    lost[$2, $1] += gsub(LOST, LOST, text)
    size[$2, $1] = $3; paragraph[$2, $1, $3] = text
  }
  END {
    n = split("mail dump dos terminal scans", batch, " ")
    for (i = 1; i <= n; i++) print batch[i] >"/tmp/letters/systems.txt"
    for (one in size) { split(one, part, SUBSEP); print part[2] "\t" part[1] "\t" lost[one] + 0 >"/tmp/letters/copies.tsv" }
    for (letter in copies) {
      best = ""
      for (i = 1; i <= n; i++)
        if ((letter, batch[i]) in size && (best == "" || lost[letter, batch[i]] < lost[letter, best])) best = batch[i]
      for (i = 1; i <= size[letter, best]; i++) print letter "\t" best "\t" copies[letter] "\t" i "\t" paragraph[letter, best, i]
    }
  }
' /app/archive/compose.tsv /app/archive/normalise.tsv /tmp/letters/subjects.tsv /tmp/letters/all.tsv >/tmp/letters/best.tsv

# The catalogue: letter, day, from, to.
folding='
function load_folding() { if (FNR > 1) { split($0, row, "\t"); FOLDED[listed(row[1])] = row[2] } }
function folded(text,    c, n, i, made) {
  n = split_text(text, c)
  for (i = 1; i <= n; i++) {
    if (c[i] in FOLDED) made = made FOLDED[c[i]]
    else if (c[i] ~ /^[A-Za-z0-9]$/) made = made tolower(c[i])
  }
  return made
}
'
awk -F'\t' "$common$folding"'
  FILENAME == "/app/archive/folding.tsv" { load_folding(); next }
  FNR == 1 { next }
  FILENAME == "/app/archive/months.tsv" { month[folded($1)] = $2; next }
  FILENAME == "/app/archive/people.tsv" {
    person[folded($1)] = $1
    n = split($2, also, ";"); for (i = 1; i <= n; i++) person[folded(also[i])] = $1
    next
  }
  { print $1 "\t" day($2) "\t" name($3) "\t" name($4) }
  function name(text) { text = folded(text); return text in person ? person[text] : "unknown" }
  function day(text,    julian, part, y, m, d) {
    julian = sub(/ *O\.S\.$/, "", text)
    if (text ~ /^[0-9]+-[0-9]+-[0-9]+$/) { split(text, part, "-"); y = part[1]; m = part[2]; d = part[3] }
    else if (text ~ /^[0-9]+\/[0-9]+\/[0-9]+$/) { split(text, part, "/"); y = part[3]; m = part[1]; d = part[2] }
    else if (text ~ /^[0-9]+\.[0-9]+\.[0-9]+$/) { split(text, part, "."); y = part[3]; m = part[2]; d = part[1] }
    else { split(text, part, /[ .]+/); y = part[3]; m = month[folded(part[2])]; d = part[1] }
    if (length(y) == 2) y += y >= 79 ? 1900 : 2000
    if (julian) {
      d += 13
      if (d > days(y, m + 0)) { d -= days(y, m + 0); m++ }
      if (m > 12) { m = 1; y++ }
    }
    return sprintf("%04d-%02d-%02d", y, m, d)
  }
  function days(y, m) { return m == 2 ? (y % 4 ? 28 : 29) : (m == 4 || m == 6 || m == 9 || m == 11) ? 30 : 31 }
' /app/archive/folding.tsv /app/archive/months.tsv /app/archive/people.tsv /app/archive/catalogue.tsv |
  sort -t"$(printf '\t')" -k2,2 -k1,1 >/tmp/letters/catalogue.tsv

# Errata: the final text as letter, system, copies, paragraph, text; refused ones as lines of damage.tsv.
awk -F'\t' -v OFS='\t' '
  FILENAME == "/tmp/letters/catalogue.tsv" { catalogued[$1] = 1; next }
  FILENAME == "/tmp/letters/best.tsv" {
    if (!($1 in catalogued)) { strange[$1] = 1; next }
    front[++rows] = $1 OFS $2 OFS $3 OFS $4; at[$1, $4] = rows
    count[rows] = split($5, word, " ")
    for (i = 1; i <= count[rows]; i++) text[rows, i] = word[i]
    seen[$1] = 1
    next
  }
  FNR == 1 { next }
  {
    row = ($1, $2) in at ? at[$1, $2] : 0
    if (row && (row, $3) in text && text[row, $3] "" == $4 "") text[row, $3] = $5
    else print $1, $2, $3, "erratum" >"/tmp/letters/damage.tsv"
  }
  END {
    for (letter in strange) print letter, 0, 0, "uncatalogued" >"/tmp/letters/damage.tsv"
    for (letter in catalogued) if (!(letter in seen)) print letter, 0, 0, "missing" >"/tmp/letters/damage.tsv"
    for (row = 1; row <= rows; row++) {
      line = ""
      for (i = 1; i <= count[row]; i++) {
        line = line (i > 1 ? " " : "") text[row, i]
        if (index(text[row, i], "\357\277\275")) {
          split(front[row], part, OFS); print part[1], part[4], i, "lost" >"/tmp/letters/damage.tsv"
        }
      }
      print front[row], line
    }
  }
' /tmp/letters/catalogue.tsv /tmp/letters/best.tsv /app/archive/errata.tsv >/tmp/letters/final.tsv

{
  printf 'letter\tparagraph\tword\twhat\n'
  sort -t"$(printf '\t')" -k1,1 -k2,2n -k3,3n -k4,4 /tmp/letters/damage.tsv
} >/app/out/damage.tsv

# In the order of the catalogue: day, letter, system, copies, paragraph, text.
awk -F'\t' -v OFS='\t' '
  FILENAME == "/tmp/letters/catalogue.tsv" { day[$1] = $2; next }
  { print day[$1], $1, $2, $3, $4, $5 }
' /tmp/letters/catalogue.tsv /tmp/letters/final.tsv | sort -t"$(printf '\t')" -k1,1 -k2,2 -k5,5n >/tmp/letters/ordered.tsv

awk -F'\t' '
  $2 != last { if (last != "") print ""; print "== " $2; last = $2 }
  { print $6 }
  END { print "" }
' /tmp/letters/ordered.tsv >/app/out/letters.txt

{
  printf 'letter\tdate\tfrom\tto\tcopies\tused\tparagraphs\twords\tcharacters\tlost\tsubject\n'
  awk -F'\t' -v OFS='\t' "$common"'
    FILENAME == "/tmp/letters/catalogue.tsv" { persons[$1] = $3 OFS $4; next }
    FILENAME == "/tmp/letters/clean-subjects.tsv" { subject[$1] = $2; next }
    $2 != last { finish(); last = $2; paragraphs = words = size = lost = 0 }
    { front = $2 OFS $1 OFS persons[$2] OFS $4 OFS $3; paragraphs++; words += split($6, word, " "); size += split_text($6, c); lost += gsub(LOST, LOST, $6) }
    END { finish() }
    function finish() { if (last != "") print front, paragraphs, words, size, lost, subject[last] }
  ' /tmp/letters/catalogue.tsv /tmp/letters/clean-subjects.tsv /tmp/letters/ordered.tsv
} >/app/out/register.tsv

{
  printf 'word\tcount\tplaces\n'
  awk -F'\t' -v OFS='\t' "$common$folding"'
    FILENAME == "/app/archive/folding.tsv" { load_folding(); next }
    FILENAME == "/app/archive/stopwords.txt" { stop[$0] = 1; next }
    {
      n = split($6, word, " ")
      for (i = 1; i <= n; i++) {
        if (index(word[i], LOST)) continue
        w = folded(word[i])
        if (length(w) < 5 || w in stop) continue
        count[w]++; places[w] = places[w] (count[w] > 1 ? " " : "") $2 ":" $5 "." i
      }
    }
    END { for (w in count) print w, count[w], places[w] }
  ' /app/archive/folding.tsv /app/archive/stopwords.txt /tmp/letters/ordered.tsv | sort -t"$(printf '\t')" -k1,1
} >/app/out/concordance.tsv

{
  printf 'system\tcopies\tused\tlost\n'
  awk -F'\t' -v OFS='\t' '
    FILENAME == "/tmp/letters/catalogue.tsv" { catalogued[$1] = 1; next }
    FILENAME == "/tmp/letters/copies.tsv" { if ($2 in catalogued) { copies[$1]++; lost[$1] += $3 } next }
    FILENAME == "/tmp/letters/ordered.tsv" { if ($5 == 1) used[$3]++; next }
    { print $1, copies[$1] + 0, used[$1] + 0, lost[$1] + 0 }
  ' /tmp/letters/catalogue.tsv /tmp/letters/copies.tsv /tmp/letters/ordered.tsv /tmp/letters/systems.txt
} >/app/out/systems.tsv

{
  printf 'name\tsent\treceived\tfirst\tlast\n'
  awk -F'\t' -v OFS='\t' '
    FNR == 1 { next }
    FILENAME == "/app/archive/people.tsv" { name[++count] = $1; next }
    { sent[$3]++; received[$4]++; note($3, $2); note($4, $2) }
    function note(who, day) { if (!(who in first)) first[who] = day; last[who] = day }
    END { for (i = 1; i <= count; i++) print name[i], sent[name[i]] + 0, received[name[i]] + 0, first[name[i]], last[name[i]] }
  ' /app/archive/people.tsv /app/out/register.tsv | sort -t"$(printf '\t')" -k1,1
} >/app/out/persons.tsv
