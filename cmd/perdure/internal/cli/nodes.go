package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/listing"
	"github.com/perdure/perdure/internal/wording"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
	"github.com/spf13/cobra"
)

func nodesCommand(scr *screen, db *source) *cobra.Command {
	var all bool
	cmd := listOf(scr, db, &listing.Nodes, nil)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return nodes(scr, db, cmd.Context(), all) }
	cmd.Flags().BoolVar(&all, "all", false, "include nodes that left or died recently")
	return cmd
}

func nodes(scr *screen, db *source, ctx context.Context, all bool) error {
	return db.withEngine(ctx, func(e *perdure.Engine) error {
		nodes, err := ops.Nodes(ctx, e)
		if err != nil {
			return err
		}
		if group, given := db.group(); given {
			nodes = slices.DeleteFunc(nodes, func(n view.Node) bool { return n.Group != group })
		}
		now := consistent(scr.env.Now(), nodes)
		gone := 0
		if !all {
			known := len(nodes)
			nodes = slices.DeleteFunc(nodes, listing.Gone)
			gone = known - len(nodes)
		}
		if scr.format != formatTable {
			return documents(scr, nodes)
		}
		canary, err := ops.Canary(ctx, e)
		if err == nil {
			writeNodeTable(scr, db, nodes, gone, canary, now)
		}
		return err
	})
}

// works reports whether a node takes runs.
func works(n view.Node) bool { return n.State == view.NodeLive && !n.Worker }

// consistent returns the time of this machine, unless it contradicts the database. The
// database's clock decides which nodes are live, and may be ahead or behind.
func consistent(now time.Time, nodes []view.Node) time.Time {
	for _, n := range nodes {
		if n.Seen.After(now) {
			now = n.Seen
		}
	}
	for _, n := range nodes {
		if (n.State == view.NodeLive || n.State == view.NodeDraining) && n.Expires != nil && n.Expires.Before(now) {
			now = *n.Expires
		}
	}
	return now
}

func writeNodeTable(scr *screen, db *source, nodes []view.Node, gone int, canary *view.Canary, now time.Time) {
	queues := slices.ContainsFunc(nodes, func(n view.Node) bool { return len(n.Queues) > 0 })
	table := scr.table("NODE", "GROUP", "STATE", "\tPARTITIONS", "SEEN", "LEASE", "JOINED", "BUILD", "QUEUES", "ATTEMPTS")
	for _, n := range nodes {
		attempts := ""
		if queues {
			attempts = human.Count(n.Attempts)
		}
		table.Row(n.Name, n.Group, status(n.State), human.Count(n.Partitions), human.Ago(n.Seen, now), lease(n, now), human.Time(n.Joined), n.Build, queuesOf(n), attempts)
	}
	before := ""
	if len(nodes) > 0 {
		table.Write(scr.out)
		before = "\n"
	}
	notes := slices.Concat(codeNotes(nodes), canaryNotes(canary), nodeNotes(nodes, now))
	if !slices.ContainsFunc(nodes, works) {
		notes = append([]string{db.unserved()}, notes...)
	}
	if gone > 0 {
		notes = append(notes, fmt.Sprintf("Not shown: %s. Add --all to see them.", human.Plural(gone, "node that is gone", "nodes that are gone")))
	}
	scr.lines(before, "", notes)
}

// codeNotes says what the builds have registered. Nodes of one build may differ, because
// the registered code may depend on how a process was started.
func codeNotes(nodes []view.Node) []string {
	var notes []string
	for _, n := range nodes {
		if n.Worker || n.State != view.NodeLive && n.State != view.NodeDraining {
			continue
		}
		note := fmt.Sprintf("Build %s has %s.", n.Build, registered(n))
		if !slices.Contains(notes, note) {
			notes = append(notes, note)
		}
	}
	return notes
}

// canaryNotes say on which builds workflows begin.
func canaryNotes(c *view.Canary) []string {
	if c == nil {
		return nil
	}
	return []string{wording.Canary(c)}
}

func registered(n view.Node) string {
	var names []string
	for _, w := range n.Workflows {
		if w.Version != "" {
			w.Name += " (version " + w.Version + ")"
		}
		names = append(names, w.Name)
	}
	return some("workflow", "workflows", names) + ", and " + some("activity", "activities", n.Activities)
}

// some lists as many names as fit a line.
func some(one, many string, names []string) string {
	const most = 8
	switch {
	case len(names) == 0:
		return "no " + many
	case len(names) > most:
		return fmt.Sprintf("the %s %s and %d more", many, strings.Join(names[:most], ", "), len(names)-most)
	case len(names) == 1:
		many = one
	}
	return fmt.Sprintf("the %s %s", many, strings.Join(names, ", "))
}

// queuesOf lists the queues that a node serves, and how many attempts of each it runs
// concurrently.
func queuesOf(n view.Node) string {
	var names []string
	for _, q := range n.Queues {
		names = append(names, fmt.Sprintf("%s (%d)", q.Queue, q.Limit))
	}
	return strings.Join(names, ", ")
}

// served describes what the listed nodes serve.
func served(db *source) string {
	switch group, given := db.group(); {
	case group != "":
		return fmt.Sprintf("the group %q", group)
	case given:
		return "the group without a name"
	}
	return "this database"
}

// lease says how long others wait for a node. An engine with exclusive use of its database
// has no lease.
func lease(n view.Node, now time.Time) string {
	switch {
	case n.Expires == nil:
		return ""
	case n.State == view.NodeExpired:
		return "expired " + human.When(*n.Expires, now)
	}
	return human.Duration(n.Expires.Sub(now)) + " left"
}

func attemptsGoBack(n int) string {
	if n == 1 {
		return "attempt goes back into its queue"
	}
	return human.Count(n) + " attempts go back into their queues"
}

// nodeNotes say when the work of dead and silent nodes continues.
func nodeNotes(nodes []view.Node, now time.Time) []string {
	var notes []string
	for _, n := range nodes {
		successor := slices.ContainsFunc(nodes, func(o view.Node) bool { return works(o) && o.Group == n.Group && o.ID != n.ID })
		work := "the work of its " + human.Plural(n.Partitions, "partition", "partitions")
		name := n.Name
		switch {
		case n.Partitions == 0 && n.Attempts == 0:
		case n.Worker && n.State == view.NodeExpired:
			notes = append(notes, fmt.Sprintf("%s is dead; its %s soon.", name, attemptsGoBack(n.Attempts)))
		case n.Worker:
		case n.State == view.NodeExpired && successor:
			notes = append(notes, fmt.Sprintf("%s is dead; another node takes over %s soon.", name, work))
		case n.State == view.NodeExpired:
			notes = append(notes, fmt.Sprintf("%s is dead; %s waits for an engine to start.", name, work))
		case n.Expires != nil && now.Sub(n.Seen) > n.Expires.Sub(n.Seen)/2: // it should have renewed its lease by now
			when := "is taken over " + human.When(*n.Expires, now)
			if !successor {
				when = "waits for an engine to start"
			}
			notes = append(notes, fmt.Sprintf("%s is silent; unless it renews its lease, %s %s.", name, work, when))
		}
	}
	return notes
}
