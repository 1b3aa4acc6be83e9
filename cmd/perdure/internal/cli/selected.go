package cli

import (
	"encoding/json"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
)

// which returns how an operation on several workflows selects them: a filter, IDs, or the
// selection of a dry run.
func (a *app) which(r *request) (filter view.Filter, options []ops.ControlOption, err error) {
	switch {
	case r.cmd.Flags().Changed("ids"):
		ids, err := a.chosen(r.ids)
		return filter, []ops.ControlOption{ops.Chosen(ids...)}, err
	case r.cmd.Flags().Changed("selected"):
		selection, err := a.selection(r.selected)
		return filter, []ops.ControlOption{ops.Selected(selection)}, err
	}
	filter, err = r.runs.filter(a.env.Now())
	if filter.Call == view.CallRetrying {
		filter.Call = view.CallBackoff // calls are found by their state
	}
	return filter, nil, err
}

// mostIDs limits how much of standard input is read for IDs. It is more than ops.Chosen
// accepts.
const mostIDs = 4 << 20

// chosen returns the workflow IDs of a flag: the given ones, or the lines of standard
// input.
func (a *app) chosen(given []string) (ids []string, err error) {
	if !slices.Equal(given, []string{"-"}) {
		return given, nil
	}
	text, err := io.ReadAll(io.LimitReader(a.env.Stdin, mostIDs+1))
	const hint = "Write one ID on each line, at most 1,000 of them."
	switch {
	case err != nil:
		return nil, usage(hint, "The IDs cannot be read: %v", err)
	case len(text) > mostIDs:
		return nil, usage(hint, "The IDs on standard input are longer than %d bytes.", mostIDs)
	}
	for line := range strings.Lines(string(text)) {
		if id := strings.TrimRight(line, "\r\n"); id != "" {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// selection returns the selection of a dry run. The file is the output of the dry run with
// -o json.
func (a *app) selection(file string) (string, error) {
	const hint = "Make it with the same command and --dry-run -o json > FILE"
	var text []byte
	var err error
	if file == "-" {
		text, err = io.ReadAll(a.env.Stdin)
	} else {
		text, err = os.ReadFile(file)
	}
	if err != nil {
		return "", usage(hint, "The selection cannot be read: %v", err)
	}
	var dry view.BulkResult
	switch err := json.Unmarshal(text, &dry); {
	case err != nil || !dry.DryRun:
		return "", usage(hint, "The file %q has no dry run of an operation on many workflows.", file)
	case dry.Selection == "":
		return "", usage("Narrow the filter, or do it by the filter.", "The dry run has selected more than it can name.")
	}
	return dry.Selection, nil
}
