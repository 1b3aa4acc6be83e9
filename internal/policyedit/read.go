package policyedit

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/retry"
)

// Presets are the ready-made policies of package retry by name. They must not be modified.
var Presets = []struct {
	Name   string
	Policy retry.Policy
}{
	{"never", retry.Never}, {"standard", retry.Standard}, {"aggressive", retry.Aggressive},
	{"conservative", retry.Conservative}, {"infinite", retry.Infinite}, {"quick", retry.Quick},
}

// Preset returns a ready-made policy by its name.
func Preset(name string) (retry.Policy, bool) {
	for _, p := range Presets {
		if p.Name == strings.TrimSpace(name) {
			return p.Policy, true
		}
	}
	return retry.Policy{}, false
}

// maxPolicy is the maximum length of a policy in bytes. No person writes a longer one.
const maxPolicy = 8 << 10

// Read reads a policy that can be used: in text, in JSON, or by the name of a preset.
func Read(text string) (p retry.Policy, err error) {
	if len(text) > maxPolicy {
		return p, fmt.Errorf("the policy has %s bytes; the limit is %s", human.Count(len(text)), human.Count(maxPolicy))
	}
	if p, ok := Preset(text); ok {
		return p, nil
	}
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		err = json.Unmarshal([]byte(text), &p)
	} else {
		p, err = retry.Parse(text)
	}
	if err == nil {
		err = p.Validate()
	}
	return p, err
}
