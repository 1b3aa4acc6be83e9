package rehearsal

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/flow/eval"
	"github.com/perdure/perdure/internal/flow/syntax"
	"github.com/perdure/perdure/retry"
)

// Outcome is the outcome of a case.
type Outcome struct {
	Result eval.Value
	Err    error
	Took   time.Duration
	Calls  map[string]int
}

// Run runs a program with a case. It calls tell for each event, with the time since the
// start; tell may be nil.
func Run(file *syntax.File, c *Case, tell func(at time.Duration, what string)) (*Outcome, error) {
	input := eval.NewDict()
	if c.Input != nil {
		v, err := eval.Decode(c.Input)
		if err != nil {
			return nil, fmt.Errorf("the input of case %q: %w", c.Name, err)
		}
		d, is := v.(*eval.Dict)
		if !is {
			return nil, fmt.Errorf("the input of case %q is no object", c.Name)
		}
		input = d
	}
	w := newWorld(c, tell)
	return w.run(func(fx eval.Effects) (eval.Value, error) { return eval.Run(file, input, fx) })
}

// Faults returns the unmet expectations of a case, as sentences.
func (c *Case) Faults(o *Outcome) (faults []string) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	e := c.Expect
	kind := ""
	if o.Err != nil {
		kind = retry.Classify(last(o.Err)).Type()
	}
	switch {
	case o.Err != nil && e.Error == "":
		fault("it fails with %s: %s", kind, last(o.Err))
	case o.Err == nil && e.Error != "":
		fault("it does not fail, and %s is expected", e.Error)
	case o.Err != nil && !slices.Contains(retry.Classify(o.Err).Types, e.Error):
		fault("it fails with %s, and %s is expected: %s", kind, e.Error, last(o.Err))
	}
	if e.Result != nil && o.Err == nil {
		want, err := eval.Decode(e.Result)
		got, _ := eval.Encode(o.Result)
		if masked, decoded := eval.Decode(got); err != nil || decoded != nil || !eval.Equal(want, masked) {
			fault("the result is %s, and %s is expected", got, e.Result)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(e.Calls)) {
		if o.Calls[name] != e.Calls[name] {
			fault("@%s is called %d times, and %d are expected", name, o.Calls[name], e.Calls[name])
		}
	}
	if e.Took != "" {
		if want, err := syntax.Duration(e.Took); err != nil || o.Took != want {
			fault("it takes %s, and %s are expected", o.Took, e.Took)
		}
	}
	return faults
}

// last is the last failure of what was given up.
func last(err error) error {
	for {
		gaveUp, ok := errors.AsType[*retry.ExhaustedError](err)
		if !ok || gaveUp.Err == nil {
			return err
		}
		err = gaveUp.Err
	}
}

// failure is an error of a type, and of the wider one that it belongs to.
func failure(kind string) error {
	if kind == retry.TypeTimeout {
		return &retry.TimeoutError{Kind: retry.TimeoutAttempt}
	}
	failed := &eval.Carried{Type: cmp.Or(kind, "Failed"), Text: "the mock fails with " + kind}
	if wider := eval.Wider(kind); wider != "" {
		failed.Err = &eval.Carried{Type: wider, Text: failed.Text}
	}
	return failed
}
