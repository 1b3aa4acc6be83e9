package cli

import (
	"encoding/json"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/perdure/perdure/internal/command"
	"github.com/perdure/perdure/view"
)

// which returns what an operation on several workflows is done to: by a filter, by IDs, or by the
// selection of a dry run.
func which(scr *screen, r *request) (t *command.Target, err error) {
	t = &command.Target{Calls: r.calls}
	switch {
	case r.named():
		t.Chosen, err = chosen(scr, r.ids)
		t.Chosen = append([]string{}, t.Chosen...)
		return t, err
	case r.cmd.Flags().Changed("selected"):
		t.Selection, err = selection(scr, r.selected)
		return t, err
	}
	t.Runs, err = r.runs.filter()
	return t, err
}

// mostIDs limits how much of standard input is read for IDs. It is more than ops.Chosen
// accepts.
const mostIDs = 4 << 20

// chosen returns the workflow IDs of a flag: the given ones, or the lines of standard
// input.
func chosen(scr *screen, given []string) (ids []string, err error) {
	if !slices.Equal(given, []string{"-"}) {
		return given, nil
	}
	text, err := io.ReadAll(io.LimitReader(scr.env.Stdin, mostIDs+1))
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
func selection(scr *screen, file string) (string, error) {
	const hint = "Make it with the same command and --dry-run -o json > FILE"
	var text []byte
	var err error
	if file == "-" {
		text, err = io.ReadAll(scr.env.Stdin)
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
