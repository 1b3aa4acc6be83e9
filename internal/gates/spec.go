package gates

import (
	"errors"
	"fmt"

	"github.com/perdure/perdure/gate/spec"
)

// Runs is the name of the gate that runs pass before they begin, of which only the limit of each
// key counts; see core.Config.PerKey. No other gate has it.
const Runs = "perdure.runs"

// check returns what is wrong with a spec. The machine does not use the name, and has no
// default for the mode, because the shells have different ones.
func check(s spec.Spec) error {
	s.Name = "unused"
	err := errors.Unwrap(s.Validate())
	if s.Mode == "" {
		err = errors.Join(fmt.Errorf("Mode is %q; allowed is hold, release or rejoin", s.Mode), err)
	}
	return err
}
