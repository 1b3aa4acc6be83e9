// Package fixes has what can be replaced as it stands.
package fixes

import (
	"time"

	"github.com/perdure/perdure/workflow"
)

func age(wf *workflow.Context, t time.Time) time.Duration {
	return time.Now().Sub(t) // want `reads the machine's clock`
}

func unnamed(_ *workflow.Context) time.Time {
	return time.Now() // want `reads the machine's clock`
}
