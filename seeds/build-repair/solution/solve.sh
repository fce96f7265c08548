#!/usr/bin/env bash
# Brings the book to the state of the tag, chooses versions, mends the texts, orders the graph, then builds.
# Tables between the steps are tab-separated, without headers, in /tmp/build; texts are files there.
set -euo pipefail
export LC_ALL=C

rm -rf /tmp/build
mkdir -p /tmp/build/copies /tmp/build/right /tmp/build/made /tmp/build/cache /app/out

# The edits that count, latest first: a revert is met before what it undoes.
sort -t$'\t' -k1,1nr /app/data/edits.tsv | awk -F'\t' '
  BEGIN { OFS = "\t" }
  $4 == "tag" && $6 == "R7" { tagged = 1 }
  !tagged || $1 in undone { next }
  $4 == "revert" { undone[$6] = 1; next }
  $4 != "tag" && $1 + 0 > 0 { print $1, $4, $5, $6 }
' | sort -n >/tmp/build/edits.tsv

# The name that a source has on the day of the release.
current='
function current(name) { while (name in renamed) name = renamed[name]; return name }
'

# The book: target, what (rule, from, needs, with), value, the edit that brought it (0: none), name as written.
awk -F'\t' "$current"'
  BEGIN { OFS = "\t"; release = "2026-09-15" }
  FILENAME == "/app/data/renames.tsv" { if (FNR > 1 && $1 <= release) renamed[$2] = $3; next }
  FILENAME == "/app/data/recipes.txt" {
    word = $0; sub(/^ +/, "", word); sub(/ .*/, "", word)
    value = $0; sub(/^ *[a-z]+ /, "", value)
    if (word == "target") { target = value; if (!(target in rule)) targets[++count] = target }
    else if (word == "rule") rule[target] = value
    else if (word == "with") option(target, value)
    else if (word != "") add(target, word, value, 0)
    next
  }
  $2 == "rule" { rule[$3] = $4 }
  $2 == "with" { option($3, $4) }
  $2 ~ /^add-/ { add($3, substr($2, 5), $4, $1) }
  $2 ~ /^drop-/ { drop($3, substr($2, 6), $4) }
  END {
    for (i = 1; i <= count; i++) {
      target = targets[i]
      print target, "rule", rule[target], 0, "-"
      for (n = 1; n <= items[target]; n++)
        if (item[target, n] != "") {
          name = item[target, n]; now = name
          if (name ~ /^src:/) now = "src:" current(substr(name, 5))
          print target, sort_of[target, n], now, edit[target, n], name
        }
      m = split(keys[target], key, "\n")
      for (n = 1; n < m; n++) print target, "with", key[n] "=" options[target, key[n]], 0, "-"
    }
  }
  function add(target, word, value, seq,    n) { n = ++items[target]; item[target, n] = value; sort_of[target, n] = word; edit[target, n] = seq }
  function drop(target, word, value,    n) {
    for (n = 1; n <= items[target]; n++)
      if (item[target, n] == value && sort_of[target, n] == word) { item[target, n] = ""; return }
  }
  function option(target, text,    at, name) {
    at = index(text, "="); name = substr(text, 1, at - 1)
    if (!((target, name) in options)) keys[target] = keys[target] name "\n"
    options[target, name] = substr(text, at + 1)
  }
' /app/data/renames.tsv /app/data/recipes.txt /tmp/build/edits.tsv >/tmp/build/book.tsv

# The version of each source: name, version, catalogued checksum.
awk "$current"'
  BEGIN { OFS = "\t"; release = "2026-09-15" }
  FILENAME == "/app/data/renames.tsv" { if (FNR > 1 && $1 <= release) renamed[$2] = $3; next }
  FILENAME == "/app/data/wants.txt" { if ($0 !~ /^#/) wants[current($1)] = wants[current($1)] " " $2; next }
  FNR == 1 || $1 > release { next }
  $2 == "publish" { n = ++published[$3]; version[$3, n] = $4; sum[$3, $4] = $5; names[$3] = 1 }
  $2 == "yank" { yanked[$3, $4] = 1 }
  $2 == "unyank" { delete yanked[$3, $4] }
  END {
    for (name in names) {
      best = ""
      for (n = 1; n <= published[name]; n++) {
        v = version[name, n]
        if (!((name, v) in yanked) && wanted(v, wants[name]) && (best == "" || number(v) > number(best))) best = v
      }
      if (best != "") print name, best, sum[name, best]
    }
  }
  function number(v,    part) { part[3] = 0; split(v, part, "."); return part[1] * 1000000 + part[2] * 1000 + part[3] }
  function wanted(v, conditions,    n, i, one, other) {
    n = split(conditions, one, " ")
    for (i = 1; i <= n; i++) {
      other = one[i]; sub(/^[<>=!~]+/, "", other)
      if (one[i] ~ /^~/) { if (int(number(v) / 1000) != int(number(other) / 1000)) return 0 }
      else if (one[i] ~ /^>=/) { if (number(v) < number(other)) return 0 }
      else if (one[i] ~ /^<=/) { if (number(v) > number(other)) return 0 }
      else if (one[i] ~ /^!=/) { if (number(v) == number(other)) return 0 }
      else if (one[i] ~ /^>/) { if (number(v) <= number(other)) return 0 }
      else if (one[i] ~ /^</) { if (number(v) >= number(other)) return 0 }
      else if (number(v) != number(other)) return 0
    }
    return 1
  }
' /app/data/renames.tsv /app/data/wants.txt /app/data/catalogue.tsv | sort >/tmp/build/versions.tsv

# The vaults' copies of those versions, one file each: NAME.a, NAME.b, NAME.c.
awk '
  FILENAME == "/tmp/build/versions.tsv" { taken[$1, $2] = 1; next }
  FNR == 1 { left = 0; vault = substr(FILENAME, length(FILENAME) - 4, 1) }
  { sub(/\r$/, "") }
  left == 0 {
    split($0, head, " "); left = head[4]; keep = (head[2], head[3]) in taken
    file = "/tmp/build/copies/" head[2] "." vault
    if (keep) printf "" > file
    next
  }
  {
    if (vault == "b") sub(/^\| /, "")
    if (keep) print > file
    if (--left == 0 && keep) close(file)
  }
' /tmp/build/versions.tsv /app/data/vault-a.txt /app/data/vault-b.txt /app/data/vault-c.txt

sum_of() { sha256sum <"$1" | cut -c1-64; }

# The right text of each, with its checksum; which copies are damaged; which catalogued checksums are wrong.
mend() {
  local name version sum copy sums right
  while IFS=$'\t' read -r name version sum; do
    right=""
    sums=$(cd /tmp/build/copies && sha256sum "$name".*)
    copy=$(awk -v sum="$sum" '$1 == sum { print $2; exit }' <<<"$sums")
    if [[ -n $copy ]]; then
      right=/tmp/build/copies/$copy
    elif [[ $(cut -c1-64 <<<"$sums" | sort -u | wc -l) == 1 ]]; then
      right=/tmp/build/copies/${sums##* }
      printf 'sum\t%s@%s\t%s\n' "$name" "$version" "${sums:0:64}"
    else
      paste -d $'\001' /tmp/build/copies/"$name".[abc] |
        awk -F'\001' '{ print ($1 "" == $2 "" || $1 "" == $3 "" ? $1 : $2) }' >/tmp/build/voted
      [[ $(sum_of /tmp/build/voted) == "$sum" ]] || { echo "$name $version cannot be mended" >&2 && return 1; }
      right=/tmp/build/voted
    fi
    cp "$right" "/tmp/build/right/$name"
    for copy in /tmp/build/copies/"$name".*; do
      cmp -s "$copy" "$right" || printf 'damaged\t%s@%s\t%s\n' "$name" "$version" "${copy##*.}"
    done
  done
}
mend </tmp/build/versions.tsv >/tmp/build/source-faults.tsv

# What the texts of sources include: source, target.
grep -r '^%include ' /tmp/build/right | sed 's/:%include /\t/; s/^.*\/right\///' >/tmp/build/includes.tsv

# The graph: lines `order TARGET`, and the faults of targets.
awk -F'\t' '
  BEGIN { OFS = "\t" }
  FILENAME == "/tmp/build/includes.tsv" { included[$1] = included[$1] " " $2; next }
  $2 == "rule" { rule[$1] = $3; targets[++count] = $1 }
  $2 == "from" || $2 == "needs" {
    if ($3 ~ /^src:/) { sources[$1] = sources[$1] " " substr($3, 5); if ($3 != $5) old[$1] = old[$1] " " substr($5, 5) }
    else { edge[$1, $3] = 1; heads[$1] = heads[$1] " " $3; if ($4 > 0) { from[$4] = $1; to[$4] = $3; if ($4 > last) last = $4 } }
  }
  END {
    for (i = 1; i <= count; i++) if (rule[targets[i]] == "fill") {
      n = split(sources[targets[i]], source, " ")
      for (j = 1; j <= n; j++) {
        m = split(included[source[j]], part, " ")
        for (k = 1; k <= m; k++) if (!((targets[i], part[k]) in edge)) {
          edge[targets[i], part[k]] = 1; heads[targets[i]] = heads[targets[i]] " " part[k]
          silent[targets[i]] = silent[targets[i]] " " part[k]
        }
      }
    }
    for (seq = last; seq > 0; seq--) if (seq in from) {
      split("", seen)
      if (reaches(to[seq], from[seq])) { delete edge[from[seq], to[seq]]; cut[from[seq]] = cut[from[seq]] " " to[seq] }
    }
    need("guide.txt"); need("index.txt"); need("plaques.txt")
    do {
      next_one = ""
      for (t in needed) if (!(t in done) && ready(t) && (next_one == "" || t "" < next_one "")) next_one = t
      if (next_one != "") { done[next_one] = 1; print "order", next_one }
    } while (next_one != "")
    for (i = 1; i <= count; i++) {
      t = targets[i]
      if (!(t in needed)) { print "unneeded", t, "-"; continue }
      tell("undeclared", t, silent[t]); tell("cycle", t, cut[t]); tell("renamed", t, old[t])
    }
  }
  function tell(kind, target, list,    n, i, one) { n = split(list, one, " "); for (i = 1; i <= n; i++) print kind, target, one[i] }
  function reaches(a, b,    n, i, one) {
    if (a == b) return 1
    if (seen[a]++) return 0
    n = split(heads[a], one, " ")
    for (i = 1; i <= n; i++) if ((a, one[i]) in edge && reaches(one[i], b)) return 1
    return 0
  }
  function need(a,    n, i, one) {
    if (a in needed) return
    needed[a] = 1
    n = split(heads[a], one, " ")
    for (i = 1; i <= n; i++) if ((a, one[i]) in edge) need(one[i])
  }
  function ready(a,    n, i, one) {
    n = split(heads[a], one, " ")
    for (i = 1; i <= n; i++) if ((a, one[i]) in edge && !(one[i] in done)) return 0
    return 1
  }
' /tmp/build/includes.tsv /tmp/build/book.tsv >/tmp/build/graph.tsv

# Settings with their final values: name, value.
awk '
  /^[ ]*#/ || /^ *$/ { next }
  { line = $0; sub(/^ +/, "", line); sub(/ +$/, "", line) }
  line ~ /^unset / { sub(/^unset +/, "", line); delete value[line]; next }
  {
    at = index(line, "="); name = substr(line, 1, at - 1); text = substr(line, at + 1)
    more = name ~ /\+$/; sub(/\+$/, "", name); sub(/ +$/, "", name); sub(/^ +/, "", text)
    if (more && (name in value)) text = value[name] " " text
    value[name] = text
  }
  END { for (name in value) print name "\t" value[name] }
' /app/data/settings-base.txt /app/data/settings-site.txt >/tmp/build/settings.tsv

# Texts of the cache, one file each.
awk '
  left == 0 { left = $3; file = "/tmp/build/cache/" $2; next }
  { print > file; if (--left == 0) close(file) }
' /app/data/cache-objects.txt
(cd /tmp/build/cache && sha256sum -- *) >/tmp/build/cache-sums.txt

# text_file NAME: where the text of an input is
text_file() {
  case $1 in
    src:*) echo "/tmp/build/right/${1#src:}" ;;
    *) echo "/tmp/build/made/${1//\//+}" ;;
  esac
}

fill() {
  awk '
    FILENAME == "/tmp/build/settings.tsv" { at = index($0, "\t"); value[substr($0, 1, at - 1)] = substr($0, at + 1); next }
    /^%include / {
      file = $2; gsub(/\//, "+", file); file = "/tmp/build/made/" file
      while ((getline line < file) > 0) print filled(line)
      close(file)
      next
    }
    { print filled($0) }
    function filled(text,    out, at, end, name) {
      while ((at = index(text, "@{")) && (end = index(substr(text, at), "}"))) {
        name = substr(text, at + 2, end - 3)
        if (name in value) { text = substr(text, 1, at - 1) value[name] substr(text, at + end) }
        else { out = out substr(text, 1, at + 1); text = substr(text, at + 2); continue }
      }
      return out text
    }
  ' /tmp/build/settings.tsv "$@"
}

wrap() {
  awk -v width="$1" '
    /^ *$/ { flush(); next }
    { for (i = 1; i <= NF; i++) {
        if (line == "") line = $i
        else if (length(line) + 1 + length($i) <= width) line = line " " $i
        else { say(line); line = $i }
    } }
    END { flush() }
    function flush() { if (line != "") { say(line); line = ""; gap = 1 } }
    function say(text) { if (gap) { print ""; gap = 0 } print text }
  '
}

join_texts() {
  local separator=$1 first=1 file
  shift
  for file in "$@"; do
    [[ $first == 1 || -z $separator ]] || printf '%s\n' "$separator"
    first=0
    cat "$file"
  done
}

index_texts() {
  local name
  for name in "$@"; do
    awk -v name="$name" 'sub(/^== /, "") { print $0 "\t" name "\t" NR }' "$(text_file "$name")"
  done | sort
}

option() { sed -n "s/^$1=//p" <<<"$options"; }

# build TARGET: its text on stdout, for /tmp/build/made; what is wrong with its cache entries, into the faults
build() {
  local target=$1 rule inputs options files key name id
  rule=$(awk -F'\t' -v t="$target" '$1 == t && $2 == "rule" { print $3 }' /tmp/build/book.tsv)
  options=$(awk -F'\t' -v t="$target" '$1 == t && $2 == "with" { print $3 }' /tmp/build/book.tsv | sort -t= -k1,1)
  mapfile -t inputs < <(awk -F'\t' -v t="$target" '$1 == t && $2 == "from" { print $3 }' /tmp/build/book.tsv)
  files=()
  for name in "${inputs[@]}"; do files+=("$(text_file "$name")"); done
  key=$({ echo "$rule"; [[ -z $options ]] || echo "$options"; sha256sum "${files[@]}" | cut -c1-64; } | sha256sum | cut -c1-16)
  awk -v t="$target" -v key="$key" '
    FILENAME == "/tmp/build/cache-sums.txt" { sum[$2] = $1; next }
    $2 != t { next }
    $3 != key { print "stale\t" $1 "\t" t; next }
    sum[$1] != $4 { print "corrupt\t" $1 "\t" t; next }
    { print "valid\t" $1 "\t" t }
  ' /tmp/build/cache-sums.txt /app/data/cache.tsv >>/tmp/build/cache-states.tsv
  case $rule in
    join) join_texts "$(option separator)" "${files[@]}" ;;
    strip) cat "${files[@]}" | grep -v '^#' | sed 's/ *$//; /^$/d' ;;
    fill) fill "${files[@]}" ;;
    wrap) cat "${files[@]}" | wrap "$(option width)" ;;
    number) cat "${files[@]}" | awk '/./ { printf "%4d  %s\n", ++n, $0; next } { print "" }' ;;
    index) index_texts "${inputs[@]}" ;;
    press)
      id=$(awk -v t="$target" '$1 == "valid" && $3 == t { print $2; exit }' /tmp/build/cache-states.tsv)
      cat "/tmp/build/cache/$id"
      ;;
  esac
}

: >/tmp/build/cache-states.tsv
for target in $(awk '$1 == "order" { print $2 }' /tmp/build/graph.tsv); do
  build "$target" >"/tmp/build/made/${target//\//+}"
done

cat /tmp/build/made/guide.txt >/app/out/guide.txt
cat /tmp/build/made/index.txt >/app/out/index.txt
cat /tmp/build/made/plaques.txt >/app/out/plaques.txt

# The lock: the versions of sources that needed targets take in, with the checksums of the right texts.
(cd /tmp/build/right && sha256sum -- *) >/tmp/build/right-sums.txt
{
  printf 'name\tversion\tsha256\n'
  awk -F'\t' -v OFS='\t' '
    FILENAME == "/tmp/build/graph.tsv" { if ($1 == "order") needed[$2] = 1; next }
    FILENAME == "/tmp/build/book.tsv" { if ($1 in needed && $2 == "from" && sub(/^src:/, "", $3)) used[$3] = 1; next }
    FILENAME == "/tmp/build/right-sums.txt" { split($0, part, "  "); sum[part[2]] = part[1]; next }
    $1 in used { print $1, $2, sum[$1] }
  ' /tmp/build/graph.tsv /tmp/build/book.tsv /tmp/build/right-sums.txt /tmp/build/versions.tsv | sort
} >/app/out/lock.tsv

{
  printf 'position\ttarget\tsha256\n'
  position=0
  for target in $(awk '$1 == "order" { print $2 }' /tmp/build/graph.tsv); do
    position=$((position + 1))
    printf '%s\t%s\t%s\n' "$position" "$target" "$(sum_of "/tmp/build/made/${target//\//+}")"
  done
} >/app/out/order.tsv

{
  printf 'kind\tobject\tdetail\n'
  {
    grep -v '^order' /tmp/build/graph.tsv
    grep -v '^valid' /tmp/build/cache-states.tsv
    awk -F'\t' -v OFS='\t' '
      FILENAME == "/app/out/lock.tsv" { if (FNR > 1) version[$1] = $2; next }
      { name = $2; sub(/@.*/, "", name) }
      name in version { print }
    ' /app/out/lock.tsv /tmp/build/source-faults.tsv
    awk -F'\t' -v OFS='\t' '
      FILENAME == "/app/data/lock.tsv" { old[$1] = $2; next }
      FNR > 1 && old[$1] "" != $2 "" { print "lock", $1, ($1 in old && old[$1] != "" ? old[$1] : "-") }
    ' /app/data/lock.tsv /app/out/lock.tsv
    awk -F'\t' -v OFS='\t' '
      FILENAME == "/tmp/build/graph.tsv" { if ($1 == "order") needed[$2] = 1; next }
      FNR > 1 && !($2 in needed) { print "orphan", $1, $2 }
    ' /tmp/build/graph.tsv /app/data/cache.tsv
  } | sort -u
} >/app/out/faults.tsv
