package trial

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Limit is how many deaths in a row a run must be alone with before it is poisoned.
const Limit = 3

// parts is the number of groups into which the waiting runs are divided, and so the number of
// writes per round of all of them.
const parts = 64

// Book records whose code is tried. Its zero value is empty. It is not safe for concurrent
// use.
type Book struct {
	epoch    int64           // of the owner that writes it
	node     string          // the ID of that owner
	trying   map[string]Code // by run
	suspects map[string]Suspect
	most     int // the highest number of other runs that waited or ran together
	passed   int // how many of these were admitted since suspects last were
	among    int // the number of suspects that was found
	shared       // what is known of whole workflows
}

// Code is what a run runs.
type Code struct {
	Workflow    string `json:"workflow,omitempty"`
	Fingerprint string `json:"code,omitempty"`
}

// Suspect is a run whose code may have crashed a process.
type Suspect struct {
	Deaths int      `json:"deaths,omitempty"` // in a row, at which it was named alone
	Code   string   `json:"code,omitempty"`   // fingerprint of the code that was tried
	Nodes  []string `json:"nodes,omitempty"`  // nodes that died while it was tried

	Workflow string `json:"workflow,omitempty"`
}

// written is the stored form of a book.
type written struct {
	Epoch    int64              `json:"epoch"`
	Node     string             `json:"node"`
	Trying   map[string]Code    `json:"trying,omitempty"`
	Apart    bool               `json:"apart,omitempty"` // nothing else was tried beside them
	Suspects map[string]Suspect `json:"suspects,omitempty"`
}

// Open returns the book of the owner of an epoch. Left is what the previous owner wrote, nil
// for nothing. Died reports whether the owner of an epoch is presumed dead.
func Open(epoch int64, node string, left []byte, died func(epoch int64) bool) (*Book, error) {
	b := &Book{epoch: epoch, node: node, trying: map[string]Code{}, suspects: map[string]Suspect{}}
	if left == nil {
		return b, nil
	}
	var w written
	if err := json.Unmarshal(left, &w); err != nil {
		return b, fmt.Errorf("the book of the runs that are tried cannot be read: %w", err)
	}
	maps.Copy(b.suspects, w.Suspects)
	if died(w.Epoch) {
		for run, code := range w.Trying {
			b.blame(run, code, w.Node, w.Apart && len(w.Trying) == 1)
		}
	}
	b.among = len(b.suspects)
	return b, nil
}

// Adopt takes over the suspects of another book that its owner left.
func (b *Book) Adopt(left []byte, died func(epoch int64) bool) error {
	other, err := Open(b.epoch, b.node, left, died)
	for run, s := range other.suspects {
		b.Inherit(run, s)
	}
	return err
}

// Inherit records what is known of a run from another place where it was tried.
func (b *Book) Inherit(run string, s Suspect) {
	if was, known := b.suspects[run]; known && was.Deaths >= s.Deaths {
		return
	}
	b.suspects[run] = s
	b.among = max(b.among, len(b.suspects))
}

// blame records that a process died while a run was tried.
func (b *Book) blame(run string, code Code, node string, alone bool) {
	s := b.suspects[run]
	if s.Code != code.Fingerprint {
		s = Suspect{Code: code.Fingerprint}
	}
	if s.Workflow = code.Workflow; alone {
		s.Deaths++
		b.accused = append(b.accused, Accusation{run, code.Workflow, node})
	}
	if s.Nodes = append(slices.Clone(s.Nodes), node); len(s.Nodes) > 2*Limit {
		s.Nodes = s.Nodes[1:]
	}
	b.suspects[run] = s
}

// Write returns the encoded book. It must be stored before the admitted runs run.
func (b *Book) Write() []byte {
	data, err := json.Marshal(written{b.epoch, b.node, b.trying, b.apart, b.suspects})
	if err != nil {
		panic(err) // texts and numbers only
	}
	return data
}

// Poisoned reports whether a run was alone at enough deaths in a row, and their number. Code
// other than the one that was tried gets its own tries.
func (b *Book) Poisoned(run, code string) (deaths int, is bool) {
	s := b.suspects[run]
	return s.Deaths, s.Deaths >= Limit && s.Code == code
}

// Nodes returns the nodes that died while a run was tried. Attempts of the run on these nodes
// did not cause that.
func (b *Book) Nodes(run string) []string { return b.suspects[run].Nodes }

// Suspects returns the suspects that a book names, by run; none if it cannot be read.
func Suspects(book []byte) map[string]Suspect {
	var w written
	if json.Unmarshal(book, &w) != nil {
		return nil
	}
	return w.Suspects
}

// Suspects returns how many runs are suspects.
func (b *Book) Suspects() int { return len(b.suspects) }

// Suspect returns what is known of a suspect.
func (b *Book) Suspect(run string) (s Suspect, is bool) {
	s, is = b.suspects[run]
	return s, is
}

// Suspected reports whether a run is a suspect.
func (b *Book) Suspected(run string) bool { _, is := b.suspects[run]; return is }

// TriesSuspects reports whether a suspect, or a run of a doubted workflow, is being tried.
func (b *Book) TriesSuspects() bool { return b.apart && len(b.trying) > 0 }

// Waiter is a run that waits to be tried.
type Waiter struct {
	Run string
	Code
}

// Patience is how long a process must have lived, per death that a run was alone with, before
// the run is tried again. Processes that are killed from outside in quick succession then die
// while the run is not being tried, whereas a process that its code crashes dies anyway.
const Patience = time.Second

// Again returns how long a process must have lived before a run is tried.
func (b *Book) Again(w Waiter) time.Duration {
	return time.Duration(max(b.suspects[w.Run].Deaths, b.alone[w.Workflow]-1)) * Patience
}

// Admit chooses which of the waiting runs, in order, are tried now, in addition to those being
// tried, by a process that has lived for some time. Suspects and the runs of doubted workflows
// are tried when all others have had a turn, never together with others, and only if apart
// reports that nothing else that may crash the process is tried meanwhile.
func (b *Book) Admit(waiting []Waiter, lived time.Duration, apart bool) (admitted []Waiter) {
	var others, suspects []Waiter
	doubted := b.doubted()
	for _, w := range waiting {
		switch {
		case !b.Suspected(w.Run) && !doubted[w.Workflow]:
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
		admitted, b.passed, b.apart = b.next(suspects, doubted), 0, true
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

// next returns the suspects that are tried next.
func (b *Book) next(suspects []Waiter, doubted map[string]bool) []Waiter {
	slices.SortStableFunc(suspects, func(x, y Waiter) int {
		return cmp.Or(cmp.Compare(b.alone[x.Workflow], b.alone[y.Workflow]), cmp.Compare(b.suspects[x.Run].Deaths, b.suspects[y.Run].Deaths))
	})
	size := 0
	for size < min(len(suspects), share(b.among)) && !doubted[suspects[size].Workflow] {
		size++
	}
	return suspects[:max(1, size)]
}

// share returns the size of a group if there are of runs.
func share(of int) int { return max(1, (of+parts-1)/parts) }

// Clear takes a run out of the suspects: it went on, or a person wants it tried again.
func (b *Book) Clear(run string) { delete(b.suspects, run) }

// Survived records that a run was tried and its process lives. If the run went on, so that its
// next step is a different one, it is no longer a suspect. It has no effect on the suspicion
// of a run that was not tried.
func (b *Book) Survived(run string, wentOn bool) {
	if _, tried := b.trying[run]; tried && wentOn {
		delete(b.suspects, run)
	}
	delete(b.trying, run)
}
