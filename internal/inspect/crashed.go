package inspect

import (
	"context"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/view"
)

// builds are the builds of the processes of a group.
type builds struct {
	of   map[string]view.Crash // processes that are remembered, by ID
	live map[string][]string   // for each build of a live one, the IDs of all that have or had it
}

// Builds returns, for each build of a live process of the group, the IDs of all processes that
// have it or had it.
func (in *Inspector) Builds(ctx context.Context) (map[string][]string, error) {
	b, err := in.builds(ctx)
	if err != nil {
		return nil, err
	}
	return b.live, nil
}

func (in *Inspector) builds(ctx context.Context) (*builds, error) {
	nodes, err := in.Nodes(ctx)
	b := &builds{map[string]view.Crash{}, map[string][]string{}}
	for i := range nodes {
		if n := &nodes[i]; n.Group == in.group.Name {
			b.of[n.ID] = view.Crash{Node: n.Name, Build: n.Build}
			if n.State == view.NodeLive {
				b.live[n.Build] = nil
			}
		}
	}
	for id, c := range b.of {
		if ids, is := b.live[c.Build]; is {
			b.live[c.Build] = append(ids, id)
		}
	}
	return b, err
}

// crashes returns where a call crashed its process, and whether every live process has a build
// on which it did.
func (b *builds) crashes(p *core.Progress) (all []view.Crash, everywhere bool) {
	for _, id := range p.CrashedOn {
		c, known := b.of[id]
		if !known {
			c.Node = id
		}
		all = append(all, c)
	}
	return all, core.CrashedEverywhere(b.live, p.CrashedOn)
}
