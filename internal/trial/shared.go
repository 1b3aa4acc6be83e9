package trial

import "maps"

// A workflow is a suspect as well. If all of its runs end their process, each of them would
// cost deaths of its own. So as soon as one of its runs is a suspect the workflow is doubted,
// and its runs are tried one at a time: first those that were alone at the fewest deaths. If
// Limit of them were alone at a death, one after the other, the workflow is to be held as a
// whole. It is doubted no longer when Limit of its runs have gone on.

// shared is what is known of workflows. See package suspects for the same of activities.
type shared struct {
	alone   map[string]int // how many of its runs were alone at a death, by workflow
	wentOn  map[string]int // how many of its runs have gone on here while it was doubted
	apart   bool           // those that are tried are tried apart
	accused []Accusation
}

// Accusation says that a run was alone when its process died.
type Accusation struct{ Run, Workflow, Node string }

// Accused returns the accusations that follow from the books that were opened.
func (b *Book) Accused() []Accusation { return b.accused }

// Blame says how many runs were alone at a death since one survived, by workflow. The caller
// keeps that on record, for all partitions.
func (b *Book) Blame(alone map[string]int) { b.alone = alone }

// doubted returns the workflows that may end processes with each of their runs.
func (b *Book) doubted() map[string]bool {
	all := map[string]bool{}
	for workflow, deaths := range b.alone {
		all[workflow] = deaths > 0
	}
	for _, s := range b.suspects {
		all[s.Workflow] = true
	}
	maps.DeleteFunc(all, func(workflow string, _ bool) bool { return workflow == "" || b.wentOn[workflow] >= Limit })
	return all
}

// WentOn records that a turn of a run is on record, and reports whether its workflow is
// acquitted with that: those of its runs that were alone at deaths count no longer.
func (b *Book) WentOn(run, workflow string) (acquitted bool) {
	if b.doubted()[workflow] {
		if b.wentOn == nil {
			b.wentOn = map[string]int{}
		}
		b.wentOn[workflow]++
		acquitted = b.wentOn[workflow] >= Limit && b.alone[workflow] > 0
	}
	delete(b.suspects, run)
	return acquitted
}
