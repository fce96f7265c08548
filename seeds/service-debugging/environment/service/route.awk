# Adds the station's id and zone; "?" where there is no such station, "-" where none is asked for.

BEGIN { FS = OFS = "\t" }

FILENAME ~ /stations\.tsv$/ { if (FNR > 1) id_of[$2] = $1; next }
FILENAME ~ /routes\.tsv$/ { if (FNR > 1) { prefix[++routes] = $1; zone_of[routes] = $2 } next }

$5 != "reserve" { print $0, "-", "-"; next }
!($6 in id_of) { print $0, "?", "?"; next }
{ print $0, id_of[$6], zone(id_of[$6]) }

function zone(id,    i, found, best) {
  found = "?"
  for (i = 1; i <= routes; i++)
    if (index(id, prefix[i]) == 1) { found = zone_of[i]; break }
  return found
}
