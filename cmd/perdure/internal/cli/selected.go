package cli

import (
	"encoding/json"
	"io"
	"os"

	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
)

// withSelected adds what a dry run has selected to the options of an operation on many. The
// file is what the dry run printed with -o json.
func (a *app) withSelected(options []ops.ControlOption, file string) ([]ops.ControlOption, error) {
	const hint = "Make it with the same command and --dry-run -o json > FILE"
	var text []byte
	var err error
	if file == "-" {
		text, err = io.ReadAll(a.env.Stdin)
	} else {
		text, err = os.ReadFile(file)
	}
	if err != nil {
		return nil, usage(hint, "The selection cannot be read: %v", err)
	}
	var dry view.BulkResult
	switch err := json.Unmarshal(text, &dry); {
	case err != nil || !dry.DryRun:
		return nil, usage(hint, "The file %q has no dry run of an operation on many workflows.", file)
	case dry.Selection == "":
		return nil, usage("Narrow the filter, or do it by the filter.", "The dry run has selected more than it can name.")
	}
	return append(options, ops.Selected(dry.Selection)), nil
}
