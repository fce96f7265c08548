# Decodes and checks requests, and finds repeated ones.
# Columns: rid, time, client, repeats, op, station, size, minutes, ref, cents; what an operation has not is "-".

BEGIN {
  FS = OFS = "\t"
  configure(config)
  window = seconds(conf["key_window"])
  longest = seconds(conf["max_rental"]) / 60
}

{
  time = $1; rid = $4; client = $5; key = $6
  split("", field)
  n = split($7, pair, "&")
  for (i = 1; i <= n; i++) {
    at = index(pair[i], "=")
    field[substr(pair[i], 1, at - 1)] = decode(substr(pair[i], at + 1))
  }
  check()
  print rid, time, client, repeated(key, time), op, station, size, minutes, ref, cents
}

function check() {
  op = field["op"]
  station = size = minutes = ref = cents = "-"
  if (op == "reserve" && field["station"] != "" && field["size"] ~ /^[SML]$/ && rentable(field["minutes"])) {
    station = field["station"]; size = field["size"]; minutes = field["minutes"] + 0
  }
  else if (op == "extend" && field["ref"] != "" && rentable(field["minutes"])) {
    ref = field["ref"]; minutes = field["minutes"] + 0
  }
  else if (op == "release" && field["ref"] != "") ref = field["ref"]
  else if (op == "topup" && field["amount"] ~ /^[0-9]+\.[0-9][0-9]$/) cents = int(field["amount"] * 100)
  else op = "invalid"
}

function rentable(text) { return text + 0 >= 1 && text + 0 <= longest }

# The request that this one repeats, or "-".
function repeated(key, time,    id) {
  id = key
  if (key == "-") return "-"
  if (id in seen && time - seen[id] < window) { seen[id] = time; return first[id] }
  seen[id] = time
  first[id] = rid
  return "-"
}

function decode(text,    out, at, code) {
  while (at = index(text, "%")) {
    code = substr(text, at + 1, 2)
    out = out substr(text, 1, at - 1)
    if (code ~ /^[0-9A-F][0-9A-F]$/) { out = out sprintf("%c", 16 * hex(substr(code, 1, 1)) + hex(substr(code, 2))); at += 2 }
    else out = out "%"
    text = substr(text, at + 1)
  }
  text = out text
  gsub(/\+/, " ", text)
  return text
}

function hex(digit) { return index("0123456789ABCDEF", toupper(digit)) - 1 }
