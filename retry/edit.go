package retry

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/perdure/perdure/internal/notation"
)

// Edit returns the policy with what a text names changed, and everything else as it is.
// The text is in the notation of Parse, or an object of JSON.
//
// Of brackets without error types each key changes the field that it sets: [retry: 20]
// allows 20 retries and keeps the backoff, [retry: 20, backoff: 1m] changes both,
// [backoff: 1m] only the waits, and [within: 2h] only the time. Brackets with error types replace all rules. In JSON a member
// replaces the field, and null sets it to zero. Edit does not call Validate.
func (p Policy) Edit(text string) (Policy, error) {
	var changes map[string]json.RawMessage
	var err error
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		err = json.Unmarshal([]byte(text), &changes)
	} else {
		changes, err = changesOf(text)
	}
	if err != nil {
		return p, fmt.Errorf("the change of a policy cannot be read: %w", err)
	}
	if len(changes) == 0 {
		return p, errors.New("the change of a policy names no field; name one, such as max_attempts")
	}
	members, err := membersOf(p)
	if err != nil {
		return p, err
	}
	for name, value := range changes {
		members[name] = value
		if value == nil || string(value) == "null" {
			delete(members, name)
		}
	}
	data, err := json.Marshal(members)
	if err != nil {
		return p, err
	}
	var edited Policy
	if err := json.Unmarshal(data, &edited); err != nil {
		return p, fmt.Errorf("the change of a policy cannot be read: %w", err)
	}
	return edited, nil
}

func membersOf(p Policy) (members map[string]json.RawMessage, err error) {
	data, err := json.Marshal(p)
	if err == nil {
		err = json.Unmarshal(data, &members)
	}
	return members, err
}

// changesOf returns the members that a text names, with nil for those that are zero.
func changesOf(text string) (map[string]json.RawMessage, error) {
	p, err := parse(text, draft{change: true})
	if err != nil {
		return nil, err
	}
	members, err := membersOf(p)
	if err != nil {
		return nil, err
	}
	changes := map[string]json.RawMessage{}
	for bracket := range strings.SplitSeq(text, "]") {
		_, inside, _ := strings.Cut(bracket, "[")
		if strings.Contains(inside, "->") {
			changes["rules"] = members["rules"]
			continue
		}
		for part := range strings.SplitSeq(inside, ",") {
			key, _, _ := strings.Cut(part, ":")
			if name := memberOf(strings.TrimSpace(key)); name != "" {
				changes[name] = members[name]
			}
		}
	}
	return changes, nil
}

// memberOf is the name in JSON of what a key of the notation sets, empty for no key.
func memberOf(key string) string {
	k, _ := notation.Find(key)
	field, _, _ := strings.Cut(k.Field, ":")
	field, _, _ = strings.Cut(field, ".")
	return map[string]string{
		"MaxAttempts": "max_attempts", "Backoff": "backoff", "Jitter": "jitter", "AttemptTimeout": "attempt_timeout",
		"HeartbeatTimeout": "heartbeat_timeout", "QueueTimeout": "queue_timeout", "Within": "within", "OnTimeout": "on_timeout",
		"Retryable": "retryable", "NonRetryable": "non_retryable", "OnExhausted": "on_exhausted", "MaxServerDelay": "max_server_delay",
		"CrashLimit": "crash_limit", "OnUnknown": "on_unknown",
	}[field]
}
