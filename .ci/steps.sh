#!/usr/bin/env bash
# steps.sh MAKE STEP...: make the steps one after the other, and say at the end how long each took,
# so that their growth is seen.
set -uo pipefail
make=$1
shift
took=""
report() {
	printf '\nHow long each step took:\n%b' "$took"
	printf '%-10s %6d s\n' together "$SECONDS"
}
for step in "$@"; do
	begun=$SECONDS
	"$make" "$step"
	code=$?
	took+=$(printf '%-10s %6d s' "$step" $((SECONDS - begun)))
	[ "$code" -eq 0 ] || took+=" (failed)"
	took+='\n'
	[ "$code" -eq 0 ] || { report; exit "$code"; }
done
report
