package entity

import (
	"strconv"
	"strings"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/store"
)

// Kind is what an ID names. The zero value is Run.
type Kind int

// The kinds of entities.
const (
	Run      Kind = iota // a run of a workflow
	Gate                 // who may start attempts, and when
	Schedule             // starts runs over and over
	Book                 // which runs' code is tried, because processes died of it
)

// types are what stands in place of a workflow's name in the rows of standing
// entities.
var types = [...]string{Gate: "#gate", Schedule: "#schedule", Book: "#trials"}

// String returns the word for a kind in the singular.
func (k Kind) String() string { return [...]string{"run", "gate", "schedule", "book of trial"}[k] }

// Type is the type in the rows of gates or schedules; "" of runs, whose type is the
// name of their workflow.
func (k Kind) Type() string { return types[k] }

// prefix begins the workflow IDs and run IDs of a standing entity, which no user can
// choose (history.Reserved). It sorts before the IDs of runs.
func (k Kind) prefix() string { return types[k] + "/" }

// KindOf returns the kind of a workflow ID or run ID.
func KindOf(id string) Kind {
	if id == "" || id[0] != '#' { // as most
		return Run
	}
	for k := Gate; k <= Book; k++ {
		if strings.HasPrefix(id, k.prefix()) {
			return k
		}
	}
	return Run
}

// NameOf returns the name in the run ID of a gate or a schedule.
func NameOf(run string) string {
	_, name, _ := strings.Cut(strings.TrimPrefix(run, KindOf(run).prefix()), "/")
	return name
}

// Standing is where a gate or a schedule is: an entity that has a row like a run, of
// the status store.Standing, but no workflow.
type Standing struct {
	Kind       Kind
	Name       string
	Group      string // of nodes
	Partition  int
	WorkflowID string
	Run        string // names the partition: entities of one name in several groups differ
}

// Find returns where the gate or schedule of a name is.
func Find(g store.Group, kind Kind, name string) Standing {
	s := Standing{Kind: kind, Name: name, Group: g.Name, WorkflowID: kind.prefix() + name}
	s.Partition = Place(g, s.WorkflowID)
	s.Run = kind.prefix() + strconv.Itoa(s.Partition) + "/" + name
	return s
}

// Trials returns where the book of a partition is that says which runs' code is tried, or
// that of a ward under an epoch; 0 for the partition's own. Nothing is sent to it, and it
// is stepped by nothing.
func Trials(g store.Group, partition int, ward int64) Standing {
	name := strconv.Itoa(partition)
	if ward != 0 {
		name += "/" + strconv.FormatInt(ward, 10)
	}
	id := Book.prefix() + name
	return Standing{Kind: Book, Name: name, Group: g.Name, Partition: partition, WorkflowID: id, Run: id}
}

// Row returns the row of the entity as it is created at a time, in nanoseconds since
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
