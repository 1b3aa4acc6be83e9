package history

import (
	"cmp"
	"encoding/json"
)

// Row holds the fields of a start event that columns of the run's row hold. They never
// change.
type Row struct {
	WorkflowID string `json:"workflow_id"`
	Run        string `json:"id"`
	Type       string `json:"type"`
	Group      string `json:"group"`
	Chain      string `json:"chain"`
	Attempt    int    `json:"attempt"`
	Created    int64  `json:"created"`
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
	doc, err := json.Marshal(beside{Format: Format, whole: (*whole)(&s)})
	if err != nil {
		return nil, err
	}
	return appendSum(doc, key{a: int64(row.sum()), b: Format}), nil
}

// OpenStart decodes a document from SealStart. The error is a *DamageError. The start event is then
// what the row says; if the error is Coded, also what the document's face shows.
func OpenStart(row Row, doc []byte) (Start, error) {
	var s Start
	b := beside{whole: (*whole)(&s)}
	face, err := faceOf(doc)
	useful := err != nil && json.Unmarshal(face, &b) == nil
	if err == nil {
		err = unsealBeside(row, doc, &b)
		useful = err == nil
	}
	if !useful {
		s = Start{}
	}
	s.Kind, s.Format = RunStarted, Format
	s.WorkflowID, s.Run, s.Type, s.Group, s.Chain, s.Attempt, s.Created =
		row.WorkflowID, row.Run, row.Type, row.Group, row.Chain, row.Attempt, row.Created
	return s, Damaged("the start event", err)
}

func unsealBeside(row Row, doc []byte, b *beside) error {
	if _, err := cutSum(doc, key{a: int64(row.sum()), b: Format}); err != nil {
		return err
	}
	err := json.Unmarshal(doc, b)
	if err == nil {
		return checkFormat(b.Format)
	}
	return cmp.Or(newer(doc), damaged("%w", err))
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
		err = checkFormat(s.Format)
	} else if !IsCoded(err) {
		err = cmp.Or(newer(data), err)
	}
	if err != nil && !IsCoded(err) {
		s = Start{}
	}
	return s, Damaged("the start event", err)
}
