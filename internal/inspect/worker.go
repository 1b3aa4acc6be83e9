package inspect

import (
	"context"

	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// heardAgain is the message of an attempt that was lost because nothing was heard of its
// worker, or another process took the worker's name, and whose worker turned out to be
// alive. The record itself says what was known when the work was taken over.
const heardAgain = "its worker was heard of again: it had stood still or was cut off"

// tellOfWorkers adds what became known later about workers that were given up.
func (in *Inspector) tellOfWorkers(ctx context.Context, partition int, attempts []view.Attempt) error {
	var owners []store.Ownership
	for i := range attempts {
		a := &attempts[i]
		lost := a.Reason == string(retry.ReasonLeaseExpired) || a.Reason == string(retry.ReasonWorkerLost)
		if !lost || a.Started == nil {
			continue
		}
		if owners == nil {
			var err error
			if owners, err = in.db.Owners(ctx, partition); err != nil {
				return err
			}
		}
		if outlived(owners, a.Node, a.Started.UnixNano()) {
			a.Message = heardAgain
		}
	}
	return nil
}

// outlived reports whether a node is known to have survived the epoch in which it began an
// attempt. It may have owned the partition again later, and died then.
func outlived(owners []store.Ownership, node string, began int64) (lived bool) {
	for _, o := range owners {
		if o.Node == node && o.Since <= began {
			lived = o.Survived
		}
	}
	return lived
}
