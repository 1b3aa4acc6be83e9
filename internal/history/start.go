package history

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
)

// Row holds the fields of a start event that columns of the run's row hold. They never
// change.
type Row struct {
	WorkflowID, Run, Type, Group, Chain string
	Attempt                             int
	Created                             int64
}

// sum returns a checksum over the row.
func (r *Row) sum() uint32 {
	sum := key{r.WorkflowID, int64(r.Attempt), r.Created}.add(0)
	for _, s := range [...]string{r.Run, r.Type, r.Group, r.Chain} {
		sum = key{s, int64(len(s)), 0}.add(sum)
	}
	return sum
}

// row returns the fields of the start event that the row holds.
func (s *Start) row() Row {
	return Row{s.WorkflowID, s.Run, s.Type, s.Group, s.Chain, s.Attempt, s.Created}
}

// beside is a start event without the fields in its row: the fields declared here hide
// those of the same name.
type beside struct {
	Format     int       `json:"v"`
	Kind       *struct{} `json:"kind,omitempty"`
	WorkflowID *struct{} `json:"workflow_id,omitempty"`
	Run        *struct{} `json:"run,omitempty"`
	Type       *struct{} `json:"type,omitempty"`
	Group      *struct{} `json:"group,omitempty"`
	Chain      *struct{} `json:"chain,omitempty"`
	Attempt    *struct{} `json:"attempt,omitempty"`
	Created    *struct{} `json:"created,omitempty"`
	*whole
}

type whole Start

// SealStart encodes a start event for the row of its run, with a checksum over document and
// row.
func SealStart(s Start) ([]byte, error) {
	row := s.row()
	doc, err := json.Marshal(beside{Format: Stored, whole: (*whole)(&s)})
	if err != nil {
		return nil, err
	}
	return appendSum(doc, key{a: int64(row.sum()), b: Stored}), nil
}

// OpenStart decodes a document from SealStart, or one of an earlier version, which holds
// all fields itself. The error is a *DamageError. If that is Coded, the start event is what
// the document's face shows.
func OpenStart(row Row, doc []byte) (Start, error) {
	face, coded := faceOf(doc)
	if coded == nil {
		face = doc
	}
	if !bytes.HasPrefix(face, []byte(storedBegin)) {
		return DecodeStart(doc)
	}
	var s Start
	b := beside{whole: (*whole)(&s)}
	err := coded
	if err == nil {
		if err = unsealBeside(row, doc, &b); err != nil {
			return Start{}, Damaged("the start event", err)
		}
	} else if json.Unmarshal(face, &b) != nil {
		s = Start{} // the face has nothing useful
	}
	s.Kind, s.Format = RunStarted, Format
	s.WorkflowID, s.Run, s.Type, s.Group, s.Chain, s.Attempt, s.Created =
		row.WorkflowID, row.Run, row.Type, row.Group, row.Chain, row.Attempt, row.Created
	return s, Damaged("the start event", err)
}

// storedBegin is the beginning of documents that stand beside a row.
const storedBegin = `{"v":`

func unsealBeside(row Row, doc []byte, b *beside) error {
	_, has, err := cutSum(doc, key{a: int64(row.sum()), b: Stored})
	if err == nil {
		err = json.Unmarshal(doc, b)
	}
	switch _, is := errors.AsType[*DamageError](err); {
	case is:
		return err
	case err != nil:
		return damaged("%w", err)
	case b.Format != Stored:
		return cmp.Or(checkFormat(b.Format, Stored), damaged("it is of format %d and not written as that is", b.Format))
	case !has:
		return damaged("it has no checksum")
	}
	return nil
}

// EncodeStart encodes a start event that stands by itself, such as in a message, with a
// checksum.
func EncodeStart(s Start) ([]byte, error) {
	s.Kind, s.Format = RunStarted, Format
	return Seal(s)
}

// DecodeStart decodes a document from EncodeStart. The error is a *DamageError. If that is
// Coded, the start event is what the document's face shows.
func DecodeStart(data []byte) (Start, error) {
	var s Start
	err := Unseal(data, &s)
	if err == nil {
		err = checkFormat(s.Format, Format)
	}
	switch {
	case IsCoded(err):
		return s, Damaged("the start event", err)
	case err != nil:
		return Start{}, Damaged("the start event", err)
	}
	return s, nil
}
