package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/flow/syntax"
	"github.com/perdure/perdure/internal/near"
)

// unaskedSignal returns an error if a workflow runs a flow file that never asks for a signal:
// its text stays what it is, so nothing would ever receive it.
func unaskedSignal(ctx context.Context, e *perdure.Engine, id, name string) error {
	d, err := e.Workflow(id).Describe(ctx)
	if err != nil {
		return nil // who sends the signal says it better
	}
	program, is := flowOf(d)
	if !is {
		return nil
	}
	file, err := syntax.Parse(program.Name, program.Source)
	if err != nil {
		return nil
	}
	asked := syntax.Signals(file)
	if slices.Contains(asked, name) {
		return nil
	}
	hint := near.Hint(name, slices.Values(asked))
	switch {
	case hint != "":
	case len(asked) == 0:
		hint = "It asks for none: x = wait signal NAME would."
	default:
		hint = "It asks for " + strings.Join(asked, ", ") + "."
	}
	return failure(exitError, hint, "The file %s, which workflow %q runs, never asks for the signal %q; it was not sent.", program.Name, id, name)
}
