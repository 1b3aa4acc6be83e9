//go:build elsewhere

package elsewhere

// What the code on the page imports, so that go.mod names the versions.
import (
	_ "github.com/dbos-inc/dbos-transact-golang/dbos"
	_ "github.com/riverqueue/river"
	_ "go.temporal.io/sdk/temporal"
	_ "go.temporal.io/sdk/workflow"
)
