package copying

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/perdure/perdure/store"
)

// Sum counts rows of one kind, and adds up their hashes.
type Sum struct {
	Rows int64  `json:"rows"`
	Hash uint64 `json:"hash"`
}

// Sums has the sum of each kind of rows.
type Sums map[string]Sum

// Kinds are the kinds of rows, in the order in which people read them.
var Kinds = []string{"runs", "turns", "calls", "attempts", "tasks", "messages", "tallies", "switches"}

// Differ returns how two sums differ, for people; nil if they do not. Counters that were added
// up are fewer rows.
func (s Sums) Differ(other Sums) (texts []string) {
	for _, kind := range Kinds {
		a, b := s[kind], other[kind]
		if a.Hash != b.Hash || a.Rows != b.Rows && kind != "tallies" {
			texts = append(texts, fmt.Sprintf("%s: %d rows with the checksum %016x and %d with %016x", kind, a.Rows, a.Hash, b.Rows, b.Hash))
		}
	}
	return texts
}

// digest is the canonical form of a row, without what belongs to its place.
type digest struct{ bytes []byte }

func (d *digest) text(all ...string) *digest {
	for _, t := range all {
		d.bytes = append(binary.AppendUvarint(d.bytes, uint64(len(t))), t...)
	}
	return d
}

func (d *digest) data(b []byte) *digest {
	d.bytes = append(binary.AppendUvarint(d.bytes, uint64(len(b))), b...)
	return d
}

func (d *digest) number(all ...int64) *digest {
	for _, n := range all {
		d.bytes = binary.AppendVarint(d.bytes, n)
	}
	return d
}

func (d *digest) flag(all ...bool) *digest {
	for _, set := range all {
		d.bytes = append(d.bytes, map[bool]byte{true: 1}[set])
	}
	return d
}

func (d *digest) hash() uint64 {
	sum := sha256.Sum256(d.bytes)
	d.bytes = d.bytes[:0]
	return binary.BigEndian.Uint64(sum[:])
}

func (s Sums) add(kind string, rows int64, hash uint64) {
	sum := s[kind]
	s[kind] = Sum{sum.Rows + rows, sum.Hash + hash}
}

// Add adds rows.
func (s Sums) Add(rows *store.Rows) {
	d := &digest{}
	for i := range rows.Runs {
		s.addRun(d, &rows.Runs[i])
	}
	for _, m := range rows.Messages {
		s.add("messages", 1, d.text(m.WorkflowID, m.Run, m.Key, m.Kind).number(m.Posted).data(m.Data).hash())
	}
	for _, t := range rows.Tallies {
		hash := uint64(0)
		for i, n := range t.Counts() {
			hash += uint64(*n) * (d.text(t.Type, t.Name).number(t.Bucket, t.Took, int64(i)).hash() | 1)
		}
		s.add("tallies", 1, hash)
	}
	for _, w := range rows.Switches {
		s.add("switches", 1, d.text(w.Group, w.Kind, w.Name, w.Request, w.By, w.Why).number(w.Number, w.Time, int64(w.Share), w.Lasts).flag(w.Off).hash())
	}
}

func (s Sums) addRun(d *digest, w *store.WholeRun) {
	r := &w.Run
	d.text(r.ID, r.WorkflowID, r.Type, r.Group, r.Chain, r.Key, string(r.Status)).number(int64(r.Weight), int64(r.Attempt), r.Created, int64(r.Priority), r.Wake, r.Closed)
	d.flag(r.Latest, r.Full).data(r.Start).data(r.Detail)
	for _, a := range store.SortAttributes(slices.Clone(r.Attributes)) {
		d.text(a.Name, a.Value)
	}
	s.add("runs", 1, d.hash())
	for i := range w.Turns {
		t := &w.Turns[i]
		s.add("turns", 1, d.text(r.ID).number(t.Number, t.CommitID, t.Epoch, t.Time).data(t.Events).hash())
	}
	for i := range w.Calls {
		k := &w.Calls[i]
		s.add("calls", 1, d.text(r.ID, string(k.State), k.Name, k.Queue).number(k.Number, k.First, int64(k.Attempt), k.Due).data(k.Data).hash())
	}
	for i := range w.Attempts {
		a := &w.Attempts[i]
		s.add("attempts", 1, d.text(r.ID, a.Name, a.Outcome, a.ErrorType, a.Reason).number(a.Call, int64(a.Number), a.Started, a.Ended).data(a.Data).hash())
	}
	for i := range w.Tasks {
		t := &w.Tasks[i]
		s.add("tasks", 1, d.text(r.ID, t.WorkflowID, t.Queue, t.Name, t.Worker, t.Key).number(int64(t.Weight), t.Number, int64(t.Attempt), int64(t.Priority), t.Offered, t.Latest, t.Claimed).
			flag(t.Suspect, t.Settled, t.Stopped).data(t.Data).hash())
	}
}
