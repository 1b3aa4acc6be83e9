package history

import (
	"encoding/json"

	"github.com/perdure/perdure/gate/spec"
)

// On record, the durations of a gate are nanoseconds; in the JSON of package spec, which
// people write, they are text.

// GateSpec is a spec on record.
type GateSpec spec.Spec

// GateEdit is an edit on record.
type GateEdit struct {
	spec.Edit
	Breaker *plainBreaker `json:"breaker,omitempty"` // hides that of Edit
}

// RecordGateEdit returns the edit for the record. There AsInCode is said beside it.
func RecordGateEdit(e spec.Edit) GateEdit {
	e.AsInCode = false
	return GateEdit{e, (*plainBreaker)(e.Breaker)}
}

// Recorded returns the edit that is on record.
func (e GateEdit) Recorded() spec.Edit {
	e.Edit.Breaker = (*spec.Breaker)(e.Breaker)
	return e.Edit
}

// The types without methods, for the codec.
type (
	plainSpec    spec.Spec
	plainBreaker spec.Breaker
)

// IsZero reports whether there is no breaker.
func (b *plainBreaker) IsZero() bool { return *b == plainBreaker{} }

// gateDocument is the JSON of a spec. It reads into the spec.
type gateDocument struct {
	*plainSpec
	Breaker *plainBreaker `json:"breaker,omitzero"`
}

func (s *GateSpec) document() *gateDocument {
	return &gateDocument{(*plainSpec)(s), (*plainBreaker)(&s.Breaker)}
}

// MarshalJSON implements json.Marshaler.
func (s GateSpec) MarshalJSON() ([]byte, error) { return json.Marshal(s.document()) }

// UnmarshalJSON implements json.Unmarshaler.
func (s *GateSpec) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, s.document()) }
