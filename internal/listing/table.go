package listing

import (
	"context"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
)

// List is a row of the table of lists that are read as a whole. A Q says what is listed, and a T is one
// of it. The command line and the HTTP API are made from the row: a face adds how a T looks there.
type List[Q, T any] struct {
	Line    string // on the command line; of a list that only the API has, those that show it as well
	Address string // method and path over HTTP
	Name    string // of the operation over HTTP
	Field   string // of the answer over HTTP, which has the list
	Order   string // of the list
	Short   string // what it is, in the imperative
	Long    string // what the command line's help says
	Example string // command lines
	None    string // says that there is nothing; {group} stands for the name of the group, if it has one

	// Read reads it. now is the time of who asks.
	Read func(ctx context.Context, e *perdure.Engine, q *Q, now time.Time) ([]T, error)
}

// All says that nothing is selected.
type All struct{}

// whole reads a list of which nothing is selected.
func whole[T any](read func(context.Context, *perdure.Engine) ([]T, error)) func(context.Context, *perdure.Engine, *All, time.Time) ([]T, error) {
	return func(ctx context.Context, e *perdure.Engine, _ *All, _ time.Time) ([]T, error) { return read(ctx, e) }
}

// Nodes are the nodes of all groups.
var Nodes = List[All, view.Node]{
	Line: "nodes", Address: "GET /api/nodes", Name: "listNodes", Field: "nodes", Order: "of all groups, by the time they joined, with those that left or died recently",
	Short: "List the nodes that run workflows", Read: whole(ops.Nodes),
	Long: `List the nodes of a database: the processes that run its workflows. Each owns a share of
the partitions, which hold the workflows, while it renews its lease. If it dies, others
take its share over when the lease expires. BUILD names the code of the process, and below the table
is what it has registered. Processes that serve queues of activities alone own no partitions;
their queues are listed with how many attempts run at a time.

All groups are listed unless --group names one. Nodes that are gone are listed only with
--all, unless their work has not been taken over yet.`,
	Example: `  perdure nodes
  perdure nodes --db postgres://shop@db.example/shop
  perdure nodes --all -o json`,
}

// Gone reports whether a node is gone and its work was taken over.
func Gone(n view.Node) bool { return n.Gone() && n.Partitions+n.Attempts == 0 }

// Gates are the gates of the group.
var Gates = List[All, view.Gate]{
	Line: "gates", Address: "GET /api/gates", Name: "listGates", Field: "gates", Order: "by name", Short: "List the gates that attempts pass through", Read: whole(ops.Gates),
	Long: `List the gates of a group: how many attempts each admits at a time over all nodes, how
many hold it, how many calls wait and for how long, and the state of its circuit breaker
and retry budget. With -o json also which calls hold it or wait.

A gate appears when the first call comes to it.`,
	Example: `  perdure gates
  perdure gates -o json
  perdure gates pause payments --reason "maintenance until noon"
  perdure gates resume payments
  perdure gates show payments
  perdure gates edit payments --limit 10 --dry-run
  perdure gates probe payments`,
	None: "There are no gates: no call of this group has come to one yet.",
}

// Schedules are the schedules of the group.
var Schedules = List[All, view.Schedule]{
	Line: "schedules", Address: "GET /api/schedules", Name: "listSchedules", Field: "schedules", Order: "by name", Short: "List schedules, which start workflows repeatedly", Read: whole(ops.Schedules),
	Long: `List the schedules of a group: when each fires next, what it starts, how many of its
runs are open, and how the last one ended.`,
	Example: `  perdure schedules
  perdure schedules create nightly report '{"of": "yesterday"}' --cron "30 2 * * *" --zone Europe/Paris
  perdure schedules show nightly
  perdure schedules pause nightly --reason "the warehouse is closed"
  perdure schedules backfill nightly --from 2026-11-01T00:00:00Z --until 2026-11-20T00:00:00Z`,
	None: "There are no schedules. Create one: perdure schedules create --help",
}

// PausedActivities are the activities that are paused.
var PausedActivities = List[All, view.SwitchRecord]{
	Line: "status", Address: "GET /api/activities/paused", Name: "listPausedActivities", Field: "activities", Order: "by name", Short: "List the activities that are paused in the whole group",
	Read: whole(ops.PausedActivities),
}

// Switches is the log of their pauses.
var Switches = List[All, view.SwitchRecord]{
	Line: "audit", Address: "GET /api/activities/switches", Name: "listSwitches", Field: "activities", Order: "oldest first", Short: "List which activities were paused and resumed, by whom and why, oldest first",
	Read: whole(ops.Switches),
}

// WorkflowStats are the workflows of the group.
var WorkflowStats = List[Workflows, view.WorkflowStats]{
	Line: "workflows", Address: "GET /api/workflows", Name: "listWorkflows", Field: "workflows", Order: "by name", Short: "List the workflows: who has them, and how their runs go",
	Long: `List the workflows of a group: those that a live node has registered, and those of runs,
also flow files. OPEN is how many runs are open, HELD how many of these wait for code or
are parked; of the open runs the newest ` + human.Count(view.MaxWorkflowRuns) + ` are counted. STARTED and what follows are about
what began or ended in the last day, or since --since, by whole hours; MEDIAN and 95% is
how long those took that completed or failed, to within a half, and LATEST HOUR that in
which the latest began.`,
	Example: `  perdure workflows
  perdure workflows --since 7d
  perdure workflows -o json`,
	None: "No workflow is known{group}: no node is there, and no run.",
	Read: func(ctx context.Context, e *perdure.Engine, q *Workflows, now time.Time) ([]view.WorkflowStats, error) {
		return ops.WorkflowStats(ctx, e, q.From(now))
	},
}

// ActivityStats is how calls went.
var ActivityStats = List[Span, view.ActivityStats]{
	Line: "stats activities", Address: "GET /api/ledger/activities", Name: "activityStats", Field: "activities", Order: "by workflow and name", Short: "Show how calls of each step ended, and what retries cost",
	Long: `Show, for each activity and step, how many calls there were and how they ended:
succeeded at the first try, recovered by retrying, exhausted, failed for another reason,
canceled, or by hand. MEDIAN and 95% are the times from when a call was scheduled to its
end, waiting included, which half of the calls and 95 of 100 did not exceed, to within a
half. RETRYING is the mean time from the end of the first attempt to the end of the call,
over calls that did not succeed at the first try.

Calls are counted in the hour in which they end, so --since and --until mean whole hours.
Up to 31 recent first-try successes of an open workflow may not be counted yet.`,
	Example: `  perdure stats activities
  perdure stats activities --since 24h -o json`,
	None: "No call has ended{group}.",
	Read: func(ctx context.Context, e *perdure.Engine, q *Span, _ time.Time) ([]view.ActivityStats, error) {
		if err := q.Check(); err != nil {
			return nil, err
		}
		return ops.ActivityStats(ctx, e, q.Since.At, q.Until.At)
	},
}

// HourStats is what began and ended.
var HourStats = List[Hours, view.HourStats]{
	Line: "stats hours", Address: "GET /api/ledger/hours", Name: "hourStats", Field: "hours", Order: "oldest first, also those in which nothing happened", Short: "Show what began and ended in each hour, of the last day by default",
	Long: `Show, for each hour of the last day or of another span, how many runs began, how many
ended and how, how many attempts the calls had that ended, and how long the runs took that
completed or failed: half of them and 95 of 100 took at most this, to within a half. With
--activity, the calls of an activity or step are counted instead of runs.`,
	Example: `  perdure stats hours
  perdure stats hours --type order --since 7d
  perdure stats hours --activity charge -o json`,
	Read: func(ctx context.Context, e *perdure.Engine, q *Hours, now time.Time) ([]view.HourStats, error) {
		filter, err := q.Filter(now)
		if err != nil {
			return nil, err
		}
		return ops.HourStats(ctx, e, filter)
	},
}

// ErrorStats are the errors with which attempts ended.
var ErrorStats = List[Attempts, view.ErrorStats]{
	Line: "stats errors", Address: "GET /api/ledger/errors", Name: "errorStats", Field: "errors", Order: "the most frequent first", Short: "Show which errors occur, how often, and whether calls recovered",
	Long: `Show the types of errors with which attempts ended, by activity or step, most frequent
first: how many attempts and calls, which share of these calls succeeded in the end, when
the error was seen first and last, and the latest message.`,
	Example: `  perdure stats errors --since 24h
  perdure stats errors --activity charge -o json`,
	None: "No errors match{group}.",
	Read: func(ctx context.Context, e *perdure.Engine, q *Attempts, _ time.Time) ([]view.ErrorStats, error) {
		filter, err := q.Filter()
		if err != nil {
			return nil, err
		}
		return ops.ErrorStats(ctx, e, filter)
	},
}
