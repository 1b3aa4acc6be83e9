package gates

import (
	"errors"
	"fmt"

	"github.com/perdure/perdure/gate/spec"
)

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
