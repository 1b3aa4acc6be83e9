package history

import (
	"fmt"
	"maps"
	"unicode/utf8"
)

// Limits of the headers of a run, which each start event repeats.
const (
	MaxHeaders    = 32
	MaxHeader     = 64   // bytes of a name
	MaxHeaderText = 4096 // bytes of all names and values
)

// HeaderTrace is the name under which interceptors see a trace parent, which has a field
// of its own on record.
const HeaderTrace = "traceparent"

// CheckHeaders refuses headers that cannot be recorded.
func CheckHeaders(all map[string]string) error {
	if len(all) > MaxHeaders {
		return &InputError{What: "headers", Problem: fmt.Sprintf("are %d; the limit is %d", len(all), MaxHeaders)}
	}
	size, first, fault := 0, "", error(nil)
	for name, value := range all {
		size += len(name) + len(value)
		if err := checkHeader(name, value); err != nil && (fault == nil || name < first) {
			first, fault = name, err
		}
	}
	if fault != nil {
		return fault
	}
	if size > MaxHeaderText {
		return &InputError{What: "headers", Problem: fmt.Sprintf("are %d bytes long, names and values together; the limit is %d", size, MaxHeaderText)}
	}
	return nil
}

func checkHeader(name, value string) error {
	switch {
	case name == "":
		return &InputError{What: "header name", Problem: "is empty"}
	case len(name) > MaxHeader:
		return &InputError{What: fmt.Sprintf("header name %.64q", name), Problem: fmt.Sprintf("is %d bytes long; the limit is %d", len(name), MaxHeader)}
	case !headerName(name):
		return &InputError{What: fmt.Sprintf("header name %q", name), Problem: "has other characters than a-z, 0-9, -, _ and ."}
	case !utf8.ValidString(value):
		return &InputError{What: fmt.Sprintf("header %q", name), Problem: "is not valid UTF-8"}
	}
	return nil
}

func headerName(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return true
}

// HeaderChanges returns what makes one set of headers of another: "" for those that go.
// A header without a text is none.
func HeaderChanges(from, to map[string]string) map[string]string {
	var changes map[string]string
	note := func(name, value string) {
		if changes == nil {
			changes = map[string]string{}
		}
		changes[name] = value
	}
	for name, value := range to {
		if value != from[name] {
			note(name, value)
		}
	}
	for name, value := range from {
		if to[name] == "" && value != "" {
			note(name, "")
		}
	}
	return changes
}

// ChangeHeaders makes the changes of HeaderChanges. The maps are not changed.
func ChangeHeaders(from, changes map[string]string) map[string]string {
	if len(changes) == 0 {
		return from
	}
	to := maps.Clone(from)
	if to == nil {
		to = map[string]string{}
	}
	for name, value := range changes {
		if value == "" {
			delete(to, name)
		} else {
			to[name] = value
		}
	}
	if len(to) == 0 {
		return nil
	}
	return to
}

// WithTrace adds a trace parent to headers, in a map of its own; nil for nothing.
func WithTrace(headers map[string]string, trace string) map[string]string {
	all := maps.Clone(headers)
	if trace == "" {
		return all
	}
	if all == nil {
		all = map[string]string{}
	}
	all[HeaderTrace] = trace
	return all
}

// CutTrace is the opposite of WithTrace. Headers without a text are left out.
func CutTrace(all map[string]string) (headers map[string]string, trace string) {
	for name, value := range all {
		switch {
		case value == "":
		case name == HeaderTrace:
			trace = value
		default:
			if headers == nil {
				headers = make(map[string]string, len(all))
			}
			headers[name] = value
		}
	}
	return headers, trace
}
