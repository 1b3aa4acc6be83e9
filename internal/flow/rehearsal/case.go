package rehearsal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/flow/eval"
	"github.com/perdure/perdure/internal/flow/syntax"
)

// Case is one course of a program and its expected outcome.
type Case struct {
	Name    string            `json:"name"`
	Input   json.RawMessage   `json:"input,omitempty"`   // an object, as the program takes it
	Actions map[string][]Mock `json:"actions,omitempty"` // by name; the first that fits counts
	Signals []Signal          `json:"signals,omitempty"`
	Expect  Expect            `json:"expect"`
}

// Mock is the mocked outcome of an action.
type Mock struct {
	// When has the arguments that a call must have: equal values, objects with at least
	// the same keys, and texts in which * matches any text. Without it every call
	// matches.
	When json.RawMessage `json:"when,omitempty"`
	// Fails are the types of errors with which the first attempts of each call fail.
	Fails []string `json:"fails,omitempty"`
	// Unknown says that attempts that fail may have been done, as a timeout may.
	Unknown bool `json:"unknown,omitempty"`
	// Returns is the result, null by default. ReturnsEach are the results of the first
	// call, the second and so on; the last one is that of all further calls.
	Returns     json.RawMessage   `json:"returns,omitempty"`
	ReturnsEach []json.RawMessage `json:"returns_each,omitempty"`
	// Takes is how long each attempt takes, such as 2s. By default it takes no time.
	Takes string `json:"takes,omitempty"`

	takes time.Duration
	calls int
}

// Signal is a signal that the case sends.
type Signal struct {
	After string          `json:"after,omitempty"` // the start, such as 36h
	Name  string          `json:"name"`
	Value json.RawMessage `json:"value,omitempty"`

	after time.Duration
}

// Expect is the expected outcome of a case. Fields that are left out are not checked.
type Expect struct {
	Result json.RawMessage `json:"result,omitempty"`
	Error  string          `json:"error,omitempty"` // the type that the program fails with
	Calls  map[string]int  `json:"calls,omitempty"` // how many, by action
	Took   string          `json:"took,omitempty"`  // such as 3m30s
}

// Bounds of a file of cases.
const (
	MaxFile  = 1 << 20   // bytes
	MaxSteps = 1_000_000 // attempts and waits of one case
)

// Cases reads a file of cases: a JSON object {"cases": [...]}. The error lists all
// mistakes in it.
func Cases(data []byte) ([]*Case, error) {
	if len(data) > MaxFile {
		return nil, fmt.Errorf("the file has more than %d bytes", MaxFile)
	}
	var file struct {
		Cases []*Case `json:"cases"`
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&file); err != nil {
		return nil, fmt.Errorf("this is no file of cases, {\"cases\": [{\"name\": ..., \"expect\": {...}}]}: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more follows the cases; a file holds one JSON object")
	}
	var faults []error
	for i, c := range file.Cases {
		if c == nil || c.Name == "" {
			faults = append(faults, fmt.Errorf("case %d has no name; give it one", i+1))
			continue
		}
		if slices.ContainsFunc(file.Cases[:i], func(other *Case) bool { return other != nil && other.Name == c.Name }) {
			faults = append(faults, fmt.Errorf("there are two cases %q; give each a name of its own", c.Name))
		}
		faults = append(faults, c.prepare()...)
	}
	if len(file.Cases) == 0 {
		faults = append(faults, errors.New("there is no case; write one under cases"))
	}
	return file.Cases, errors.Join(faults...)
}

// prepare reads what stands in texts.
func (c *Case) prepare() (faults []error) {
	duration := func(what, text string) time.Duration {
		if text == "" {
			return 0
		}
		d, err := syntax.Duration(text)
		if err != nil {
			faults = append(faults, fmt.Errorf("case %q: %s: %q is not a duration", c.Name, what, text))
		}
		return d
	}
	for name, mocks := range c.Actions {
		for i := range mocks {
			m := &mocks[i]
			m.takes = duration(name+", takes", m.Takes)
			if m.Returns != nil && m.ReturnsEach != nil {
				faults = append(faults, fmt.Errorf("case %q: a mock of %s has both returns and returns_each", c.Name, name))
			}
			if m.ReturnsEach != nil && len(m.ReturnsEach) == 0 {
				faults = append(faults, fmt.Errorf("case %q: returns_each of %s is empty", c.Name, name))
			}
		}
	}
	for i := range c.Signals {
		c.Signals[i].after = duration("signal "+c.Signals[i].Name, c.Signals[i].After)
	}
	duration("took", c.Expect.Took)
	if e := c.Expect; e.Result == nil && e.Error == "" && e.Calls == nil && e.Took == "" {
		faults = append(faults, fmt.Errorf("case %q expects nothing: give it a result, an error, calls or took", c.Name))
	} else if e.Result != nil && e.Error != "" {
		faults = append(faults, fmt.Errorf("case %q expects both a result and an error", c.Name))
	}
	return faults
}

// mock returns what a call comes to; nil if no mock fits.
func (c *Case) mock(name string, args *eval.Dict) *Mock {
	for i := range c.Actions[name] {
		m := &c.Actions[name][i]
		if m.When == nil {
			return m
		}
		if when, err := eval.Decode(m.When); err == nil && fits(when, args) {
			return m
		}
	}
	return nil
}

// fits reports whether a value is what a mock asks for.
func fits(want, have eval.Value) bool {
	switch want := want.(type) {
	case *eval.Dict:
		d, is := have.(*eval.Dict)
		if !is {
			return false
		}
		for _, key := range want.Keys() {
			w, _ := want.Get(key)
			h, there := d.Get(key)
			if !there || !fits(w, h) {
				return false
			}
		}
		return true
	case string:
		text, is := have.(string)
		return is && globs(want, text)
	}
	return eval.Equal(want, have)
}

// globs reports whether a text is what a pattern with * says.
func globs(pattern, text string) bool {
	first, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == text
	}
	if !strings.HasPrefix(text, first) {
		return false
	}
	text = text[len(first):]
	parts := strings.Split(rest, "*")
	for _, part := range parts[:len(parts)-1] {
		i := strings.Index(text, part)
		if i < 0 {
			return false
		}
		text = text[i+len(part):]
	}
	return strings.HasSuffix(text, parts[len(parts)-1])
}
