package inspect

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/near"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/view"
)

// atSlot adds to the wait of a call that is queued where its run is why no attempt of it can
// start there. Its Why is what the node says. Without a live node that is what the run waits for.
func (o *obstacles) atSlot(ctx context.Context, w *view.Wait) error {
	if w.For != view.WaitSlot || w.Why == "" {
		return nil
	}
	if err := o.readNodes(ctx, o.in.group.Name); err != nil {
		return err
	}
	have, known := []string{}, map[string]bool{}
	live := false
	for _, m := range o.nodes {
		if !m.Live {
			continue
		}
		live = true
		all, err := record.DecodeDefinitions(m.Definitions)
		if err != nil {
			continue
		}
		for _, name := range all.Activities {
			known[name] = true
		}
		if slices.Contains(all.Activities, w.Name) {
			have = append(have, m.Name)
		}
	}
	why := w.Why
	if w.Why = ""; !live {
		return nil
	}
	w.For, w.Why = view.WaitUnserved, why
	switch {
	case why != core.NotRegistered:
	case len(have) > 0:
		w.Why = fmt.Sprintf("the node that has the run has not registered activity %s; %s has", w.Name, strings.Join(have, ", "))
	default:
		w.Why = "no live node has registered activity " + w.Name
		if names := near.Names(w.Name, maps.Keys(known)); len(names) > 0 {
			w.Why += " (there is " + strings.Join(names, ", ") + ")"
		}
	}
	return nil
}
