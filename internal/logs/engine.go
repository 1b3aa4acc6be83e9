package logs

import "time"

// Run identifies a run in records.
type Run struct{ WorkflowID, ID, Workflow string }

func (r Run) with(values ...any) []any {
	return append([]any{r.WorkflowID, r.ID, r.Workflow}, values...)
}

// EngineStarted is written when Start has taken partitions.
func (l *Log) EngineStarted(node, group, database string, partitions int) {
	l.write(engineStarted, node, group, database, partitions)
}

// EngineDrains is written when Stop begins.
func (l *Log) EngineDrains(node string, running int) { l.write(engineDrains, node, running) }

// EngineStopped is written at the end of Stop.
func (l *Log) EngineStopped(node string) { l.write(engineStopped, node) }

// Recovered is written when all runs that were in flight at a takeover have taken a step.
func (l *Log) Recovered(runs, lost int) { l.write(recovered, runs, lost) }

// PartitionsGained is written when a running node takes partitions over.
func (l *Log) PartitionsGained(count int, node string) { l.write(partitionsIn, count, node) }

// PartitionsGiven is written when partitions were handed over.
func (l *Log) PartitionsGiven(partitions []int, node string) {
	l.write(partitionsOut, partitions, node)
}

// PartitionsKept is written when a handover failed.
func (l *Log) PartitionsKept(partitions []int, err error) { l.write(partitionsNot, partitions, err) }

// PartitionsLost is written when another node has taken over partitions of this node.
func (l *Log) PartitionsLost(partitions []int, node string) { l.write(partitionsOff, partitions, node) }

// Superseded is written when another process has taken the name of this node.
func (l *Log) Superseded(node string) { l.write(superseded, node) }

// RejoinFailed is written when a node that was presumed dead cannot join again yet.
func (l *Log) RejoinFailed(err error) { l.write(rejoinFailed, err) }

// Overwhelmed is written when the process must be restarted.
func (l *Log) Overwhelmed(count, limit int) { l.write(overwhelmed, count, limit) }

// ValueLoses is written at the start for a type of which JSON leaves fields out.
func (l *Log) ValueLoses(kind, name, of, typ, fields string) {
	l.write(valueLoses, kind, name, of, typ, fields)
}

// NameUnknown is written at the start for an error type in a policy that looks like a mistake.
func (l *Log) NameUnknown(kind, name, errorType, near string) {
	l.write(nameUnknown, kind, name, errorType, near)
}

// DatabaseAway is written at the beginning of an outage.
func (l *Log) DatabaseAway(while string, err error) { l.write(databaseAway, while, err) }

// DatabaseBack is written at the end of an outage.
func (l *Log) DatabaseBack(lasted time.Duration, after error) {
	l.write(databaseBack, lasted.Round(time.Millisecond), after)
}

// ListenFailed is written when the database stops sending notifications.
func (l *Log) ListenFailed(err error) { l.write(listenFailed, err) }

// CommitBlocked is written when a transaction of another client blocks a turn.
func (l *Log) CommitBlocked(run string, waited time.Duration) { l.write(commitBlocked, run, waited) }

// Swept is written after a sweep that deleted something.
func (l *Log) Swept(runs int) { l.write(swept, runs) }

// SweepFailed is written after a sweep that failed.
func (l *Log) SweepFailed(err error) { l.write(sweepFailed, err) }

// KeptForever is written when no retention is set and there are many closed runs.
func (l *Log) KeptForever(runs int) { l.write(keptForever, runs) }

// CodeTried is written when turns of a partition begin to run under a durable mark.
func (l *Log) CodeTried(partition, suspects int) { l.write(codeTried, partition, suspects) }

// TrialFailed is written when the marks cannot be read or written.
func (l *Log) TrialFailed(partition int, err error) { l.write(trialFailed, partition, err) }
