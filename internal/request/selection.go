package request

import (
	"bytes"
	"compress/flate"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// selection is what a dry run has selected. Its text is all there is of it: nothing is kept
// in the database, so any process can take it up, later and after a restart. It is no
// secret, and gives no right that its holder has not.
type selection struct {
	Operation core.Operation `json:"operation"`
	Call      int64          `json:"call,omitempty"` // of a reset
	From      string         `json:"from,omitempty"` // builds, of a move
	To        string         `json:"to,omitempty"`
	Group     string         `json:"group"`
	Filter    view.Filter    `json:"filter,omitzero"`
	IDs       []string       `json:"ids,omitempty"` // what was chosen one by one, instead of a filter
	Calls     core.Selection `json:"calls,omitzero"`
	// Chosen are the runs, or chains, that were selected: eight bytes of the hash of the ID,
	// in no order, each followed by the number of its calls and these.
	Chosen []byte `json:"chosen"`

	chosen map[uint64][]int64
	calls  int
}

const (
	selectionForm = "s1."           // what a text begins with; another form has another beginning
	selectionMost = 100_000         // runs and calls; more are not named one by one
	selectionSize = 8 << 20         // of a text that is unpacked
	checkLength   = sha256.Size / 8 // of the sum that tells a damaged copy
)

// subject is what of a run a selection names. An operation on runs is meant for the chain,
// whose latest run it reaches. A reset names a call of one run, calls belong to one, too.
func (s *selection) subject(r *store.Run) uint64 {
	id := r.ID
	if s.Operation.OfRun() && s.Operation != core.ResetTheRun {
		id = r.Chain
	}
	sum := sha256.Sum256([]byte(id))
	return binary.BigEndian.Uint64(sum[:])
}

// add takes up what is selected of a run.
func (s *selection) add(r *store.Run, found []view.ControlRecord) {
	if len(found) == 0 || s.chosen == nil {
		return
	}
	calls := []int64{}
	if !s.Operation.OfRun() {
		for _, f := range found {
			calls = append(calls, f.Call)
		}
		s.calls += len(calls)
	}
	if s.chosen[s.subject(r)] = calls; len(s.chosen)+s.calls > selectionMost {
		s.chosen = nil
	}
}

// only returns what is selected now and was selected then.
func (s *selection) only(r *store.Run, found []view.ControlRecord) []view.ControlRecord {
	calls, has := s.chosen[s.subject(r)]
	return slices.DeleteFunc(found, func(f view.ControlRecord) bool {
		return !has || !s.Operation.OfRun() && !slices.Contains(calls, f.Call)
	})
}

// size is how many runs, or calls, are named.
func (s *selection) size() int {
	if s.Operation.OfRun() {
		return len(s.chosen)
	}
	return s.calls
}

// text is the selection as people hand it on; empty if it names too many.
func (s *selection) text() (string, error) {
	if s.chosen == nil {
		return "", nil
	}
	s.Chosen = nil
	for subject, calls := range s.chosen {
		s.Chosen = binary.BigEndian.AppendUint64(s.Chosen, subject)
		s.Chosen = binary.AppendUvarint(s.Chosen, uint64(len(calls)))
		for _, n := range calls {
			s.Chosen = binary.AppendUvarint(s.Chosen, uint64(n))
		}
	}
	document, err := json.Marshal(s)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(document)
	packed := bytes.NewBuffer(sum[:checkLength])
	w, err := flate.NewWriter(packed, flate.BestSpeed)
	if err == nil {
		_, err = w.Write(document)
	}
	if err == nil {
		err = w.Close()
	}
	return selectionForm + base64.RawURLEncoding.EncodeToString(packed.Bytes()), err
}

// readSelection is the reverse of text.
func readSelection(text string) (*selection, error) {
	wrong := &history.InputError{What: "selection", Problem: "is not one that a dry run has given, or not all of it; run the dry run again and hand on its selection as it is"}
	packed, given := strings.CutPrefix(text, selectionForm)
	data, err := base64.RawURLEncoding.Strict().DecodeString(packed)
	if !given || err != nil || len(data) < checkLength {
		return nil, wrong
	}
	document, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(data[checkLength:])), selectionSize))
	if err != nil {
		return nil, wrong
	}
	if sum := sha256.Sum256(document); !bytes.Equal(sum[:checkLength], data[:checkLength]) {
		return nil, wrong
	}
	s := &selection{}
	if err := json.Unmarshal(document, s); err != nil || !s.unpack() {
		return nil, wrong
	}
	return s, nil
}

// unpack reads what is chosen. It reports whether that is whole.
func (s *selection) unpack() bool {
	s.chosen = map[uint64][]int64{}
	for rest := s.Chosen; len(rest) > 0; {
		if len(rest) < 8 {
			return false
		}
		subject := binary.BigEndian.Uint64(rest)
		rest = rest[8:]
		n, size := binary.Uvarint(rest)
		if size <= 0 || n > uint64(len(rest)) {
			return false
		}
		rest = rest[size:]
		calls := make([]int64, n)
		for i := range calls {
			number, size := binary.Uvarint(rest)
			if size <= 0 {
				return false
			}
			calls[i], rest = int64(number), rest[size:]
		}
		s.chosen[subject] = calls
		s.calls += len(calls)
	}
	s.Chosen = nil
	return true
}

// ControlSelected carries an operation out on what a dry run of ControlAll has selected and
// what the same filter still passes, and on nothing else. The result says how much of the
// selection is gone. With dry it only looks what is left.
func (c *Client) ControlSelected(ctx context.Context, text string, in core.Control, dry bool) (view.BulkResult, error) {
	return operate(ctx, c, string(in.Operation), "", func(ctx context.Context) (view.BulkResult, error) {
		s, err := readSelection(text)
		if err == nil {
			err = s.fits(&in, c.group.Name)
		}
		if err != nil {
			return view.BulkResult{DryRun: dry}, err
		}
		in.Calls = s.Calls
		return c.controlAllNow(ctx, s.Filter, s.IDs, in, dry, s)
	})
}

// chosenMost is how many workflow IDs ControlChosen takes.
const chosenMost = 1000

// ControlChosen is ControlAll for the latest runs of workflow IDs instead of those that pass
// a filter. Those that are closed, unless they are reset, or do not exist count as ended.
func (c *Client) ControlChosen(ctx context.Context, ids []string, in core.Control, dry bool) (view.BulkResult, error) {
	return operate(ctx, c, string(in.Operation), "", func(ctx context.Context) (view.BulkResult, error) {
		ids = slices.Clone(ids)
		slices.Sort(ids)
		ids = slices.Compact(ids)
		problem := ""
		switch {
		case len(ids) == 0:
			problem = "names no workflow ID; give at least one"
		case len(ids) > chosenMost:
			problem = "names " + strconv.Itoa(len(ids)) + " workflow IDs, and " + strconv.Itoa(chosenMost) + " is the limit; use a filter"
		case ids[0] == "":
			problem = "has an empty workflow ID; leave it out"
		}
		if problem != "" {
			return view.BulkResult{DryRun: dry}, &history.InputError{What: "choice of runs", Problem: problem}
		}
		return c.controlAllNow(ctx, view.Filter{}, ids, in, dry, nil)
	})
}

// fits says why a selection is for something else.
func (s *selection) fits(in *core.Control, group string) error {
	problem := ""
	switch {
	case s.Operation != in.Operation:
		problem = "was made for " + string(s.Operation) + " and not for " + string(in.Operation)
	case s.Call != in.Call:
		problem = "was made for another call to reset to"
	case s.From != in.From || s.To != in.To:
		problem = "was made for a move from or to another build"
	case s.Group != group:
		problem = "was made in the group " + strconv.Quote(s.Group)
	default:
		return nil
	}
	return &history.InputError{What: "selection", Problem: problem + "; run the dry run for this"}
}
