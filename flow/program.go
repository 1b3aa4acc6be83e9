package flow

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/perdure/perdure/internal/flow/check"
	"github.com/perdure/perdure/internal/flow/eval"
	"github.com/perdure/perdure/internal/flow/syntax"
	"github.com/perdure/perdure/internal/seal"
)

// Language is the version of the language that this package runs. A run records its
// version; another version is refused rather than run a little differently.
const Language = 1

// Program is a flow file with its input, which is the input of Workflow. File.With makes
// it.
type Program struct {
	Name     string          `json:"name,omitempty"` // of the file, for people
	Language int             `json:"language"`
	SHA256   string          `json:"sha256"` // of Source, in hexadecimal
	Source   string          `json:"source"`
	Input    json.RawMessage `json:"input,omitempty"` // a JSON object, none if the program takes no input

	// State is the position of the program in a run that continues an earlier one. Only
	// the interpreter sets it.
	State json.RawMessage `json:"state,omitempty"`
}

// File is a flow file without faults.
type File struct {
	name, text string
	tree       *syntax.File
}

// Load reads and checks a flow file without running it. The error is of type Faults and
// lists all its faults, including actions that this runtime does not have. The name is for
// people.
func (r *Runtime) Load(name, text string) (*File, error) {
	tree, err := check.Text(name, text, *seal.Of(r))
	if err != nil {
		return nil, faultsOf(err)
	}
	return &File{name, text, tree}, nil
}

// Name returns the name that the file was loaded with.
func (f *File) Name() string { return f.name }

// Inputs returns the names of the inputs of the program.
func (f *File) Inputs() []string {
	var names []string
	for _, in := range f.tree.Main().Inputs {
		names = append(names, in.Name)
	}
	return names
}

// Secrets returns the names of the secrets that the program refers to, in order.
func (f *File) Secrets() []string { return syntax.Secrets(f.tree) }

// With returns the file with an input: a map, a struct, or anything else that is an
// object in JSON; nil for none. The error is that the program takes other inputs.
func (f *File) With(input any) (Program, error) {
	p := Program{Name: f.name, Language: Language, SHA256: hashOf(f.text), Source: f.text}
	if input != nil {
		data, err := json.Marshal(input)
		if err != nil {
			return Program{}, fmt.Errorf("flow: the input of %s: %w", f.name, err)
		}
		if string(data) != "null" {
			p.Input = data
		}
	}
	dict, err := p.input()
	if err == nil {
		err = eval.CheckInput(f.tree, dict)
	}
	if err != nil {
		return Program{}, fmt.Errorf("flow: the input of %s: %w", f.name, err)
	}
	return p, nil
}

// input is the input as a dictionary.
func (p Program) input() (*eval.Dict, error) {
	if len(p.Input) == 0 {
		return eval.NewDict(), nil
	}
	v, err := eval.Decode(p.Input)
	if err != nil {
		return nil, err
	}
	dict, ok := v.(*eval.Dict)
	if !ok {
		return nil, errors.New("it is not a JSON object with one key for each input, such as {\"day\": \"2026-01-31\"}")
	}
	return dict, nil
}

// open reads the file of a run. It does not ask which actions there are: a run must
// not depend on what a process has registered at the moment.
func (p Program) open() (*syntax.File, *eval.Dict, error) {
	if p.Language != Language {
		return nil, nil, fmt.Errorf("the run needs version %d of the language of flow files, and this program has version %d", p.Language, Language)
	}
	if hashOf(p.Source) != p.SHA256 {
		return nil, nil, errors.New("the source is not the one that its SHA-256 belongs to")
	}
	file, err := syntax.Parse(p.Name, p.Source)
	if err != nil {
		return nil, nil, err
	}
	input, err := p.input()
	return file, input, err
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
