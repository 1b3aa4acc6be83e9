package history

import (
	"fmt"
	"maps"
	"unicode/utf8"
)

// Limits of the headers of a run. Each start event repeats the headers.
const (
	MaxHeaders    = 32
	MaxHeader     = 64   // bytes of a name
	MaxHeaderText = 4096 // bytes of all names and values
)

// HeaderTrace is the name under which interceptors see the trace parent. Events record it
// in a field of its own.
const HeaderTrace = "traceparent"

// CheckHeaders returns an error if the headers cannot be recorded.
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

// HeaderChanges returns the changes that turn one set of headers into another. A removed
// header has the value "". A header without text counts as absent.
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

// ChangeHeaders applies the changes that HeaderChanges returned. It does not modify the
// maps.
func ChangeHeaders(from, changes map[string]string) map[string]string {
	if len(changes) == 0 {
		return from
	}
	to := make(map[string]string, len(from)+len(changes))
	maps.Copy(to, from)
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

// WithTrace returns a copy of headers with the trace parent added, if trace is not empty.
func WithTrace(headers map[string]string, trace string) map[string]string {
	if trace == "" {
		return maps.Clone(headers)
	}
	all := make(map[string]string, len(headers)+1)
	maps.Copy(all, headers)
	all[HeaderTrace] = trace
	return all
}

// CutTrace reverses WithTrace. It omits headers without text.
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
