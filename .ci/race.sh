#!/usr/bin/env bash
# race.sh FLAG...: the short form of the tests under the race detector. By day of the library itself
# with a store in memory, and of the guard of its servers; at night of everything: what the other
# packages depend on takes longer to compile for the detector than all the rest. A package whose
# run was ended by a fault of the detector's own runtime runs again: that is rare, was seen when
# timers of one bubble of testing/synctest fired at the same moment, and says nothing of the package.
set -euo pipefail
said=$(mktemp)
trap 'rm -f "$said"' EXIT
if [[ -n "${PERDURE_NIGHTLY:-}" ]]; then
	mapfile -t packages < <(go list ./...)
else
	mapfile -t packages < <(go list -deps -f '{{with .Module}}{{if .Main}}{{$.ImportPath}}{{end}}{{end}}' . ./store/memory ./internal/web)
fi
# The engine takes longest, so it begins first.
go test -race -short -vet=off -timeout 30m "$@" ./internal/engine "${packages[@]}" 2>&1 | tee "$said" && exit
if grep -qE '^(--- FAIL|panic:|WARNING: DATA RACE)' "$said" || ! grep -qE '^(ThreadSanitizer: CHECK failed|SIGSEGV: segmentation violation)' "$said"; then
	exit 1
fi
mapfile -t broken < <(awk '$1 == "FAIL" && NF >= 3 { print $2 }' "$said")
echo "The race detector itself broke down; again: ${broken[*]}"
go test -race -short -vet=off -timeout 30m "$@" "${broken[@]}"
