# What several workers share: configuration, dates, prices.

function configure(file,    line, at) {
  while ((getline line < file) > 0) {
    if (line ~ /^ *#/ || line ~ /^ *$/) continue
    at = index(line, "=")
    conf[trim(substr(line, 1, at - 1))] = trim(substr(line, at + 1))
  }
  close(file)
}

function trim(text) { gsub(/^ +| +$/, "", text); return text }

# Seconds of a duration with its unit: 90s, 15m, 24h, 3d.
function seconds(text) {
  if (text ~ /d$/) return text * 86400
  if (text ~ /h$/) return text * 3600
  return text ~ /m$/ ? text * 60 : text + 0
}

# Seconds of an offset such as +05:30.
function offset_seconds(text) {
  return (substr(text, 1, 1) "1") * (substr(text, 2, 2) * 3600 + substr(text, 5, 2) * 60)
}

# The local day of a moment.
function local_day(time,    days, era, doe, yoe, doy, m, month) {
  days = int((time + offset_seconds(conf["local_offset"])) / 86400) + 719468
  era = int(days / 146097); doe = days - era * 146097
  yoe = int((doe - int(doe / 1460) + int(doe / 36524) - int(doe / 146096)) / 365)
  doy = doe - (365 * yoe + int(yoe / 4) - int(yoe / 100)); m = int((5 * doy + 2) / 153)
  month = m < 10 ? m + 3 : m - 9
  return sprintf("%04d-%02d-%02d", yoe + era * 400 + (month <= 2), month, doy - int((153 * m + 2) / 5) + 1)
}

# What a rental of so many minutes costs, in cents.
function cost(minutes, rate, cap, percent,    hours, days, rest) {
  hours = int(minutes / 60) + 1
  days = int(hours / 24)
  rest = (hours - 24 * days) * rate
  if (rest > cap) rest = cap
  return int((days * cap + rest) * (100 - percent) / 100)
}
