package registry

import (
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/perdure/perdure/internal/errname"
	"github.com/perdure/perdure/internal/logs"
	"github.com/perdure/perdure/internal/lossy"
	spelling "github.com/perdure/perdure/internal/near"
	"github.com/perdure/perdure/retry"
)

// Warn writes what the registered types lose in silence, and names of error types in policies
// that look like mistakes.
func (r *Registry) Warn(log *logs.Log, policy *retry.Policy) {
	lost := func(kind, name, of string, t reflect.Type) {
		if t == nil {
			return
		}
		if fields := lossy.Lost(t); len(fields) > 0 {
			log.ValueLoses(kind, name, of, t.String(), strings.Join(fields, ", "))
		}
	}
	policies := map[[2]string]*retry.Policy{{"engine", ""}: policy}
	for _, name := range slices.Sorted(maps.Keys(r.workflows)) {
		w := r.workflows[name]
		lost("workflow", name, "input", w.Input)
		lost("workflow", name, "result", w.Output)
		policies[[2]string{"workflow", name}] = w.Retry
	}
	for _, name := range slices.Sorted(maps.Keys(r.activities)) {
		a := r.activities[name]
		lost("activity", name, "input", a.Input)
		lost("activity", name, "result", a.Output)
		policies[[2]string{"activity", name}] = a.Options.Retry
	}
	known := errname.All()
	for of, p := range policies {
		if p == nil {
			continue
		}
		names := slices.Concat(p.Retryable, p.NonRetryable)
		for _, rule := range p.Rules {
			names = append(names, rule.Types...)
		}
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			if errname.Known(name) {
				continue
			}
			meant := spelling.Names(name, slices.Values(known))
			meant = slices.DeleteFunc(meant, func(other string) bool { return differInNumbers(name, other) })
			if len(meant) > 0 {
				log.NameUnknown(of[0], of[1], name, strings.Join(meant, " or "))
			}
		}
	}
}

// differInNumbers reports whether two names are alike but for digits: HTTP402 is no misspelling of
// HTTP401, nor of their class HTTP4xx.
func differInNumbers(a, b string) bool {
	return numbers.ReplaceAllString(a, "") == numbers.ReplaceAllString(b, "")
}

// numbers are digits, and those of a class, in which an x stands for any.
var numbers = regexp.MustCompile(`[0-9]+x*`)
