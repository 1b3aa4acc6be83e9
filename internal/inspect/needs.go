package inspect

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// needs returns the code that a run needs if it waits for code or does not fit the code
// that was tried, or nil if unknown. The code that last advanced the run fits, or that of
// the build to which it is pinned. For a run that never began, any node with its workflow
// will do.
func (in *Inspector) needs(ctx context.Context, row *store.Run, detail *core.Detail, s *Snapshot) (*view.NeededCode, error) {
	if row.Status != store.WaitingForCode && (row.Status != store.Parked || detail.Mismatch == nil) {
		return nil, nil
	}
	members, err := in.nodesOf(ctx, row.Group)
	if err != nil {
		return nil, err
	}
	if detail.Pin != "" && row.Status == store.WaitingForCode {
		return ofBuild(members, row.Type, detail.Pin), nil
	}
	if last := s.owners[s.advanced]; last != "" {
		at := slices.IndexFunc(members, func(m store.Member) bool { return m.ID == last })
		if at < 0 {
			return nil, nil // a forgotten node
		}
		return neededCode(members, row.Type, codeOf(members[at], row.Type)), nil
	}
	if row.Status == store.Parked {
		return nil, nil
	}
	return neededCode(members, row.Type, ""), nil
}

// nodesOf returns the nodes of a group. The result is never nil.
func (in *Inspector) nodesOf(ctx context.Context, group string) ([]store.Member, error) {
	members, err := in.db.Nodes(ctx)
	return slices.DeleteFunc(append([]store.Member{}, members...), func(m store.Member) bool { return m.Group != group }), err
}

// ofBuild describes the most recently seen node of a build that has a workflow.
func ofBuild(members []store.Member, workflow, build string) *view.NeededCode {
	of := slices.DeleteFunc(slices.Clone(members), func(m store.Member) bool { return m.Build != build })
	if n := neededCode(of, workflow, ""); n != nil {
		return n
	}
	return &view.NeededCode{Build: build}
}

// readNodes reads the nodes of the group once.
func (o *obstacles) readNodes(ctx context.Context, group string) (err error) {
	if o.nodes == nil {
		o.nodes, err = o.in.nodesOf(ctx, group)
	}
	return err
}

// awaitsBuild adds to the wait of a pinned run when its build was seen last.
func (o *obstacles) awaitsBuild(ctx context.Context, row *store.Run, w *view.Wait) error {
	if w.Build == "" {
		return nil
	}
	if err := o.readNodes(ctx, row.Group); err != nil {
		return err
	}
	w.Why = "it stays on build " + w.Build + ", "
	switch n := ofBuild(o.nodes, row.Type, w.Build); {
	case n.Node == "":
		w.Why += "which no node is remembered to have had"
	case n.Live:
		w.Why += "which the node " + n.Node + " has"
	default:
		w.Why += "which " + lastSeen(n)
	}
	return nil
}

// lastSeen says when and where a build without a live node was seen last.
func lastSeen(n *view.NeededCode) string {
	return "was seen last on the node " + n.Node + ", " + n.Seen.UTC().Format(time.RFC3339)
}

// WouldMove says what would happen to a run that moves from one build to another, as far as
// the definitions of their nodes tell.
func (in *Inspector) WouldMove(ctx context.Context, row *store.Run, from, to string) (string, error) {
	members, err := in.nodesOf(ctx, row.Group)
	if err != nil {
		return "", err
	}
	was, is := ofBuild(members, row.Type, from), ofBuild(members, row.Type, to)
	switch {
	case is.Node == "":
		return "no node is remembered that has this workflow in build " + to + ": it would wait for one", nil
	case !is.Live:
		return "build " + to + " " + lastSeen(is) + ": it would wait for it", nil
	case is.Version != "" && is.Version == was.Version:
		return "the node " + is.Node + " has build " + to + " with the same version of the workflow: it would continue there", nil
	}
	return "the node " + is.Node + " has build " + to + " with other code of the workflow: it would continue there, or be parked if that does not fit its history", nil
}

// away returns the name of the node in whose ward a run is, "" if it is at home.
func (in *Inspector) away(ctx context.Context, row *store.Run) (string, error) {
	if row.Ward == 0 {
		return "", nil
	}
	members, err := in.db.Nodes(ctx)
	if at := slices.IndexFunc(members, func(m store.Member) bool { return m.Ordinal == row.Ward }); at >= 0 {
		return members[at].Name, err
	}
	return "", err
}

// definition returns how a node has registered a workflow, or false.
func definition(m store.Member, workflow string) (record.Workflow, bool) {
	all, err := record.DecodeDefinitions(m.Definitions)
	at := slices.IndexFunc(all.Workflows, func(w record.Workflow) bool { return w.Name == workflow })
	if err != nil || at < 0 {
		return record.Workflow{}, false
	}
	return all.Workflows[at], true
}

// codeOf returns the identity of a node's code of a workflow, "" if it has none.
func codeOf(m store.Member, workflow string) string {
	w, is := definition(m, workflow)
	if !is {
		return ""
	}
	return record.Fingerprint(w.Version, m.Build)
}

// neededCode describes the most recently seen node that has this code of the workflow; ""
// means any code. It returns nil if there is none.
func neededCode(members []store.Member, workflow, code string) *view.NeededCode {
	var latest *store.Member
	for i := range members {
		m := &members[i]
		has := codeOf(*m, workflow)
		if has != "" && (code == "" || has == code) && (latest == nil || m.Live && !latest.Live || m.Live == latest.Live && m.Seen >= latest.Seen) {
			latest = m
		}
	}
	if latest == nil {
		return nil
	}
	w, _ := definition(*latest, workflow)
	return &view.NeededCode{Build: latest.Build, Version: w.Version, Node: latest.Name, Seen: at(latest.Seen), Live: latest.Live}
}

// addNeeds adds the code that runs need which are parked or wait for code.
func (in *Inspector) addNeeds(ctx context.Context, all []view.Waiting) error {
	for i := range all {
		w := &all[i]
		if w.For != view.WaitParked && w.For != view.WaitCode || w.WorkflowID == "" {
			continue
		}
		row, err := in.Find(ctx, w.WorkflowID, w.RunID)
		if errors.Is(err, store.ErrNotFound) {
			continue // deleted meanwhile
		}
		if err != nil {
			return err
		}
		s, err := in.Read(ctx, row)
		if err != nil {
			return err
		}
		if d, err := core.DecodeDetail(row.Detail); err == nil {
			if w.Needs, err = in.needs(ctx, row, &d, s); err != nil {
				return err
			}
		}
	}
	return nil
}
