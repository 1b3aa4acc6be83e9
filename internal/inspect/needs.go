package inspect

import (
	"context"
	"slices"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// needs returns which code a run would go on with that waits for code or does not fit the
// code that was tried; nil if that is not known. The code that the run was advanced by
// last fits. Of a run that never began any node will do that has its workflow.
func (in *Inspector) needs(ctx context.Context, row *store.Run, detail *core.Detail, s *Snapshot) (*view.NeededCode, error) {
	if row.Status != store.WaitingForCode && (row.Status != store.Parked || detail.Mismatch == nil) {
		return nil, nil
	}
	members, err := in.db.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	members = slices.DeleteFunc(members, func(m store.Member) bool { return m.Group != row.Group || m.Build == "" })
	if last := s.owners[s.advanced]; last != "" {
		at := slices.IndexFunc(members, func(m store.Member) bool { return m.ID == last })
		if at < 0 {
			return nil, nil // a node that is forgotten, or of a version that did not say
		}
		return neededCode(members, row.Type, codeOf(members[at], row.Type)), nil
	}
	if row.Status == store.Parked {
		return nil, nil
	}
	return neededCode(members, row.Type, ""), nil
}

// away is the name of the node in whose ward a run is, "" if it is at home.
func (in *Inspector) away(ctx context.Context, row *store.Run) (string, error) {
	if row.Ward == 0 {
		return "", nil
	}
	members, err := in.db.Nodes(ctx)
	for _, m := range members {
		if m.Ordinal == row.Ward {
			return m.Name, err
		}
	}
	return "", err
}

// definition returns how a node has registered a workflow, false if it has not.
func definition(m store.Member, workflow string) (record.Workflow, bool) {
	all, err := record.DecodeDefinitions(m.Definitions)
	at := slices.IndexFunc(all.Workflows, func(w record.Workflow) bool { return w.Name == workflow })
	if err != nil || at < 0 {
		return record.Workflow{}, false
	}
	return all.Workflows[at], true
}

// codeOf tells the code of a workflow that a node has from other code, "" if it has none.
func codeOf(m store.Member, workflow string) string {
	w, is := definition(m, workflow)
	if !is {
		return ""
	}
	return record.Fingerprint(w.Version, m.Build)
}

// neededCode describes the node that was seen last of those that have this code of the
// workflow, any code for "". It returns nil if none has.
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
