package logs

import "log/slog"

// Event is a kind of record.
type Event struct {
	Name    string // value of the key "event"
	Level   slog.Level
	Keys    []string // besides "event"
	Message string   // without "perdure: "
}

// events holds all events, in the order of the documentation.
var events []*Event

func event(name string, level slog.Level, message string, keys ...string) *Event {
	e := &Event{Name: name, Level: level, Keys: keys, Message: message}
	events = append(events, e)
	return e
}

// Events returns all events. The caller must not change them.
func Events() []*Event { return events }

// Life of the engine, and its place among nodes.
var (
	engineStarted = event("engine_started", slog.LevelInfo, "the engine serves", "node", "group", "database", "partitions")
	engineDrains  = event("engine_drains", slog.LevelInfo, "the engine stops: nothing new starts, attempts that run may end", "node", "running")
	engineStopped = event("engine_stopped", slog.LevelInfo, "the engine has stopped", "node")
	recovered     = event("recovered", slog.LevelInfo, "runs with work in flight were taken up", "runs", "attempts_lost")
	partitionsIn  = event("partitions_gained", slog.LevelInfo, "partitions are taken over", "count", "node")
	partitionsOut = event("partitions_given", slog.LevelInfo, "partitions are handed over", "partitions", "node")
	partitionsNot = event("partitions_kept", slog.LevelWarn, "partitions could not be handed over", "partitions", "error")
	partitionsOff = event("partitions_lost", slog.LevelError, "another node took partitions over; what ran of them here is asked to end", "partitions", "node")
	superseded    = event("superseded", slog.LevelError, "another process has joined under the name of this node; this one does no more work", "node")
	rejoinFailed  = event("rejoin_failed", slog.LevelWarn, "the node could not join again", "error")
	overwhelmed   = event("overwhelmed", slog.LevelError, "too many turns of workflow code never ended; the engine starts nothing new and gives its work to others; restart its process", "count", "limit")
)

// The database.
var (
	databaseAway  = event("database_away", slog.LevelError, "the database does not answer; the engine waits for it and goes on by itself", "while", "error")
	databaseBack  = event("database_back", slog.LevelInfo, "the database answers again", "after")
	listenFailed  = event("listen_failed", slog.LevelWarn, "listening for messages failed; they are still found, but later", "error")
	commitBlocked = event("commit_blocked", slog.LevelWarn, "a run waits for an open transaction of another client, in which its workflow ID was taken or sent a message", "run_id", "waited")
	swept         = event("swept", slog.LevelInfo, "runs that were over for long enough were removed", "runs")
	sweepFailed   = event("sweep_failed", slog.LevelWarn, "what is over was not removed; that is tried again", "error")
	keptForever   = event("kept_forever", slog.LevelWarn, "closed runs are kept for ever and the database grows; say how long they are kept with perdure.Retain, or delete some with perdure gc", "closed_runs")
	codeTried     = event("code_tried", slog.LevelWarn, "the processes that served a partition died one after the other; the code of its runs is tried in groups until it is known whether one of them is the cause", "partition", "suspects")
	trialFailed   = event("trial_failed", slog.LevelError, "which run's code is tried cannot be written or read; suspects are found out afresh", "partition", "error")
)

// Attempts and calls.
var (
	attemptFailed = event("attempt_failed", slog.LevelDebug, "an attempt failed and is retried", "workflow_id", "run_id", "workflow", "call", "activity", "attempt", "outcome", "reason", "delay", "error_type", "error")
	callGaveUp    = event("call_gave_up", slog.LevelWarn, "a call failed for good", "workflow_id", "run_id", "workflow", "call", "activity", "attempt", "outcome", "reason", "error_type", "error")
	callPaused    = event("call_paused", slog.LevelWarn, "a call waits for a person; type: perdure status", "workflow_id", "run_id", "workflow", "call", "activity", "attempt", "reason", "error_type", "error")
	quarantined   = event("call_quarantined", slog.LevelError, "a call is quarantined, because the process died each time it ran; type: perdure status", "workflow_id", "run_id", "workflow", "call", "activity", "attempt", "reason", "error_type", "error")
	unserved      = event("activity_missing", slog.LevelError, "an activity is called but not registered with this engine; its calls wait in the queue until an engine starts that has it", "activity")
	observerFails = event("observer_panicked", slog.LevelError, "what makes metrics or spans of turns panicked; the turn is durable, and some of them are missing", "run_id", "panic", "stack")
	hookPanicked  = event("hook_panicked", slog.LevelError, "the function of OnPaused panicked", "workflow_id", "call", "panic", "stack")
)

// Runs.
var (
	runFailed    = event("run_failed", slog.LevelWarn, "a run failed", "workflow_id", "run_id", "workflow", "error_type", "error")
	runHeld      = event("run_held", slog.LevelError, "a run is held", "workflow_id", "run_id", "workflow", "status", "reason")
	runMoved     = event("run_moved", slog.LevelInfo, "a run goes on at another node, because of its code", "workflow_id", "run_id", "workflow", "to", "reason")
	runGoesOn    = event("run_goes_on", slog.LevelInfo, "a run goes on, its code fits again", "workflow_id", "run_id", "workflow", "was")
	runParked    = event("run_parked", slog.LevelError, "a run cannot go on and is parked", "run_id", "error")
	parkFailed   = event("park_failed", slog.LevelError, "a run could not even be parked", "run_id", "error")
	turnRefused  = event("turn_refused", slog.LevelError, "a turn was refused because another one took its place; the run is loaded again", "run_id", "turn")
	historyLong  = event("history_long", slog.LevelWarn, "the history of a run grows long; it fails at the limit unless it continues as new", "workflow_id", "run_id", "workflow", "events", "limit")
	backlogLong  = event("backlog_long", slog.LevelWarn, "a run leaves signals unread; at the limit it is sent no more until its code has read some", "workflow_id", "run_id", "workflow", "unread", "limit")
	inputsLate   = event("inputs_late", slog.LevelDebug, "late or repeated inputs were dropped", "run_id", "count")
	resultLate   = event("result_refused", slog.LevelWarn, "a result came after the owner of its run had given the attempt up, and counts for nothing; the attempt is on record as lost, timed out or ended with its call", "run_id", "call", "attempt")
	taskUnread   = event("attempt_unreadable", slog.LevelError, "an attempt in a queue cannot be read here and is given back; those of its activity are left to other processes for a while", "activity", "retry_in", "error")
	messageKept  = event("message_unreadable", slog.LevelError, "a message is left in the inbox", "error")
	messageGone  = event("message_dropped", slog.LevelWarn, "a message is dropped, because there is no such workflow", "workflow_id", "kind", "key")
	queryBroken  = event("query_unreadable", slog.LevelError, "a query cannot be read", "error")
	answerFailed = event("answer_failed", slog.LevelError, "the answer to a query cannot be sent", "error")
	childLeft    = event("child_not_started", slog.LevelError, "a run that another one starts cannot begin; the message is left in the inbox", "workflow_id", "run_id", "error")
	parentTaken  = event("parent_not_told", slog.LevelError, "the parent of a run cannot be told of it", "run_id", "error")
)

// Gates and schedules.
var (
	breakerOpened = event("breaker_opened", slog.LevelWarn, "the circuit breaker of a gate has opened; attempts wait or are refused", "gate", "until", "failures")
	breakerClosed = event("breaker_closed", slog.LevelInfo, "the circuit breaker of a gate has closed", "gate")
	gatePaused    = event("gate_paused", slog.LevelWarn, "a gate is paused", "gate", "by", "reason")
	gateResumed   = event("gate_resumed", slog.LevelInfo, "a gate is resumed", "gate")
	gateEdited    = event("gate_edited", slog.LevelWarn, "a gate was made to do something else than what the code declares, or that was taken back", "gate", "by", "reason", "change")
	breakerProbed = event("breaker_probed", slog.LevelInfo, "an attempt was let pass an open circuit breaker as its probe", "gate", "by", "reason")
	gateConflict  = event("gate_conflict", slog.LevelWarn, "calls say different things about a gate; the latest is right. This is said once, and harmless while a new version is rolled out", "gate", "before", "now")
	entityStuck   = event("entity_stuck", slog.LevelError, "a gate or schedule cannot go on; it is tried again later", "kind", "name", "error")
	entityFault   = event("entity_fault", slog.LevelError, "a gate or schedule was told something that it cannot do", "kind", "name", "error")
)

// more counts the suppressed records of an event. It has the level of that event.
var more = event("more", slog.LevelInfo, "further records of an event were left out", "of", "count")
