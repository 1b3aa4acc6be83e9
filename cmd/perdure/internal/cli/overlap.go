package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/perdure/perdure/schedule"
	"github.com/spf13/cobra"
)

// overlaps are the values of --overlap.
var overlaps = []string{
	string(schedule.Skip), string(schedule.BufferOne), string(schedule.BufferAll),
	string(schedule.CancelOther), string(schedule.TerminateOther), string(schedule.AllowAll),
}

// overlap is an overlap policy as a flag.
type overlap schedule.Overlap

// Set implements the flag.
func (o *overlap) Set(s string) error {
	if !slices.Contains(overlaps, s) {
		return fmt.Errorf("it must be one of %s", strings.Join(overlaps, ", "))
	}
	*o = overlap(s)
	return nil
}

func (o *overlap) String() string { return string(*o) }

// Type returns the name of the value in the help.
func (o *overlap) Type() string { return "what" }

// overlapFlag adds --overlap, with its default.
func overlapFlag(cmd *cobra.Command, what, standard string) *overlap {
	var o overlap
	last := len(overlaps) - 1
	cmd.Flags().Var(&o, "overlap", "`what` happens to "+what+" while a run is open: "+strings.Join(overlaps[:last], ", ")+" or "+overlaps[last]+standard)
	_ = cmd.RegisterFlagCompletionFunc("overlap", cobra.FixedCompletions(overlaps, cobra.ShellCompDirectiveNoFileComp))
	return &o
}
