package syntax

import (
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/retry"
)

// Duration reads a duration in the notation of policies, where a bare number is
// seconds. It may be zero; forever is none.
func Duration(text string) (time.Duration, error) {
	bracket := "[timeout: " + text + "]"
	p, end, err := retry.ParseAt(bracket, 0) // Parse refuses a timeout of zero
	switch {
	case err != nil:
		return 0, err
	case end != len(bracket):
		return 0, fmt.Errorf("%q stands behind a duration", bracket[end:])
	case p.AttemptTimeout == retry.Forever:
		return 0, errors.New("forever is not a duration")
	}
	return p.AttemptTimeout, nil
}
