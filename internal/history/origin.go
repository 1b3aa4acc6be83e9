package history

import (
	"crypto/sha256"
	"encoding/hex"
)

// Origin is what the first run of a chain was started with, in short: enough to tell
// whether another start of the same workflow ID asks for the same, even when that run
// was deleted.
type Origin struct {
	Type  string `json:"type"`
	Input string `json:"input"` // a digest
}

// NewOrigin is the origin of a chain that is started so.
func NewOrigin(workflow string, input Payload) Origin {
	h := sha256.New()
	h.Write([]byte(input.Encoding + "\x00"))
	h.Write(input.Data)
	return Origin{workflow, hex.EncodeToString(h.Sum(nil))}
}

// Origin is that of the chain that the run belongs to; nil if it is not known, because
// an earlier version has made the run.
func (s *Start) Origin() *Origin {
	if s.Run == s.Chain {
		o := NewOrigin(s.Type, s.Input)
		return &o
	}
	return s.First
}
