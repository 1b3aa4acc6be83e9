package cli

import (
	"context"
	"errors"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/workflow"
)

// unanswered says why the code of a workflow has not answered in the time that a command waits, or
// rejects what it is asked for.
func (db *source) unanswered(ctx context.Context, err error, waited time.Duration) error {
	rejected, isRejected := errors.AsType[*workflow.RejectedError](err)
	engine := "Is an engine running? See: " + db.sameDatabase("perdure nodes")
	switch {
	case ctx.Err() != nil:
		return err
	case isRejected:
		return failure(exitError, "", "The workflow rejects the update %q: %v.", rejected.Update, rejected.Err)
	case errors.Is(err, perdure.ErrUnanswered):
		return failure(exitTimedOut, engine, "There was no answer within %s.", human.Duration(waited))
	case errors.Is(err, perdure.ErrNoAnswer):
		return failure(exitTimedOut, "The update is durable; repeat it with the same --id. "+engine,
			"There was no result within %s.", human.Duration(waited))
	}
	return err
}

// checkWait returns an error for a wait that is not positive.
func checkWait(wait time.Duration) error {
	if wait <= 0 {
		return usage("Use a duration such as 30s or 5m.", "The time to wait is %s.", wait)
	}
	return nil
}
