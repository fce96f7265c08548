#!/usr/bin/env bash
# Brings the three exports into one form, settles versions and corrections, then books.
# Tables between the steps are tab-separated, without headers, in /app/work. Columns of an entry:
# 1 entry, 2 version, 3 source, 4 record, 5 date, 6 sku, 7 quantity, 8 unit, 9 currency, 10 cents ("?": unreadable), 11 state
set -euo pipefail
export LC_ALL=C

mkdir -p /app/work /app/out

# day_number: days since 1970 of a civil date; civil: the reverse. business_date: of a moment in local minutes.
dates='
function day_number(year, month, day) {
  if (month <= 2) { year--; month += 12 }
  return 365 * year + int(year / 4) - int(year / 100) + int(year / 400) + int((153 * (month - 3) + 2) / 5) + day - 719469
}
function civil(days,    era, doe, yoe, doy, m, month) {
  days += 719468; era = int(days / 146097); doe = days - era * 146097
  yoe = int((doe - int(doe / 1460) + int(doe / 36524) - int(doe / 146096)) / 365)
  doy = doe - (365 * yoe + int(yoe / 4) - int(yoe / 100)); m = int((5 * doy + 2) / 153)
  month = m < 10 ? m + 3 : m - 9
  return sprintf("%04d-%02d-%02d", yoe + era * 400 + (month <= 2), month, doy - int((153 * m + 2) / 5) + 1)
}
function business_date(minutes) { return civil(int((minutes - 240) / 1440)) }
function canonical_sku(sku) { gsub(/[- ]/, "", sku); return toupper(sku) }
'

# The tills: records may go over several lines, so read by character.
awk "$dates"'
  BEGIN { OFS = "\t" }
  { text = text $0 "\n" }
  END {
    field = 1; length_of_text = length(text)
    for (i = 1; i <= length_of_text; i++) {
      c = substr(text, i, 1)
      if (quoted) {
        if (c != "\"") value[field] = value[field] c
        else if (substr(text, i + 1, 1) == "\"") { value[field] = value[field] c; i++ }
        else quoted = 0
      }
      else if (c == "\"") quoted = 1
      else if (c == ";") field++
      else if (c == "\n") { if (records++) keep(records - 1); split("", value); field = 1 }
      else value[field] = value[field] c
    }
  }
  function keep(record,    part) {
    split(value[4], part, /[. :]/)
    minutes = day_number(part[3], part[2], part[1]) * 1440 + part[4] * 60 + part[5]
    print sprintf("K%d-%06d", value[1], value[2]), sprintf("%09d", value[3]), "kiosk", record, business_date(minutes), \
      canonical_sku(value[5]), value[6], "PC", value[8], cents(value[7]), (value[1] + 0 == 99 ? "training" : "")
  }
  function cents(amount,    digits) {
    if (amount !~ /^-?[0-9]+,[0-9][0-9]$/ && amount !~ /^-?[0-9][0-9]?[0-9]?(\.[0-9][0-9][0-9])+,[0-9][0-9]$/) return "?"
    gsub(/[.,]/, "", amount)
    return amount + 0
  }
' /app/data/kiosk.csv >/app/work/kiosk.tsv

# The web shop.
awk -F'\t' "$dates"'
  BEGIN { OFS = "\t"; summer = day_number(2026, 3, 29) * 1440 + 60 }
  NR == 1 { next }
  {
    sub(/\r$/, "")
    split($4, part, /[-T:Z]/)
    minutes = day_number(part[1], part[2], part[3]) * 1440 + part[4] * 60 + part[5]
    minutes += minutes >= summer ? 180 : 120
    print "W" $1 "-" $2, $3, "web", NR - 1, business_date(minutes), canonical_sku($5), $6, "PC", $7, \
      ($7 == "ISK" ? $8 * 100 : $8), ($9 == "cancelled" ? "cancelled" : "")
  }
' /app/data/web.tsv >/app/work/web.tsv

# The agents.
awk "$dates"'
  BEGIN { OFS = "\t" }
  /^\*/ { next }
  {
    print "A" substr($0, 1, 6), "", "agents", ++record, \
      "20" substr($0, 7, 2) "-" substr($0, 9, 2) "-" substr($0, 11, 2), canonical_sku(substr($0, 13, 12)), \
      signed(substr($0, 25, 6)), substr($0, 31, 2), substr($0, 33, 3), cents(substr($0, 36, 12)), ""
  }
  function signed(text) { gsub(/ /, "", text); return text ~ /-$/ ? -substr(text, 1, length(text) - 1) : text + 0 }
  function cents(amount) {
    gsub(/ /, "", amount)
    if (amount !~ /^[0-9]+\.[0-9][0-9]-?$/) return "?"
    sub(/\./, "", amount)
    return signed(amount)
  }
' /app/data/agents.txt >/app/work/agents.tsv

# Which record of an entry stands: the highest version, further down among equals. `standing` marks it.
cat /app/work/kiosk.tsv /app/work/web.tsv /app/work/agents.tsv | awk -F'\t' '
  { line[NR] = $0; entry[NR] = $1 }
  !($1 in best) || $2 "" >= version[$1] "" { best[$1] = NR; version[$1] = $2 }
  END { for (i = 1; i <= NR; i++) print (best[entry[i]] == i ? "standing" : "superseded") "\t" line[i] }
' >/app/work/versions.tsv

grep '^standing' /app/work/versions.tsv | cut -f2- >/app/work/standing.tsv

# Corrections with the time received in UTC, in their order: minutes, number, record, entry, field, value, state.
awk -F, "$dates"'
  BEGIN { OFS = "\t"; cut_off = day_number(2026, 4, 10) * 86400 + 12 * 3600 }
  FILENAME == "/app/work/standing.tsv" { split($0, row, "\t"); known[row[1]] = 1; next }
  FNR == 1 { next }
  {
    split(substr($2, 1, 19), part, /[-T:]/)
    zone = (substr($2, 20, 1) "1") * (substr($2, 21, 2) * 3600 + substr($2, 24, 2) * 60)
    received = day_number(part[1], part[2], part[3]) * 86400 + part[4] * 3600 + part[5] * 60 + part[6] - zone
    state = received > cut_off ? "late" : ($3 in known) ? "usable" : "unknown-entry"
    print received, $1, FNR - 1, $3, $4, $5, state
  }
' /app/work/standing.tsv /app/data/corrections.csv | sort -k1,1n -k2,2n >/app/work/corrections.tsv

# Entries after the corrections.
awk -F'\t' "$dates"'
  BEGIN { OFS = "\t" }
  FILENAME == "/app/work/corrections.tsv" { if ($7 == "usable") { new[$4, $5] = $6 } next }
  {
    if (($1, "date") in new) $5 = new[$1, "date"]
    if (($1, "sku") in new) $6 = canonical_sku(new[$1, "sku"])
    if (($1, "quantity") in new) { $7 = new[$1, "quantity"]; $8 = "PC" }
    if (($1, "amount") in new) { $10 = new[$1, "amount"]; sub(/\./, "", $10); $10 += 0 }
    if ($11 == "" && new[$1, "void"] == "yes") $11 = "voided"
    print
  }
' /app/work/corrections.tsv /app/work/standing.tsv >/app/work/corrected.tsv

# Product row and rate for each entry, or the reason against it. Adds pieces, net cents, reason.
awk -F, "$dates"'
  BEGIN { OFS = "\t" }
  FILENAME == "/app/data/products.csv" {
    # The name may hold commas and quotes, so box and VAT count from the end.
    if (FNR > 1) { n = ++rows[$1]; from[$1, n] = $2; box[$1, n] = $(NF - 1); vat[$1, n] = $NF }
    next
  }
  FILENAME == "/app/data/rates.csv" {
    if (FNR > 1) { micro[$1, $2] = int($4 * 1000000 + 0.5); units[$2] = $3 }
    next
  }
  {
    split($0, row, "\t")
    reason = row[11]; date = row[5]; product = valid_row(row[6], date); rated = rated_day(row[9], date)
    if (reason == "" && row[10] == "?") reason = "bad-amount"
    if (reason == "" && (date < "2026-01-01" || date > "2026-03-31")) reason = "out-of-period"
    if (reason == "" && !product) reason = "no-product"
    if (reason == "" && rated == "") reason = "no-rate"
    pieces = net = ""
    if (reason == "") {
      pieces = row[7] * (row[8] == "DZ" ? 12 : row[8] == "BX" ? box[row[6], product] : 1)
      rate = row[9] == "EUR" ? 1000000 : micro[rated, row[9]]
      per = row[9] == "EUR" ? 1 : units[row[9]]
      factor = row[3] == "agents" ? 100 : 100 + vat[row[6], product]
      net = rounded(row[10] * rate * 100, per * 1000000 * factor)
    }
    print $0, pieces, net, reason
  }
  function valid_row(sku, date,    n, found) {
    for (n = 1; n <= rows[sku]; n++)
      if (from[sku, n] <= date && (!found || from[sku, n] > from[sku, found])) found = n
    return found
  }
  function rated_day(currency, date,    part, back, day) {
    if (currency == "EUR") return date
    split(date, part, "-")
    for (back = 0; back <= 7; back++) {
      day = civil(day_number(part[1], part[2], part[3]) - back)
      if ((day, currency) in micro) return day
    }
    return ""
  }
  # Whole numbers below 2^53 throughout, so nothing is lost; halves away from zero.
  function rounded(top, bottom,    sign, whole) {
    sign = top < 0 ? -1 : 1; top *= sign
    whole = int(top / bottom)
    while (whole * bottom > top) whole--
    while ((whole + 1) * bottom <= top) whole++
    if (2 * (top - whole * bottom) >= bottom) whole++
    return sprintf("%.0f", sign * whole + 0)
  }
' /app/data/products.csv /app/data/rates.csv /app/work/corrected.tsv >/app/work/judged.tsv

# The ledger.
money='
function money(cents,    sign) {
  sign = cents < 0 ? "-" : ""; if (cents < 0) cents = -cents
  return sprintf("%s%d.%02d", sign, int(cents / 100), cents % 100)
}
'
{
  echo entry,date,source,sku,pieces,currency,amount,net_eur
  awk -F'\t' "$money"'
    BEGIN { OFS = "," }
    $14 == "" { print $1, $5, $3, $6, $12, $9, money($10), money($13) }
  ' /app/work/judged.tsv | sort -t, -k2,2 -k1,1
} >/app/out/ledger.csv

# The exceptions.
{
  echo source,record,entry,reason
  {
    awk -F'\t' -v OFS=, '$1 == "superseded" { print $4, $5, $2, $1 }' /app/work/versions.tsv
    awk -F'\t' -v OFS=, '$14 != "" { print $3, $4, $1, $14 }' /app/work/judged.tsv
    awk -F'\t' -v OFS=, '$7 != "usable" { print "corrections", $3, $4, $7 }' /app/work/corrections.tsv
  } | sort -t, -k1,1 -k2,2n
} >/app/out/exceptions.csv

# The totals.
{
  echo month,sku,entries,pieces,net_eur
  awk -F, "$money"'
    BEGIN { OFS = "," }
    FNR == 1 { next }
    {
      key = substr($2, 1, 7) "," $4; cents = $8; sub(/\./, "", cents)
      entries[key]++; pieces[key] += $5; net[key] += cents
      all_entries++; all_pieces += $5; all_net += cents
    }
    END {
      for (key in entries) print key, entries[key], pieces[key], money(net[key]) | "sort"
      close("sort")
      print "TOTAL,", all_entries, all_pieces, money(all_net)
    }
  ' /app/out/ledger.csv
} >/app/out/totals.csv
