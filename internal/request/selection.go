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

// selection is what a dry run selected. Its text holds all of it: the database stores
// nothing, so any process can use it, later and after a restart. It is not secret, and
// grants no permission that its holder lacks.
type selection struct {
	Operation core.Operation `json:"operation"`
	Call      int64          `json:"call,omitempty"` // of a reset
	From      string         `json:"from,omitempty"` // build before a move
	To        string         `json:"to,omitempty"`
	Group     string         `json:"group"`
	Filter    view.Filter    `json:"filter,omitzero"`
	IDs       []string       `json:"ids,omitempty"` // workflow IDs chosen instead of a filter
	Calls     core.Selection `json:"calls,omitzero"`
	// Chosen are the selected runs or chains, unordered: eight bytes of the hash of the ID,
	// followed by the number of its calls and their numbers.
	Chosen []byte `json:"chosen"`

	chosen map[uint64][]int64
	calls  int
}

const (
	selectionForm = "s1."           // beginning of a text; another form has another one
	selectionMost = 100_000         // maximum number of runs and calls that are named one by one
	selectionSize = 8 << 20         // maximum size of an unpacked text
	checkLength   = sha256.Size / 8 // length of the sum that detects a damaged copy
)

// subject returns the hash under which a selection names a run. An operation on runs
// applies to the chain, whose latest run it reaches. Resets and operations on calls apply
// to one run.
func (s *selection) subject(r *store.Run) uint64 {
	id := r.ID
	if s.Operation.OfRun() && s.Operation != core.ResetTheRun {
		id = r.Chain
	}
	sum := sha256.Sum256([]byte(id))
	return binary.BigEndian.Uint64(sum[:])
}

// add adds what is selected of a run.
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

// keep adds what another selection names of a run.
func (s *selection) keep(r *store.Run, from *selection) {
	calls, has := from.chosen[from.subject(r)]
	if has && s.chosen != nil {
		s.chosen[s.subject(r)] = calls
		s.calls += len(calls)
	}
}

// only returns what is selected now and was selected then.
func (s *selection) only(r *store.Run, found []view.ControlRecord) []view.ControlRecord {
	calls, has := s.chosen[s.subject(r)]
	return slices.DeleteFunc(found, func(f view.ControlRecord) bool {
		return !has || !s.Operation.OfRun() && !slices.Contains(calls, f.Call)
	})
}

// size returns how many runs or calls are named.
func (s *selection) size() int {
	if s.Operation.OfRun() {
		return len(s.chosen)
	}
	return s.calls
}

// text returns the selection as text, or "" if it names too many runs and calls.
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

// readSelection reverses text.
func readSelection(text string) (*selection, error) {
	wrong := &history.InputError{What: "selection", Problem: "is not a selection of a dry run, or only part of one; repeat the dry run and pass its selection unchanged"}
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

// unpack decodes Chosen. It reports whether it is complete.
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

// ControlSelected carries out an operation on what a dry run of ControlAll selected and the
// same filter still matches, and on nothing else. The result says how much of the selection
// is gone. With dry it only reports what is left.
func (c *Client) ControlSelected(ctx context.Context, text string, in core.Control, dry bool) (view.BulkResult, error) {
	return Intercept(ctx, c, operate(string(in.Operation)), func(ctx context.Context) (view.BulkResult, error) {
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

// chosenMost is the maximum number of workflow IDs for ControlChosen.
const chosenMost = 1000

// ControlChosen is ControlAll for the latest runs of workflow IDs instead of a filter. Closed
// runs count as ended, unless they are reset.
func (c *Client) ControlChosen(ctx context.Context, ids []string, in core.Control, dry bool) (view.BulkResult, error) {
	return Intercept(ctx, c, operate(string(in.Operation)), func(ctx context.Context) (view.BulkResult, error) {
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

// fits returns why a selection is for something else.
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
