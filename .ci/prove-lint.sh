#!/usr/bin/env bash
# Proves that the lint rules fire. The fixtures break every law on purpose and
# say in a comment where; the linter must report all of these places and no
# other. Without such a proof a mistyped path in a rule looks like a clean tree.
#
# In the fixtures
#     // want: <linter> "<part of the message>"
# expects a finding on its own line, several are separated by "; ", and
#     // want-below: <linter> "<part of the message>"
# expects it on the next line, where a trailing comment would change the case.
#
# GOLANGCI_LINT names the linter, LINT_CONFIG another configuration to judge.
set -euo pipefail

ci=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
lint=${GOLANGCI_LINT:-golangci-lint}
config=${LINT_CONFIG:-$ci/../.golangci.yml}
config=$(cd "$(dirname "$config")" && pwd)/$(basename "$config")
# A relative path to the linter is meant from where the caller stands.
if [[ $lint == */* ]]; then
	lint=$(cd "$(dirname "$lint")" && pwd)/$(basename "$lint")
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$ci/lint-fixtures"

# The fixtures stand alone: no workspace around them, nothing to download. Without cgo they share what the programs compile.
export CGO_ENABLED=0 GOWORK=off GOPROXY=off GOFLAGS="$(go env GOFLAGS) -trimpath"

fail() {
	printf 'prove-lint: %s\n' "$1" >&2
	shift
	for file in "$@"; do cat "$file" >&2; done
	exit 1
}

# An unknown setting is dropped without a word when linting.
"$lint" config verify --config "$config" >"$work/verify" 2>&1 ||
	fail "the configuration is not valid" "$work/verify"

status=0
"$lint" run --config "$config" --issues-exit-code=1 \
	--output.text.path="$work/out" --output.text.colors=false \
	--output.text.print-issued-lines=false --output.text.print-linter-name=true \
	--show-stats=false ./... >"$work/err" 2>&1 || status=$?
# 1 says "findings", which is what the fixtures are for; all else is a breakdown.
[[ $status == 1 ]] || fail "the linter ended with status $status instead of findings" "$work/err" "$work/out"
# A warning means a setting that was bent or a linter that was left out.
[[ ! -s $work/err ]] || fail "the linter complained" "$work/err"

# Each wish becomes one line: file:line, linter, part of the message.
grep -rn --include='*.go' -E 'want(-below)?: ' . | awk '
	{
		sub(/^\.\//, "")
		split($0, at, ":")
		line = at[2]
		if ($0 ~ /want-below: /) line++
		wishes = $0
		sub(/.*want(-below)?: /, "", wishes)
		while (match(wishes, /^[a-z]+ "[^"]+"/)) {
			wish = substr(wishes, 1, RLENGTH)
			wishes = substr(wishes, RLENGTH + 1)
			linter = wish
			sub(/ .*/, "", linter)
			part = substr(wish, length(linter) + 3)
			sub(/"$/, "", part)
			printf "%s:%d\t%s\t%s\n", at[1], line, linter, part
			if (!sub(/^; /, "", wishes)) break
		}
		# What is left over must not be half a wish.
		if (wish == "" || wishes ~ /"/) {
			printf "unreadable wish: %s\n", $0 > "/dev/stderr"
			exit 2
		}
		wish = ""
	}
' >"$work/wanted" || fail "the fixtures cannot be read"

# Each finding likewise: file:line, linter, message.
awk '
	!/^[^:]+:[0-9]+(:[0-9]+)?: .* \([a-z0-9_-]+\)$/ {
		printf "unreadable finding: %s\n", $0 > "/dev/stderr"
		exit 2
	}
	{
		split($0, at, ":")
		linter = $NF
		gsub(/[()]/, "", linter)
		message = $0
		sub(/^[^ ]* /, "", message)
		sub(/ \([a-z0-9_-]+\)$/, "", message)
		printf "%s:%s\t%s\t%s\n", at[1], at[2], linter, message
	}
' "$work/out" >"$work/found" || fail "the findings cannot be read"

# Every finding answers at most one wish, so that a second finding on a line
# is as unexpected as one on a quiet line.
awk -F '\t' '
	NR == FNR { place[++n] = $1; by[n] = $2; text[n] = $3; next }
	{
		wanted++
		for (i = 1; i <= n; i++) {
			if (!taken[i] && place[i] == $1 && by[i] == $2 && index(text[i], $3)) {
				taken[i] = 1
				next
			}
		}
		printf "not reported: %s: %s \"%s\"\n", $1, $2, $3
	}
	END {
		for (i = 1; i <= n; i++) if (!taken[i]) printf "not wanted: %s: %s (%s)\n", place[i], text[i], by[i]
	}
' "$work/found" "$work/wanted" >"$work/differences"

# A linter that is switched on and never shown to fire proves nothing.
{
	"$lint" linters --config "$config" --json
	"$lint" formatters --config "$config" --json
} 2>"$work/err" >"$work/enabled" || fail "the linters cannot be listed" "$work/err"
sed 's/"Disabled":.*//' "$work/enabled" | grep -o '"name":"[^"]*"' | cut -d '"' -f 4 | sort -u >"$work/names"
[[ -s $work/names ]] || fail "no linter is switched on"
while read -r name; do
	cut -f 2 "$work/wanted" | grep -qx "$name" || printf 'no fixture: %s is switched on and nothing breaks it\n' "$name"
done <"$work/names" >>"$work/differences"

[[ ! -s $work/differences ]] || fail "the rules and the fixtures disagree" "$work/differences"
printf 'prove-lint: %d findings, all of them wanted, by %d linters\n' \
	"$(wc -l <"$work/wanted")" "$(wc -l <"$work/names")"
