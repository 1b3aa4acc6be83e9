package history

import (
	"crypto/sha256"
	"encoding/hex"
)

// Origin is a digest of what the first run of a chain was started with. It tells whether
// another start of the same workflow ID asks for the same, even after that run was deleted.
type Origin struct {
	Type  string `json:"type"`
	Input string `json:"input"` // a digest
}

// NewOrigin returns the origin of a chain started with this workflow and input.
func NewOrigin(workflow string, input Payload) Origin {
	return Origin{workflow, digest(input.canonical())}
}

func digest(p Payload) string {
	h := sha256.New()
	h.Write([]byte(p.Encoding + "\x00"))
	h.Write(p.Data)
	return hex.EncodeToString(h.Sum(nil))
}

// HasInput reports whether the origin is that of an input, whose value counts, not its bytes.
func (o *Origin) HasInput(input Payload) bool { return o.Input == digest(input.canonical()) }

// Origin returns the origin of the run's chain. It is nil if the start event is damaged and
// does not say it.
func (s *Start) Origin() *Origin {
	if s.Run == s.Chain {
		o := NewOrigin(s.Type, s.Input)
		return &o
	}
	return s.First
}
