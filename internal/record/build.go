package record

import (
	"encoding/json"
	"fmt"
)

// Definitions are what a node has registered, as it says in its row.
type Definitions struct {
	Workflows  []Workflow `json:"workflows,omitempty"`  // by name
	Activities []string   `json:"activities,omitempty"` // sorted
}

// Workflow is the definition of a workflow.
type Workflow struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"` // that its code declares
}

// Encode returns the definitions as the store keeps them.
func (d Definitions) Encode() string {
	bytes, err := json.Marshal(d)
	if err != nil {
		panic(fmt.Sprintf("encoding definitions: %v", err)) // names are text
	}
	return string(bytes)
}

// DecodeDefinitions reads what Encode wrote. A node of an earlier version said nothing,
// which is no definitions.
func DecodeDefinitions(text string) (d Definitions, err error) {
	if text == "" {
		return d, nil
	}
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		return d, fmt.Errorf("the definitions of a node cannot be read: %w", err)
	}
	return d, nil
}

// Fingerprint tells code of a workflow from other code: by its declared version, else by
// the build of its program.
func Fingerprint(version, build string) string {
	if version != "" {
		return "version " + version
	}
	return "build " + build
}
