package record

import (
	"encoding/json"
	"fmt"
)

// Definitions are the workflows and activities that a node has registered, as its row lists
// them.
type Definitions struct {
	Workflows  []Workflow `json:"workflows,omitempty"`  // by name
	Activities []string   `json:"activities,omitempty"` // sorted
}

// Workflow identifies the definition of a workflow.
type Workflow struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"` // declared by its code
	Pinned  bool   `json:"pinned,omitempty"`  // its runs stay on the build on which they began
}

// Encode returns the definitions as the store keeps them.
func (d Definitions) Encode() string {
	bytes, err := json.Marshal(d)
	if err != nil {
		panic(fmt.Sprintf("encoding definitions: %v", err)) // cannot happen: names are text
	}
	return string(bytes)
}

// DecodeDefinitions decodes what Encode returned.
func DecodeDefinitions(text string) (d Definitions, err error) {
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		return d, fmt.Errorf("the definitions of a node cannot be read: %w", err)
	}
	return d, nil
}

// Fingerprint identifies the code of a workflow: by its declared version, else by the build of
// its program.
func Fingerprint(version, build string) string {
	if version != "" {
		return "version " + version
	}
	return "build " + build
}
