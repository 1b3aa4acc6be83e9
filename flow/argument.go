package flow

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/perdure/perdure/internal/flow/check"
	"github.com/perdure/perdure/internal/flow/eval"
	"github.com/perdure/perdure/retry"
)

// withArguments is the body of an action whose arguments may be of the wrong kind: that is
// an error of the file, in the words of files.
func withArguments(run body, takes []check.Parameter) body {
	return func(ctx context.Context, decode func(into any) error) (any, error) {
		var wrong error
		out, err := run(ctx, func(into any) error {
			err := decode(into)
			wrong = wrongArgument(err, takes)
			return err
		})
		if wrong != nil {
			return nil, retry.Terminal(wrong)
		}
		return out, err
	}
}

// wrongArgument is the error of arguments that cannot be decoded; nil if they can, or if
// the error has a type already.
func wrongArgument(err error, takes []check.Parameter) error {
	if _, typed := errors.AsType[*ActionError](err); err == nil || typed {
		return nil
	}
	wrong, is := errors.AsType[*json.UnmarshalTypeError](err)
	if !is {
		return &ActionError{eval.TypeType, fmt.Errorf("the arguments cannot be read: %w", err)}
	}
	name := "the input"
	if wrong.Field != "" {
		path := strings.Split(wrong.Field, ".")
		name = "the argument " + path[0]
		at := slices.IndexFunc(takes, func(p check.Parameter) bool { return p.Name == path[0] })
		switch {
		case len(path) > 1:
			name = strings.Join(path[1:], ".") + " of " + name
		case at >= 0 && takes[at].Kind != kind(wrong.Type, ""):
			name = "a part of " + name // which one is not told
		}
	}
	given := wrong.Value
	if words := strings.Fields(given); len(words) == 2 { // a number that does not fit
		return &ActionError{eval.TypeType, fmt.Errorf("%s is %s, and %s is none that it takes", name, wanted(wrong.Type), words[1])}
	}
	return &ActionError{eval.TypeType, fmt.Errorf("%s is %s, and got %s", name, wanted(wrong.Type), cmp.Or(givenKinds[given], check.Kind(given)))}
}

// givenKinds are the values of JSON in the words of files.
var givenKinds = map[string]check.Kind{
	"string": check.KindText, "number": check.KindNumber, "bool": check.KindTruth, "array": check.KindList, "object": check.KindDict,
}

func wanted(t reflect.Type) check.Kind {
	if k := kind(t, ""); k != "" {
		return k
	}
	return check.Kind("a " + t.String())
}
