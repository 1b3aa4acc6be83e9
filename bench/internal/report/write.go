package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// WriteJSON writes all samples to a file. Tables that the file has of workloads that did not run
// stay as they are; the machine is that of the latest run.
func (r Report) WriteJSON(path string) error {
	switch old, err := ReadJSON(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	default:
		for _, t := range r.Tables {
			if at := old.Table(t.Workload); at != nil {
				*at = t
			} else {
				old.Tables = append(old.Tables, t)
			}
		}
		r.Tables = old.Tables
	}
	raw, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(raw, '\n'), 0o644)
}

// ReadJSON reads what WriteJSON has written.
func ReadJSON(path string) (r Report, err error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return r, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// Table returns what was measured of a workload, or nil.
func (r Report) Table(workload string) *Table {
	for i := range r.Tables {
		if r.Tables[i].Workload == workload {
			return &r.Tables[i]
		}
	}
	return nil
}

// WriteInto puts the tables into a document, each between two lines that name
// its workload; the text around them, and tables of workloads that did not run,
// stay as they are:
//
//	<!-- bench:W1 -->
//	<!-- /bench:W1 -->
func (r Report) WriteInto(path string) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text := string(raw)
	for _, t := range r.Tables {
		if text, err = Put(text, "bench:"+t.Workload, t.Markdown()+"\n"+r.Machine.Markdown()); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

// Put replaces what is between the markers of a name.
func Put(text, name, content string) (string, error) {
	first, last := "<!-- "+name+" -->\n", "<!-- /"+name+" -->"
	before, rest, found := strings.Cut(text, first)
	_, after, closed := strings.Cut(rest, last)
	if !found || !closed {
		return "", fmt.Errorf("it has no place for %s: that needs the lines %q and %q", name, strings.TrimSpace(first), last)
	}
	return before + first + "\n" + strings.TrimSpace(content) + "\n\n" + last + after, nil
}
