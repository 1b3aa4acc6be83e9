package trial

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Limit is how many deaths in a row a run must be alone with to be poisoned.
const Limit = 3

// parts is into how many groups the runs that wait are divided, so how often all of them
// together are written down.
const parts = 64

// Book says whose code is tried. Its zero value is empty. It is not safe for concurrent
// use.
type Book struct {
	epoch    int64             // of the owner that writes it
	node     string            // which that is
	trying   map[string]string // the code, by run
	suspects map[string]Suspect
	most     int // of those that are no suspects, how many waited or ran together
	passed   int // how many of these were admitted since suspects were, the last time
	among    int // the number of suspects that was found
}

// Suspect is a run whose code may have ended a process.
type Suspect struct {
	Deaths int      `json:"deaths,omitempty"` // with which it was alone, in a row
	Code   string   `json:"code,omitempty"`   // that was tried
	Nodes  []string `json:"nodes,omitempty"`  // that died while it was tried
}

// written is a book as it is stored.
type written struct {
	Epoch    int64              `json:"epoch"`
	Node     string             `json:"node"`
	Trying   map[string]string  `json:"trying,omitempty"`
	Suspects map[string]Suspect `json:"suspects,omitempty"`
}

// Open returns the book of the owner of an epoch. Left is what the last one wrote, nil
// for nothing, and died reports whether the owner of an epoch is taken for dead.
func Open(epoch int64, node string, left []byte, died func(epoch int64) bool) (*Book, error) {
	b := &Book{epoch: epoch, node: node, trying: map[string]string{}, suspects: map[string]Suspect{}}
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
			_, apart := w.Suspects[run]
			b.blame(run, code, w.Node, apart && len(w.Trying) == 1)
		}
	}
	b.among = len(b.suspects)
	return b, nil
}

// Adopt takes over the suspects of another book, as its owner left it.
func (b *Book) Adopt(left []byte, died func(epoch int64) bool) error {
	other, err := Open(b.epoch, b.node, left, died)
	for run, s := range other.suspects {
		b.Inherit(run, s)
	}
	return err
}

// Inherit notes what is known of a run from where it was tried before.
func (b *Book) Inherit(run string, s Suspect) {
	if was, known := b.suspects[run]; known && was.Deaths >= s.Deaths {
		return
	}
	b.suspects[run] = s
	b.among = max(b.among, len(b.suspects))
}

// blame notes that a process died while a run was tried.
func (b *Book) blame(run, code, node string, alone bool) {
	s := b.suspects[run]
	if s.Code != code {
		s = Suspect{Code: code}
	}
	if alone {
		s.Deaths++
	}
	if s.Nodes = append(slices.Clone(s.Nodes), node); len(s.Nodes) > 2*Limit {
		s.Nodes = s.Nodes[1:]
	}
	b.suspects[run] = s
}

// Write returns the book as it is to be stored before those run that were admitted.
func (b *Book) Write() []byte {
	data, err := json.Marshal(written{b.epoch, b.node, b.trying, b.suspects})
	if err != nil {
		panic(err) // texts and numbers only
	}
	return data
}

// Poisoned returns with how many deaths in a row a run was alone if these are enough. Code
// other than the one that was tried then gets its own tries.
func (b *Book) Poisoned(run, code string) (deaths int, is bool) {
	s := b.suspects[run]
	return s.Deaths, s.Deaths >= Limit && s.Code == code
}

// Nodes returns the nodes that died while a run was tried: what ran for it there was not
// what ended them.
func (b *Book) Nodes(run string) []string { return b.suspects[run].Nodes }

// Suspects returns how many runs are suspects.
func (b *Book) Suspects() int { return len(b.suspects) }

// Suspect returns what is held against a run.
func (b *Book) Suspect(run string) (s Suspect, is bool) {
	s, is = b.suspects[run]
	return s, is
}

// Suspected reports whether a run is a suspect.
func (b *Book) Suspected(run string) bool { _, is := b.suspects[run]; return is }

// TriesSuspects reports whether suspects are tried now.
func (b *Book) TriesSuspects() bool { return b.triedSuspects() > 0 }

func (b *Book) triedSuspects() (n int) {
	for run := range b.trying {
		if b.Suspected(run) {
			n++
		}
	}
	return n
}

// Waiter is a run that wants to be tried.
type Waiter struct{ Run, Code string }

// Patience is how long a process must have lived for each death that a run was alone with
// before the run is tried again. Processes that are killed from outside, one shortly after
// the other, then die while it is not tried; one that its code ends dies all the same.
const Patience = time.Second

// Again returns how long a process must have lived to try a run.
func (b *Book) Again(run string) time.Duration {
	return time.Duration(b.suspects[run].Deaths) * Patience
}

// Admit chooses whom of the runs that wait, in order, is tried now, besides those that are
// tried already, by a process that has lived for some time. Suspects come when all others
// had a turn, with none of them, and only if apart says that nothing else is tried
// meanwhile that may end the process.
func (b *Book) Admit(waiting []Waiter, lived time.Duration, apart bool) (admitted []Waiter) {
	var others, suspects []Waiter
	for _, w := range waiting {
		switch {
		case !b.Suspected(w.Run):
			others = append(others, w)
		case lived >= b.Again(w.Run):
			suspects = append(suspects, w)
		}
	}
	running := b.triedSuspects()
	free := len(b.trying) - running
	b.most = max(b.most, len(others)+free)
	switch turn := apart && len(suspects) > 0 && (len(others) == 0 || b.passed >= b.most); {
	case running > 0: // none joins a group of suspects: it would be larger, or later
	case turn && free > 0: // these must have left
	case turn:
		admitted, b.passed = suspects[:min(len(suspects), share(b.among))], 0
	default:
		admitted = others[:min(len(others), max(0, share(b.most)-free))]
		b.passed += len(admitted)
	}
	for _, w := range admitted {
		b.trying[w.Run] = w.Code
	}
	return admitted
}

// share is the size of a group of so many runs.
func share(of int) int { return max(1, (of+parts-1)/parts) }

// Survived notes that a run was tried and its process lives. If it went on, so that what
// it does next is something else, it is no suspect any more. A run that was not tried
// stays what it is.
func (b *Book) Survived(run string, wentOn bool) {
	if _, tried := b.trying[run]; tried && wentOn {
		delete(b.suspects, run)
	}
	delete(b.trying, run)
}
