# Makes one table of Go benchmarks that report pairs of metrics: "x" for ours and "bare-x" for the bare thing beside it.
# A pair of p50-ms and p99-ms, with any prefix, becomes one row.

function figure(v) {
  if (v == "") return "-"
  if (v >= 1000) return sprintf("%.0f", v)
  if (v >= 10) return sprintf("%.1f", v)
  return sprintf("%.2f", v)
}
function ratio(ours, bare) { return ours == "" || bare == "" || bare == 0 ? "-" : sprintf(ours < bare / 100 ? "%.1g" : "%.2f", ours / bare) }
function row(what, ours, bare, r) { printf "%-58s | %15s | %15s | %s\n", what, ours, bare, r }
function pair(a, b) { return a == "-" ? "-" : a " / " b }
function words(s) { gsub(/[-_]/, " ", s); return s }

# Progress goes to the terminal, so that nobody waits before an empty screen.
/^Benchmark/ && NF < 4 { next }
!/^Benchmark/ {
  if (/FAIL|panic|_test\.go/) { failed = 1; print > "/dev/stderr" }
  next
}
{
  name = $1
  sub(/^Benchmark/, "", name)
  sub(/-[0-9]+$/, "", name)
  print "measured " name > "/dev/stderr"
  split("", value)
  for (i = 3; i < NF; i += 2) { value[$(i + 1)] = $i; unit[i] = $(i + 1) }
  for (i = 3; i < NF; i += 2) {
    u = unit[i]
    if (u ~ /^bare-/ || u ~ /p99-ms$/ || u ~ /^(ns|B|allocs)\/op$/) continue
    v = value[u]; w = value["bare-" u]
    if (u ~ /p50-ms$/) {
      u9 = u; sub(/p50-ms$/, "p99-ms", u9)
      v9 = value[u9]; w9 = value["bare-" u9]
      what = u; sub(/-?p50-ms$/, "", what)
      rows[++n] = name (what == "" ? "" : " " words(what)) ", ms p50 / p99" SUBSEP pair(figure(v), figure(v9)) \
        SUBSEP pair(figure(w), figure(w9)) SUBSEP pair(ratio(v, w), ratio(v9, w9))
    } else {
      rows[++n] = name ", " words(u) SUBSEP figure(v) SUBSEP figure(w) SUBSEP ratio(v, w)
    }
  }
}
END {
  print ""
  row("what", "ours", "bare", "ratio")
  row("----", "----", "----", "-----")
  for (i = 1; i <= n; i++) { split(rows[i], c, SUBSEP); row(c[1], c[2], c[3], c[4]) }
  exit failed
}
