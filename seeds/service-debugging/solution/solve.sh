#!/usr/bin/env bash
# Repairs copies of the workers, carries the recorded requests out with them, then compares with the recorded run.
set -euo pipefail
export LC_ALL=C

mkdir -p /tmp/desk /app/out

# replaced FILE SED...: the file with the replacements made; each has to change it.
replaced() {
  local file=$1 text before
  shift
  text=$(cat "$file")
  for change in "$@"; do
    before=$text
    text=$(sed "$change" <<<"$text")
    [[ $text != "$before" ]] || { echo "nothing to repair in $file: $change" >&2 && return 1; }
  done
  printf '%s\n' "$text"
}

# Local time is ahead of UTC, and rentals may last three days.
sed 's/^local_offset = .*/local_offset = +02:00/; s/^max_rental = .*/max_rental = 3d/' \
  /app/service/service.conf >/tmp/desk/service.conf

# Full hours were charged one too many, and fractions of a cent were cut off.
replaced /app/service/lib.awk \
  's|hours = int(minutes / 60) + 1|hours = int((minutes + 59) / 60)|' \
  's|(100 - percent) / 100)|(100 - percent) / 100 + 0.5)|' >/tmp/desk/lib.awk

# The snapshot's last row, rows written twice and the torn one were applied.
replaced /app/service/load.awk \
  's/^FNR == 1 || $1 < applied { next }/FNR == 1 || $NF != "end" || $1 + 0 <= applied { next }\n{ applied = $1 + 0 }/' \
  >/tmp/desk/load.awk

# A clock that is ahead shows too much.
replaced /app/service/merge.awk 's/$1 + ahead/$1 - ahead/' >/tmp/desk/merge.awk

# Keys belong to a client, and the window to the first request; amounts are no binary fractions; a number is
# digits alone; hexadecimal digits may be small; what was %2B is no blank.
replaced /app/service/intake.awk \
  's/id = key$/id = client SUBSEP key/' \
  's/{ seen\[id\] = time; return first\[id\] }/return first[id]/' \
  's/int(field\["amount"\] \* 100)/digits(field["amount"])/' \
  '$a\\nfunction digits(amount) { sub(/\\./, "", amount); return amount + 0 }' \
  's/return text + 0 >= 1/return text ~ \/^[0-9]+$\/ \&\& text + 0 >= 1/' \
  's/\[0-9A-F\]\[0-9A-F\]/[0-9A-Fa-f][0-9A-Fa-f]/' \
  's/^  text = out text$/  return out text/' \
  '/^  gsub(/,/^  return text$/d' \
  's/^function decode.*/&\n  gsub(\/\\+\/, " ", text)/' >/tmp/desk/intake.awk

# The longest prefix counts, not the first.
replaced /app/service/route.awk \
  's/== 1) { found = zone_of\[i\]; break }/== 1 \&\& length(prefix[i]) > best) { found = zone_of[i]; best = length(prefix[i]) }/' \
  >/tmp/desk/route.awk

# Days are no numbers, and the discount of one request is not that of the next.
replaced /app/service/price.awk \
  's/from\[i\] + 0 <= day + 0/from[i] "" <= day ""/' \
  's/from\[i\] + 0 > from\[best\] + 0/from[i] "" > from[best] ""/' \
  's/^  row = tariff(.*/&\n  percent = 0/' >/tmp/desk/price.awk

# A locker is free from the last second on; numbers are no text; who is declined rents nothing; an extension is
# added at the end and has been paid; started minutes count.
replaced /app/service/desk.awk \
  's/until\[renter\[locker\]\] >= time/until[renter[locker]] > time/' \
  's/number = substr(locker, length(start) + 1)/& + 0/' \
  '/^  occupy(locker, rid, client/d' \
  's/^  balance\[client\] -= price/  occupy(locker, rid, client, time, time + minutes * 60, minutes, rate, cap, percent, price)\n&/' \
  's/^  until\[ref\] = time + minutes \* 60/  until[ref] += minutes * 60\n  paid[ref] += charge/' \
  's/^  used = int((time - began\[ref\]) \/ 60)/  used = int((time - began[ref] + 59) \/ 60)\n  if (used < 1) used = 1/' \
  >/tmp/desk/desk.awk

# The requests once more.
awk -f /tmp/desk/load.awk /app/data/accounts.tsv /app/data/lockers.tsv /app/data/journal.tsv >/tmp/desk/state.tsv
awk -f /tmp/desk/merge.awk /app/data/frontends.tsv \
  /app/data/requests-east.log /app/data/requests-north.log /app/data/requests-west.log |
  sort -t$'\t' -k1,1n -k2,2 -k3,3n |
  awk -v config=/tmp/desk/service.conf -f /tmp/desk/lib.awk -f /tmp/desk/intake.awk >/tmp/desk/intake.tsv
awk -f /tmp/desk/route.awk /app/data/stations.tsv /app/data/routes.tsv /tmp/desk/intake.tsv >/tmp/desk/route.tsv
awk -v config=/tmp/desk/service.conf -f /tmp/desk/lib.awk -f /tmp/desk/price.awk /app/data/tariffs.tsv \
  /app/data/classes.tsv /app/data/holidays.tsv /app/data/accounts.tsv /tmp/desk/route.tsv >/tmp/desk/price.tsv
awk -v config=/tmp/desk/service.conf -f /tmp/desk/lib.awk -f /tmp/desk/desk.awk \
  /tmp/desk/state.tsv /tmp/desk/price.tsv >/tmp/desk/desk.tsv

cut -f1,3-10 /tmp/desk/intake.tsv >/tmp/desk/right-intake.tsv
cut -f1,11-12 /tmp/desk/route.tsv >/tmp/desk/right-route.tsv
cut -f1,13-16 /tmp/desk/price.tsv >/tmp/desk/right-price.tsv
grep '^response' /tmp/desk/desk.tsv | cut -f2- >/tmp/desk/right-desk.tsv

{
  printf 'rid\tstatus\tlocker\tamount\tbalance\n'
  cat /tmp/desk/right-desk.tsv
} >/app/out/responses.tsv

{
  printf 'locker\tref\tuntil\n'
  grep '^locker' /tmp/desk/desk.tsv | cut -f2-
} >/app/out/lockers.tsv

{
  printf 'client\tbalance\tdue\n'
  awk -F'\t' -v OFS='\t' '
    FILENAME == "/app/data/accounts-recorded.tsv" { recorded[$1] = $2; next }
    $1 == "account" { print $2, $3, $3 - recorded[$2] }
  ' /app/data/accounts-recorded.tsv /tmp/desk/desk.tsv
} >/app/out/accounts.tsv

# For each request the first stage that differs; then those with a wrong response.
differing() {
  awk -F'\t' -v OFS='\t' -v stage="$1" 'NR == FNR { span[$1] = $0; next } span[$1] != $0 { print $1, stage }' "$2" "$3"
}
{
  differing intake /app/data/spans-intake.tsv /tmp/desk/right-intake.tsv
  differing route /app/data/spans-route.tsv /tmp/desk/right-route.tsv
  differing price /app/data/spans-price.tsv /tmp/desk/right-price.tsv
  differing desk /app/data/spans-desk.tsv /tmp/desk/right-desk.tsv
} >/tmp/desk/differing.tsv

{
  printf 'rid\tstage\trecorded\tright\n'
  awk -F'\t' -v OFS='\t' '
    FILENAME == "/tmp/desk/differing.tsv" { if (!($1 in stage)) stage[$1] = $2; if ($2 == "desk") wrong[$1] = 1; next }
    { response = $2 " " $3 " " $4 " " $5 }
    FILENAME == "/app/data/spans-desk.tsv" { recorded[$1] = response; next }
    $1 in wrong { print $1, stage[$1], recorded[$1], response }
  ' /tmp/desk/differing.tsv /app/data/spans-desk.tsv /tmp/desk/right-desk.tsv
} >/app/out/wrong.tsv

{
  printf 'stage\twrong\tfirst\n'
  awk -F'\t' -v OFS='\t' '
    NR > 1 { if (!count[$2]++) first[$2] = $1 }
    END {
      n = split("intake route price desk", stage, " ")
      for (i = 1; i <= n; i++) print stage[i], count[stage[i]] + 0, (stage[i] in first ? first[stage[i]] : "-")
    }
  ' /app/out/wrong.tsv
} >/app/out/stages.tsv
