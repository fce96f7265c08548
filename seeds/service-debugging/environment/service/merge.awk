# One stream from the logs of all frontends: true time, frontend, line, then the rest of the line.

BEGIN { OFS = "\t" }

FILENAME ~ /frontends\.tsv$/ { ahead[$1] = $2; next }

{
  name = FILENAME
  sub(/^.*requests-/, "", name)
  sub(/\.log$/, "", name)
  print $1 + ahead[name], name, FNR, $2, $3, $4, $5
}
