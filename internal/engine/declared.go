package engine

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/perdure/perdure/internal/errname"
	"github.com/perdure/perdure/internal/logs"
	"github.com/perdure/perdure/internal/lossy"
	spelling "github.com/perdure/perdure/internal/near"
	"github.com/perdure/perdure/retry"
)

// readable returns an error if the values of a definition cannot come back from JSON.
func readable(kind, name string, in, out reflect.Type) error {
	for of, t := range map[string]reflect.Type{"input": in, "result": out} {
		if t == nil {
			continue // an interpreter gives and takes JSON
		}
		if field, fault := lossy.Unreadable(t); field != "" {
			return fmt.Errorf("%s %q: its %s is a %s, of which the field %s is of type %s, which cannot be read from JSON; leave it out with the tag `json:\"-\"`, or give the type its own MarshalJSON and UnmarshalJSON", kind, name, of, t, field, fault)
		}
	}
	return nil
}

// warn writes what the registered types lose in silence, and names of error types in policies
// that look like mistakes.
func (d *definitions) warn(log *logs.Log, policy *retry.Policy) {
	lost := func(kind, name, of string, t reflect.Type) {
		if t == nil {
			return
		}
		if fields := lossy.Lost(t); len(fields) > 0 {
			log.ValueLoses(kind, name, of, t.String(), strings.Join(fields, ", "))
		}
	}
	policies := map[[2]string]*retry.Policy{{"engine", ""}: policy}
	for _, name := range slices.Sorted(maps.Keys(d.workflows)) {
		w := d.workflows[name]
		lost("workflow", name, "input", w.Input)
		lost("workflow", name, "result", w.Output)
		policies[[2]string{"workflow", name}] = w.Retry
	}
	for _, name := range slices.Sorted(maps.Keys(d.activities)) {
		a := d.activities[name]
		lost("activity", name, "input", a.Input)
		lost("activity", name, "result", a.Output)
		policies[[2]string{"activity", name}] = a.Options.Retry
	}
	known := errname.All()
	for of, p := range policies {
		if p == nil {
			continue
		}
		for _, name := range namesIn(p) {
			if errname.Known(name) {
				continue
			}
			meant := spelling.Names(name, slices.Values(known))
			// HTTP402 is no misspelling of HTTP401.
			meant = slices.DeleteFunc(meant, func(other string) bool { return letters(other) == letters(name) })
			if len(meant) > 0 {
				log.NameUnknown(of[0], of[1], name, strings.Join(meant, " or "))
			}
		}
	}
}

// letters is a name without its digits.
func letters(name string) string {
	return strings.Map(func(r rune) rune {
		if '0' <= r && r <= '9' {
			return -1
		}
		return r
	}, name)
}

// namesIn returns the error types that a policy names.
func namesIn(p *retry.Policy) []string {
	names := slices.Concat(p.Retryable, p.NonRetryable)
	for _, r := range p.Rules {
		names = append(names, r.Types...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
