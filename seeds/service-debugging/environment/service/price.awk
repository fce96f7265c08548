# Adds rate, cap, discount in per cent, and price of a reservation; "-" for everything else.

BEGIN { FS = OFS = "\t"; configure(config) }

FILENAME ~ /tariffs\.tsv$/ {
  if (FNR > 1) { zone[++rows] = $1; size[rows] = $2; from[rows] = $3; rates[rows] = $4; caps[rows] = $5 }
  next
}
FILENAME ~ /classes\.tsv$/ { off[$1] = $2 + 0; next }
FILENAME ~ /holidays\.tsv$/ { holiday[$1] = $2 + 0; next }
FILENAME ~ /accounts\.tsv$/ { class[$1] = $2; next }

$11 == "-" || $11 == "?" { print $0, "-", "-", "-", "-"; next }
{
  day = local_day($2)
  row = tariff($12, $7, day)
  if (off[class[$3]] + 0 > percent + 0) percent = off[class[$3]]
  if (holiday[day] + 0 > percent + 0) percent = holiday[day]
  print $0, rates[row], caps[row], percent + 0, cost($8, rates[row], caps[row], percent)
}

# The row of the tariff in force on a day.
function tariff(z, s, day,    i, best) {
  for (i = 1; i <= rows; i++)
    if (zone[i] == z && size[i] == s && from[i] + 0 <= day + 0 && (!best || from[i] + 0 > from[best] + 0)) best = i
  return best
}
