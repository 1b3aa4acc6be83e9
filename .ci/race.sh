#!/usr/bin/env bash
# race.sh FLAG...: the short form of the tests under the race detector, of the packages whose code
# has goroutines, locks or channels; of the others the detector has nothing to say. Examples, which
# are processes, and the command, which does one thing after the other, are left out. A package whose run was
# ended by a fault of the detector's own runtime runs again: that is rare, was seen when timers
# of one bubble of testing/synctest fired at the same moment, and says nothing of the package.
set -euo pipefail
said=$(mktemp)
trap 'rm -f "$said"' EXIT
shares='^[[:space:]]*go (func|[a-z]+[.(])|sync\.(Mutex|RWMutex|Once|WaitGroup|Map|Cond|Pool)|atomic\.|make\(chan'
mapfile -t packages < <(git ls-files -co --exclude-standard '*.go' | grep -vE '^(cmd|examples|bench|lab|tools)/|_test\.go$' |
	xargs grep -lE "$shares" | xargs -n1 dirname | sort -u | sed 's|^|./|')
go test -race -short -vet=off -timeout 30m "$@" "${packages[@]}" 2>&1 | tee "$said" && exit
if grep -qE '^(--- FAIL|panic:|WARNING: DATA RACE)' "$said" || ! grep -qE '^(ThreadSanitizer: CHECK failed|SIGSEGV: segmentation violation)' "$said"; then
	exit 1
fi
mapfile -t broken < <(awk '$1 == "FAIL" && NF >= 3 { print $2 }' "$said")
echo "The race detector itself broke down; again: ${broken[*]}"
go test -race -short -vet=off -timeout 30m "$@" "${broken[@]}"
