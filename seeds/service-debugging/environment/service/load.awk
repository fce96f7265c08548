# The state to start from: accounts.tsv and lockers.tsv as of the snapshot, and what journal.tsv has since.

BEGIN { FS = OFS = "\t" }

FILENAME ~ /accounts\.tsv$/ { if (FNR > 1) { clients[++client_count] = $1; balance[$1] = $3 } next }

FILENAME ~ /lockers\.tsv$/ {
  if ($1 ~ /^# applied /) { applied = substr($1, 11) + 0; next }
  if ($1 == "locker") next
  lockers[++locker_count] = $1
  rental[$1] = $2 OFS $3 OFS $4 OFS $5 OFS $6 OFS $7 OFS $8 OFS $9 OFS $10
  next
}

# journal.tsv
FNR == 1 || $1 < applied { next }
$2 == "pay" { balance[$3] += $4 }
$2 == "free" { rental[$3] = "-" OFS "-" OFS 0 OFS 0 OFS 0 OFS 0 OFS 0 OFS 0 OFS 0 }
$2 == "rent" { rental[$3] = $4 OFS $5 OFS $6 OFS $7 OFS $8 OFS $9 OFS $10 OFS $11 OFS $12 }

END {
  for (i = 1; i <= client_count; i++) print "account", clients[i], balance[clients[i]]
  for (i = 1; i <= locker_count; i++) print "locker", lockers[i], rental[lockers[i]]
}
