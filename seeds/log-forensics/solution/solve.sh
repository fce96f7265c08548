#!/usr/bin/env bash
# Puts all logs on one clock, finds out who was behind each address, then judges the sessions.
# Tables between the steps are tab-separated, without headers, in /app/work; times are true epochs.
set -euo pipefail
export LC_ALL=C

mkdir -p /app/work /app/out

# epoch: seconds since 1970 of a civil date. utc: the reverse, as text.
dates='
function epoch(year, month, day, hour, minute, second) {
  if (month <= 2) { year--; month += 12 }
  return (365 * year + int(year / 4) - int(year / 100) + int(year / 400) + int((153 * (month - 3) + 2) / 5) \
    + day - 719469) * 86400 + hour * 3600 + minute * 60 + second
}
function utc(time,    days, second, era, doe, yoe, doy, m, year, month) {
  days = int(time / 86400); second = time - days * 86400
  days += 719468; era = int(days / 146097); doe = days - era * 146097
  yoe = int((doe - int(doe / 1460) + int(doe / 36524) - int(doe / 146096)) / 365)
  doy = doe - (365 * yoe + int(yoe / 4) - int(yoe / 100)); m = int((5 * doy + 2) / 153)
  month = m < 10 ? m + 3 : m - 9; year = yoe + era * 400 + (month <= 2)
  return sprintf("%04d-%02d-%02dT%02d:%02d:%02dZ", year, month, doy - int((153 * m + 2) / 5) + 1, \
    int(second / 3600), int(second % 3600 / 60), second % 60)
}
function month_number(name) { return (index("JanFebMarAprMayJunJulAugSepOctNovDec", name) + 2) / 3 }
function zone_seconds(zone) { return (substr(zone, 1, 1) "1") * (substr(zone, 2, 2) * 3600 + substr(zone, 4, 2) * 60) }
'

# Port mappings to the portal: outside, from, until, inside address.
awk -F'[ ,]' "$dates"'
  FNR == NR { if ($1 == "gw1") error = $4 + zone_seconds($3); next }
  $3 != "tcp" || $6 != "203.0.113.80:443" { next }
  {
    split(substr($1, 1, 19), part, /[-T:]/)
    time = epoch(part[1], part[2], part[3], part[4], part[5], part[6]) + substr($1, 20, 4) - error
    mapping = $4 " " $5
  }
  $2 == "ADD" { from[mapping] = time }
  $2 == "DEL" { emit(mapping, time); delete from[mapping] }
  END { for (mapping in from) emit(mapping, 9999999999) }
  function emit(mapping, until,    end) {
    split(mapping, end, " "); sub(/:.*/, "", end[1])
    printf "%s\t%.3f\t%.3f\t%s\n", end[2], from[mapping], until, end[1]
  }
' /app/data/clocks.csv /app/data/nat.log | sort >/app/work/mappings.tsv

# Leases: address, from, until, workstation.
awk -F'[;,]' "$dates"'
  FNR == NR { if ($1 == "dhcp1") error = $4 + zone_seconds($3); next }
  FNR > 1 { printf "%s\t%d\t%d\t%s\n", $1, stamp($4), stamp($6 == "" ? $5 : $6), $3 }
  function stamp(text,    part) {
    split(text, part, /[.: ]/)
    return epoch(part[3], part[2], part[1], part[4], part[5], part[6]) - error
  }
' /app/data/clocks.csv /app/data/dhcp.csv | sort -k1,1 -k2,2n >/app/work/leases.tsv

# Requests, each once: time, source, method, path, status, bytes, rid, session.
awk "$dates"'
  BEGIN { OFS = "\t" }
  FNR == NR { split($0, clock, ","); if (clock[1] == "edge1") ahead[clock[2]] = clock[4]; next }
  FNR == 1 && !period { period = "before-step" }
  $0 == "# clock stepped" { period = "after-step" }
  /^#/ { next }
  {
    # The agent is the only quoted value that may hold anything: what counts stands before and after it.
    quotes = split($0, quoted, "\"")
    split(quoted[quotes], last, " ")
  }
  /^ts=/ {
    split(quoted[1], word, " ")
    for (i in word) sub(/^[a-z]+=/, "", word[i])
    sub(/^rid=/, "", last[1]); sub(/^sid=/, "", last[2])
    keep(int(word[1]), word[2], word[3], word[4], word[5], word[6])
    next
  }
  {
    split(quoted[2], asked, " "); split(quoted[3], answer, " ")
    split(substr($4, 2), part, /[\/:]/)
    time = epoch(part[3], month_number(part[2]), part[1], part[4], part[5], part[6]) - zone_seconds($5)
    keep(time, $1, asked[1], asked[2], answer[1], answer[2] == "-" ? 0 : answer[2])
  }
  function keep(time, source, method, path, status, bytes) {
    if (!seen[last[1]]++) print time - ahead[period], source, method, path, status, bytes, last[1], last[2]
  }
' /app/data/clocks.csv /app/data/edge-access.log.1 /app/data/edge-access.log >/app/work/requests.tsv

# Logins in the order of the log: time, source, how many, account, session ("-": failed).
awk "$dates"'
  BEGIN { OFS = "\t" }
  FNR == NR { split($0, clock, ","); if (clock[1] == "app2") error = clock[4] + zone_seconds(clock[3]); next }
  {
    split($3, part, ":")
    time = epoch($1 == "Dec" ? 2025 : 2026, month_number($1), $2, part[1], part[2], part[3]) - error
  }
  $5 " " $6 " " $7 == "last message repeated" {
    if (failed != "") print time, failed, $8, account, "-"
    next
  }
  { failed = "" }
  $5 ~ /^portald\[/ && $6 == "login" {
    account = tolower(substr($8, 6)); source = substr($9, 6)
    if ($7 == "ok") print time, source, 1, account, substr($10, 5)
    else { failed = source; print time, failed, 1, account, "-" }
  }
' /app/data/clocks.csv /app/data/auth.log >/app/work/logins.tsv

# The client behind a source address at a time, put in front of each line.
name_client='
  BEGIN { FS = OFS = "\t" }
  FILENAME == "/app/work/mappings.tsv" { n = ++maps[$1]; map_from[$1, n] = $2; map_to[$1, n] = $3; inside[$1, n] = $4; next }
  FILENAME == "/app/work/leases.tsv" { n = ++held[$1]; lease_from[$1, n] = $2; lease_to[$1, n] = $3; holder[$1, n] = $4; next }
  { print client($2, $1), $0 }
  function client(source, time,    n, address) {
    address = source; sub(/:.*/, "", address)
    if (address != "198.51.100.20" && address != "198.51.100.21") return address
    for (n = 1; n <= maps[source]; n++)
      if (map_from[source, n] <= time && time <= map_to[source, n]) return workstation(inside[source, n], time)
    return "unknown"
  }
  function workstation(address, time,    n) {  # the last row granted by then is the one in force
    for (n = held[address]; n >= 1 && lease_from[address, n] > time; n--) continue
    return n && time < lease_to[address, n] ? holder[address, n] : address
  }
'
awk "$name_client" /app/work/mappings.tsv /app/work/leases.tsv /app/work/requests.tsv >/app/work/client-requests.tsv
awk "$name_client" /app/work/mappings.tsv /app/work/leases.tsv /app/work/logins.tsv >/app/work/client-logins.tsv

# Sessions with their verdicts, in the form of the report but unsorted.
awk "$dates"'
  BEGIN { FS = "\t"; OFS = "," }
  FILENAME == "/app/work/client-logins.tsv" && $6 == "-" { tries[$1] = tries[$1] " " $2 ":" $4 }
  FILENAME == "/app/work/client-logins.tsv" && $6 != "-" {
    session[++count] = $6; opened[$6] = $2; opener[$6] = $1; account[$6] = $5
    guessed[$6] = failures($1, $2) >= 6
  }
  FILENAME == "/app/work/client-requests.tsv" {
    requests[$9]++; bytes[$9] += $7
    if ($1 != opener[$9]) foreign[$9] = 1
  }
  END {
    for (i = 1; i <= count; i++) {
      s = session[i]
      verdict = guessed[s] ? "guessed" : foreign[s] ? "stolen" : "clean"
      print s, account[s], utc(opened[s]), opener[s], requests[s] + 0, sprintf("%.0f", bytes[s]), verdict
    }
  }
  function failures(client, time,    n, i, try, part, sum) {
    n = split(tries[client], try, " ")
    for (i = 1; i <= n; i++) { split(try[i], part, ":"); if (part[1] >= time - 600 && part[1] <= time) sum += part[2] }
    return sum + 0
  }
' /app/work/client-logins.tsv /app/work/client-requests.tsv | sort -t, -k3,3 -k1,1 >/app/work/judged.csv

{ echo session,account,opened_utc,client,requests,bytes,verdict; cat /app/work/judged.csv; } >/app/out/sessions.csv

# Hostile requests: all of a guessed session, the other clients' of a stolen one.
{
  echo time_utc,rid,session,account,client,method,path,status,bytes
  awk "$dates"'
    BEGIN { OFS = "," }
    FNR == NR { split($0, row, ","); account[row[1]] = row[2]; opener[row[1]] = row[4]; verdict[row[1]] = row[7]; next }
    { split($0, r, "\t"); s = r[9] }
    verdict[s] == "guessed" || verdict[s] == "stolen" && r[1] != opener[s] {
      print utc(r[2]), r[8], s, account[s], r[1], r[4], r[5], r[6], r[7]
    }
  ' /app/work/judged.csv /app/work/client-requests.tsv | sort -t, -k1,1 -k2,2
} >/app/out/hostile.csv

# The summary.
{
  awk -F, 'NR == 2 { print "first_hostile=" $1 " " $2 }' /app/out/hostile.csv
  echo "clients=$(tail -n +2 /app/out/hostile.csv | cut -d, -f5 | sort -u | paste -sd,)"
  echo "accounts=$(tail -n +2 /app/out/hostile.csv | cut -d, -f4 | sort -u | paste -sd,)"
  awk -F, '
    $6 == "GET" && ($8 == 200 || $8 == 206) && $7 ~ /^\/docs\/[0-9]+\/file(\?.*)?$/ {
      split($7, part, "/"); documents += !taken[part[3]]++; bytes += $9
    }
    END { printf "documents=%d\nexfiltrated_bytes=%.0f\n", documents, bytes }
  ' /app/out/hostile.csv
} >/app/out/report.txt
