package cli

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/spf13/cobra"
)

// watchable gives commands that show how things stand a flag by which they show it again and
// again, until they are interrupted, which is then their normal end.
func watchable(db *source, root *cobra.Command, names ...string) {
	for _, cmd := range root.Commands() {
		if !slices.Contains(names, cmd.Name()) {
			continue
		}
		every := cmd.Flags().Duration("watch", 0, "draw it again every so `often`")
		cmd.Flags().Lookup("watch").NoOptDefVal = "2s"
		once := cmd.RunE
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("watch") {
				if *every < 100*time.Millisecond {
					return usage("Use 100ms or more, as in --watch=5s.", "Nothing can be drawn every %s.", *every)
				}
				db.every = *every
			}
			return once(cmd, args)
		}
	}
}

// again draws every so often; less often where the database takes long to read, so that watching
// costs it little. On a terminal each picture takes the place of the one before.
func (scr *screen) again(ctx context.Context, every time.Duration, draw func() error) error {
	for first := true; ; first = false {
		switch {
		case scr.format == formatTable && scr.stdout.Moves:
			scr.clear()
		case scr.format == formatTable && !first:
			scr.printf("\n")
		}
		begun := time.Now()
		err := draw()
		if said, ok := errors.AsType[*Error](err); ok && said.Silent {
			err = nil // it is drawn
		}
		if ctx.Err() != nil {
			return nil
		}
		if err = errors.Join(err, scr.out.Flush()); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(max(every, 10*time.Since(begun))):
		}
	}
}
