package command

import (
	"encoding/json"

	"github.com/perdure/perdure/internal/param"
	"github.com/perdure/perdure/internal/policyedit"
	"github.com/perdure/perdure/retry"
)

// Policy is a whole retry policy: text in brackets or the name of a preset, or in JSON an object.
type Policy struct{ retry.Policy }

// UnmarshalText reads a policy from text.
func (p *Policy) UnmarshalText(text []byte) (err error) {
	if p.Policy, err = policyedit.Read(string(text)); err != nil {
		return param.Bad("policy", "", "cannot be used: %s", err.Error())
	}
	return nil
}

// UnmarshalJSON reads a policy from a text or an object.
func (p *Policy) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) != nil {
		text = string(data)
	}
	return p.UnmarshalText([]byte(text))
}
