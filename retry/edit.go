package retry

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Edit returns the policy with what a text names changed, and everything else as it is.
// The text is in the notation of Parse, or an object of JSON.
//
// Of brackets without error types each key changes the field that it sets: [retry: 20]
// allows 20 retries and keeps the backoff, [retry: 20, backoff: 1m] changes both,
// [backoff: 1m] only the waits, and [within: 2h] only the time. Brackets with error types
// replace all rules. In JSON a member replaces the field, and null sets it to zero. Edit does
// not call Validate.
func (p Policy) Edit(text string) (Policy, error) {
	var err error
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		err = p.replace(text)
	} else {
		err = p.change(text)
	}
	return p, err
}

// change changes the fields that a text in notation names; after an error, none.
func (p *Policy) change(text string) error {
	p.Retryable, p.NonRetryable, p.Rules = slices.Clone(p.Retryable), slices.Clone(p.NonRetryable), slices.Clone(p.Rules)
	for i := range p.Rules {
		p.Rules[i].Types = slices.Clone(p.Rules[i].Types)
	}
	named := map[string]bool{}
	change, err := parse(text, draft{change: named})
	if err != nil {
		return unreadable(err)
	}
	into, from := reflect.ValueOf(p).Elem(), reflect.ValueOf(change)
	for field := range named {
		into.FieldByName(field).Set(from.FieldByName(field))
	}
	return nil
}

// replace replaces the members that an object of JSON has; after an error, none.
func (p *Policy) replace(text string) error {
	var members, changes map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &changes); err != nil {
		return unreadable(err)
	}
	if len(changes) == 0 {
		return errors.New("the change of a policy names no field; name one, such as max_attempts")
	}
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	_ = json.Unmarshal(data, &members)
	maps.Copy(members, changes)
	maps.DeleteFunc(members, func(_ string, value json.RawMessage) bool { return string(value) == "null" })
	data, _ = json.Marshal(members)
	return unreadable(json.Unmarshal(data, p))
}

// unreadable says of an error that it is about the text of a change.
func unreadable(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("the change of a policy cannot be read: %w", err)
}
