package suspects

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Limit is how many deaths in a row a run must be alone with before it is tried no more, and how
// many runs of a workflow, before it is held.
const Limit = 3

// parts is the number of groups into which the waiting runs are divided, and so the number of
// writes per round of all of them.
const parts = 64

// Book names the runs whose code runs now, and keeps who was named at deaths. The next owner of
// the partition reads it. Its zero value is empty. It is not safe for concurrent use.
//
// If all runs of a workflow end their process, each of them would cost deaths of its own. So as
// soon as one of its runs is a suspect the workflow is doubted, and its runs are tried one at a
// time: first those that were alone at the fewest deaths. It is doubted no longer when Limit of
// its runs have gone on. How many were alone is on record for all partitions: see Alone.
type Book struct {
	epoch  int64           // of the owner that writes it
	node   string          // the ID of that owner
	trying map[string]Code // by run
	apart  bool            // those that are tried are suspects, and tried apart
	runs   map[string]Run  // the suspects
	most   int             // the highest number of other runs that waited or ran together
	passed int             // how many of these were admitted since suspects last were
	among  int             // the number of suspects that was found

	alone   map[string]int // how many of its runs were alone at a death, by workflow
	wentOn  map[string]int // how many of its runs have gone on here while it was doubted
	crashes []Crash
}

// Code is what a run runs.
type Code struct {
	Workflow    string `json:"workflow,omitempty"`
	Fingerprint string `json:"code,omitempty"`
}

// Run is what is known of a run whose code may have ended processes.
type Run struct {
	Deaths int      `json:"deaths,omitempty"` // in a row, at which it was named alone
	Code   string   `json:"code,omitempty"`   // fingerprint of the code that was tried
	Nodes  []string `json:"nodes,omitempty"`  // IDs of the nodes that died while it was tried: its attempts on these did not cause that

	Workflow string `json:"workflow,omitempty"`
}

// Poisoned reports whether the run was alone at enough deaths in a row. Code other than the one
// that was tried gets its own tries.
func (s Run) Poisoned(code string) bool { return s.Deaths >= Limit && s.Code == code }

// written is the stored form of a book.
type written struct {
	Epoch    int64           `json:"epoch"`
	Node     string          `json:"node"`
	Trying   map[string]Code `json:"trying,omitempty"`
	Apart    bool            `json:"apart,omitempty"` // nothing else was tried beside them
	Suspects map[string]Run  `json:"suspects,omitempty"`
}

// Open returns the book of the owner of an epoch. Left is what the previous owner wrote, nil
// for nothing. Died reports whether the owner of an epoch is presumed dead.
func Open(epoch int64, node string, left []byte, died func(epoch int64) bool) (*Book, error) {
	b := &Book{epoch: epoch, node: node, trying: map[string]Code{}, runs: map[string]Run{}}
	if left == nil {
		return b, nil
	}
	var w written
	if err := json.Unmarshal(left, &w); err != nil {
		return b, fmt.Errorf("the book of the runs that are tried cannot be read: %w", err)
	}
	maps.Copy(b.runs, w.Suspects)
	if died(w.Epoch) {
		for run, code := range w.Trying {
			b.died(run, code, w.Node, w.Apart && len(w.Trying) == 1)
		}
	}
	b.among = len(b.runs)
	return b, nil
}

// Adopt takes over the suspects of another book, which its owner left.
func (b *Book) Adopt(other *Book) {
	for run, s := range other.runs {
		b.Inherit(run, s)
	}
}

// Inherit records what is known of a run from another place where it was tried.
func (b *Book) Inherit(run string, s Run) {
	if was, known := b.runs[run]; known && was.Deaths >= s.Deaths {
		return
	}
	b.runs[run] = s
	b.among = max(b.among, len(b.runs))
}

// died records that a process died while a run was tried.
func (b *Book) died(run string, code Code, node string, alone bool) {
	s := b.runs[run]
	if s.Code != code.Fingerprint {
		s = Run{Code: code.Fingerprint}
	}
	if s.Workflow = code.Workflow; alone {
		s.Deaths++
		b.crashes = append(b.crashes, Crash{Run: run, Name: code.Workflow, Node: node, Limit: Limit})
	}
	if s.Nodes = append(slices.Clone(s.Nodes), node); len(s.Nodes) > 2*Limit {
		s.Nodes = s.Nodes[1:]
	}
	b.runs[run] = s
}

// Crashes returns those in which a run of the opened book was alone.
func (b *Book) Crashes() []Crash { return b.crashes }

// Alone says how many runs were alone at a death since one survived, by workflow.
func (b *Book) Alone(alone map[string]int) { b.alone = alone }

// Write returns the encoded book. It must be stored before the admitted runs run.
func (b *Book) Write() []byte {
	data, err := json.Marshal(written{b.epoch, b.node, b.trying, b.apart, b.runs})
	if err != nil {
		panic(err) // texts and numbers only
	}
	return data
}

// Runs returns the suspects that an encoded book names, by run; none if it cannot be read.
func Runs(book []byte) map[string]Run {
	var w written
	if json.Unmarshal(book, &w) != nil {
		return nil
	}
	return w.Suspects
}

// Suspects returns how many runs are suspects.
func (b *Book) Suspects() int { return len(b.runs) }

// Suspect returns what is known of a run, and whether it is a suspect.
func (b *Book) Suspect(run string) (s Run, is bool) {
	s, is = b.runs[run]
	return s, is
}

// TriesSuspects reports whether a suspect, or a run of a doubted workflow, is being tried.
func (b *Book) TriesSuspects() bool { return b.apart && len(b.trying) > 0 }

// Waiter is a run that waits to be tried.
type Waiter struct {
	Run string
	Code
}

// Again returns how long a process must have lived before a run is tried. A process that its code
// ends dies anyway.
func (b *Book) Again(w Waiter) time.Duration {
	return max(patience(b.runs[w.Run].Deaths), patience(b.alone[w.Workflow]-1))
}

// Admit chooses which of the waiting runs, in order, are tried now, in addition to those being
// tried, by a process that has lived for some time. Suspects and the runs of doubted workflows
// are tried when all others have had a turn, never together with others, and only if apart
// reports that nothing else that may crash the process is tried meanwhile.
func (b *Book) Admit(waiting []Waiter, lived time.Duration, apart bool) (admitted []Waiter) {
	var others, suspects []Waiter
	doubted := b.doubted()
	for _, w := range waiting {
		switch _, is := b.runs[w.Run]; {
		case !is && !doubted[w.Workflow]:
			others = append(others, w)
		case lived >= b.Again(w):
			suspects = append(suspects, w)
		}
	}
	running, free := 0, len(b.trying)
	if b.apart {
		running, free = free, 0
	}
	b.most = max(b.most, len(others)+free)
	switch turn := apart && len(suspects) > 0 && (len(others) == 0 || b.passed >= b.most); {
	case running > 0: // no run joins a group of suspects: the group would be larger, or last longer
	case turn && free > 0: // the others must have finished
	case turn:
		slices.SortStableFunc(suspects, func(x, y Waiter) int {
			return cmp.Or(cmp.Compare(b.alone[x.Workflow], b.alone[y.Workflow]), cmp.Compare(b.runs[x.Run].Deaths, b.runs[y.Run].Deaths))
		})
		size := Next(suspects, func(w Waiter) bool { return doubted[w.Workflow] }, func(Waiter, Waiter) bool { return true }, func(int) int { return share(b.among) })
		admitted, b.passed, b.apart = suspects[:size], 0, true
	default:
		b.apart = false
		admitted = others[:min(len(others), max(0, share(b.most)-free))]
		b.passed += len(admitted)
	}
	for _, w := range admitted {
		b.trying[w.Run] = w.Code
	}
	return admitted
}

// share returns the size of a group if there are of runs.
func share(of int) int { return max(1, (of+parts-1)/parts) }

// doubted returns the workflows that may end processes with each of their runs.
func (b *Book) doubted() map[string]bool {
	all := map[string]bool{}
	for workflow, deaths := range b.alone {
		all[workflow] = deaths > 0
	}
	for _, s := range b.runs {
		all[s.Workflow] = true
	}
	maps.DeleteFunc(all, func(workflow string, _ bool) bool { return workflow == "" || b.wentOn[workflow] >= Limit })
	return all
}

// Clear takes a run out of the suspects: it went on, or a person wants it tried again.
func (b *Book) Clear(run string) { delete(b.runs, run) }

// Survived records that a run was tried and its process lives. If the run went on, so that its
// next step is a different one, it is no longer a suspect. It has no effect on the suspicion
// of a run that was not tried.
func (b *Book) Survived(run string, wentOn bool) {
	if _, tried := b.trying[run]; tried && wentOn {
		b.Clear(run)
	}
	delete(b.trying, run)
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
	b.Clear(run)
	return acquitted
}
