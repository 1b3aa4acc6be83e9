package cli

import (
	"bytes"
	"encoding/json"

	"github.com/perdure/perdure/view"
	"github.com/spf13/cobra"
)

// partSize is how much of a long list of one workflow is in memory. Tables for people need
// the whole list, because a table is as wide as its widest row.
const partSize = 1000

// partFlags choose a part of a list.
type partFlags struct {
	after string
	limit int // 0: all
}

// flags adds the flags of a part. place describes the place of an element in the list.
func (p *partFlags) flags(cmd *cobra.Command, place, standard string) {
	cmd.Flags().StringVar(&p.after, "after", "", "only those behind this `place`: "+place)
	limited(cmd.Flags(), &p.limit, "at most this `number`; 0 for all"+standard)
}

// ofAll limits a search over all workflows to the part. It refuses the flags that choose a
// part of the list of one workflow.
func (p *partFlags) ofAll(cmd *cobra.Command, filter *view.AttemptFilter, what string, ofOne ...string) error {
	if flag := anyChanged(cmd, ofOne); flag != "" {
		return usage("Name the workflow as well.", "--%s is about the %s of one workflow.", flag, what)
	}
	if filter.Limit = p.limit; !cmd.Flags().Changed("limit") {
		filter.Limit = 100
	}
	return nil
}

// partial is what was read of a list.
type partial[T any] struct {
	rows []T // to show as a table
	read int
	last *T   // the last selected element
	more bool // more elements are selected after the limit
}

// inParts reads a list in parts. read returns up to n elements after the last one that it
// returned before. Selected elements are written as they come, unless they become a table.
func inParts[T any](scr *screen, limit int, selects func(*T) bool, read func(last *T, n int) ([]T, error)) (p partial[T], err error) {
	out, selected := array{scr: scr}, 0
	for at := (*T)(nil); ; {
		n := partSize
		if limit > 0 && selects == nil {
			n = min(partSize, limit-selected+1) // one more shows whether there are more
		}
		some, err := read(at, n)
		if err != nil {
			return p, err
		}
		for i := range some {
			if p.read++; selects != nil && !selects(&some[i]) {
				continue
			}
			if limit > 0 && selected == limit {
				p.more = true
				out.end()
				return p, nil
			}
			selected++
			if p.last = &some[i]; scr.format == formatTable {
				p.rows = append(p.rows, some[i])
			} else if err := out.add(some[i]); err != nil {
				return p, err
			}
		}
		if len(some) < n {
			out.end()
			return p, nil
		}
		at = &some[n-1]
	}
}

// array writes objects for programs as they come: as one array, or one per line.
type array struct {
	scr  *screen
	held []byte // the last object, which a comma may follow
}

func (w *array) add(v any) error {
	if w.scr.format == formatLines {
		return w.scr.document(v)
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("  ", "  ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	if w.held == nil {
		w.scr.json([]byte("["))
	} else {
		w.scr.json(append(w.held, ','))
	}
	w.held = append([]byte("  "), bytes.TrimSuffix(text.Bytes(), []byte("\n"))...)
	return nil
}

// end writes the rest.
func (w *array) end() {
	switch {
	case w.scr.format != formatJSON:
	case w.held == nil:
		w.scr.json([]byte("[]"))
	default:
		w.scr.json(w.held)
		w.scr.json([]byte("]"))
	}
}
