# Carries requests out, one after the other.
# Lines: "response" rid status locker amount balance; at the end "account" and "locker" with what is left.

BEGIN {
  FS = OFS = "\t"
  configure(config)
  longest = seconds(conf["max_rental"]) / 60
}

FILENAME ~ /state\.tsv$/ && $1 == "account" { clients[++client_count] = $2; balance[$2] = $3; next }
FILENAME ~ /state\.tsv$/ {
  lockers[++locker_count] = $2
  if ($3 != "-") occupy($2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
  next
}

{
  rid = $1; time = $2; client = $3; op = $5
  if ($4 != "-") print "response", rid, answer[$4]
  else if (!(client in balance)) respond("no-account", "-", 0)
  else if (op == "invalid") respond("invalid", "-", 0)
  else if (op == "topup") { balance[client] += $10; respond("credited", "-", $10) }
  else if (op == "reserve") reserve($11, $7, $8, $13, $14, $15, $16)
  else if (op == "extend") extend($9, $8)
  else release($9)
}

END {
  for (i = 1; i <= client_count; i++) print "account", clients[i], balance[clients[i]]
  for (i = 1; i <= locker_count; i++) {
    ref = renter[lockers[i]]
    if (ref != "" && until[ref] > time) print "locker", lockers[i], ref, until[ref]
    else print "locker", lockers[i], "-", "-"
  }
}

function respond(status, locker, amount) {
  answer[rid] = status OFS locker OFS amount OFS (client in balance ? balance[client] : "-")
  print "response", rid, answer[rid]
}

function occupy(locker, ref, who, start, end, minutes, rate, cap, percent, price) {
  renter[locker] = ref; place[ref] = locker; owner[ref] = who; began[ref] = start; until[ref] = end
  length_of[ref] = minutes; rate_of[ref] = rate; cap_of[ref] = cap; percent_of[ref] = percent; paid[ref] = price
}

function reserve(station, size, minutes, rate, cap, percent, price,    locker) {
  if (station == "?") { respond("unknown-station", "-", 0); return }
  locker = free_locker(station "/" size "-")
  if (locker == "") { respond("full", "-", 0); return }
  occupy(locker, rid, client, time, time + minutes * 60, minutes, rate, cap, percent, price)
  if (price > balance[client]) { respond("declined", "-", 0); return }
  balance[client] -= price
  respond("reserved", locker, 0 - price)
}

# The free locker with the lowest number.
function free_locker(start,    i, locker, number, best, lowest) {
  for (i = 1; i <= locker_count; i++) {
    locker = lockers[i]
    if (index(locker, start) != 1 || locker in renter && until[renter[locker]] >= time) continue
    number = substr(locker, length(start) + 1)
    if (best == "" || number < lowest) { best = locker; lowest = number }
  }
  return best
}

# Whether the client may still change the rental; answers itself if not.
function running(ref) {
  if (!(ref in place)) respond("unknown", "-", 0)
  else if (owner[ref] != client) respond("foreign", "-", 0)
  else if (until[ref] <= time) respond("ended", place[ref], 0)
  else return 1
  return 0
}

function extend(ref, minutes,    total, charge) {
  if (!running(ref)) return
  total = length_of[ref] + minutes
  if (total > longest) { respond("too-long", place[ref], 0); return }
  charge = cost(total, rate_of[ref], cap_of[ref], percent_of[ref]) - paid[ref]
  if (charge > balance[client]) { respond("declined", place[ref], 0); return }
  balance[client] -= charge
  length_of[ref] = total
  until[ref] = time + minutes * 60
  respond("extended", place[ref], 0 - charge)
}

function release(ref,    used, left) {
  if (!running(ref)) return
  used = int((time - began[ref]) / 60)
  left = paid[ref] - cost(used, rate_of[ref], cap_of[ref], percent_of[ref])
  left = left > 0 ? int(left / 2) : 0
  until[ref] = time
  balance[client] += left
  respond("released", place[ref], left)
}
