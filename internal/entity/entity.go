package entity

import (
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/store"
)

// Kind is what kind of entity an ID names. The zero value is Run.
type Kind int

// The kinds of entities.
const (
	Run      Kind = iota // a run of a workflow
	Gate                 // decides when attempts may start
	Schedule             // starts runs at its times
	Book                 // lists runs whose code is tried, because processes died of it
)

// types are the types in the rows of standing entities, in place of a workflow's name.
var types = [...]string{Gate: "#gate", Schedule: "#schedule", Book: "#trials"}

// String returns the name of a kind in the singular.
func (k Kind) String() string { return [...]string{"run", "gate", "schedule", "book of trial"}[k] }

// Type returns the type in the rows of standing entities; "" for runs, whose type is the name
// of their workflow.
func (k Kind) Type() string { return types[k] }

// prefix returns the beginning of the workflow IDs and run IDs of a standing entity. No user
// can choose it (history.Reserved). It sorts before the IDs of runs.
func (k Kind) prefix() string { return types[k] + "/" }

// KindOf returns the kind of a workflow ID or run ID.
func KindOf(id string) Kind {
	if id == "" || id[0] != '#' { // the usual case
		return Run
	}
	for k := Gate; k <= Book; k++ {
		if strings.HasPrefix(id, k.prefix()) {
			return k
		}
	}
	return Run
}

// NameOf returns the name of the gate or schedule with a run ID.
func NameOf(run string) string {
	_, name, _ := strings.Cut(strings.TrimPrefix(run, KindOf(run).prefix()), "/")
	return name
}

// Standing is the address of a standing entity: it has a row like a run, with the status
// store.Standing, but no workflow.
type Standing struct {
	Kind       Kind
	Name       string
	Group      string // of nodes
	Partition  int
	WorkflowID string
	Run        string // includes a number of the group, so entities of one name in several groups differ
}

// Find returns the address of a gate or schedule.
func Find(g store.Group, kind Kind, name string) Standing {
	s := Standing{Kind: kind, Name: name, Group: g.Name, WorkflowID: kind.prefix() + name}
	s.Partition = Place(g, s.WorkflowID)
	s.Run = kind.prefix() + numberOf(g.Name) + "/" + name
	return s
}

// numberOf returns a number for a group: 0 for the one without a name, else a hash. It does
// not depend on the partitions, because a copy of the database may have others.
func numberOf(group string) string {
	if group == "" {
		return "0"
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(group))
	return strconv.FormatUint(h.Sum64(), 10)
}

// Trials returns the address of the book of a partition that lists the runs whose code is
// tried. Ward is the epoch of a ward, or 0 for the partition itself. A book gets no messages
// and takes no turns of its own.
func Trials(g store.Group, partition int, ward int64) Standing {
	name := strconv.Itoa(partition)
	if ward != 0 {
		name += "/" + strconv.FormatInt(ward, 10)
	}
	id := Book.prefix() + name
	return Standing{Kind: Book, Name: name, Group: g.Name, Partition: partition, WorkflowID: id, Run: id}
}

// Row returns the row of a new entity. Now is the time of its creation, in nanoseconds since
// 1970.
func (s Standing) Row(now int64) (store.Run, error) {
	start, err := history.SealStart(history.Start{
		WorkflowID: s.WorkflowID, Run: s.Run, Type: s.Kind.Type(), Group: s.Group, Chain: s.Run, Attempt: 1, Created: now,
	})
	return store.Run{
		Partition: s.Partition, ID: s.Run, WorkflowID: s.WorkflowID, Type: s.Kind.Type(), Group: s.Group,
		Chain: s.Run, Attempt: 1, Start: start, Created: now,
	}, err
}
