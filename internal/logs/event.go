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
	engineStarted = event("engine_started", slog.LevelInfo, "the engine has started and serves runs", "node", "group", "database", "partitions")
	engineDrains  = event("engine_drains", slog.LevelInfo, "the engine is stopping: it starts nothing new and waits for running attempts", "node", "running")
	engineStopped = event("engine_stopped", slog.LevelInfo, "the engine has stopped", "node")
	recovered     = event("recovered", slog.LevelInfo, "runs with work in flight were recovered", "runs", "attempts_lost")
	partitionsIn  = event("partitions_gained", slog.LevelInfo, "partitions were taken over", "count", "node")
	partitionsOut = event("partitions_given", slog.LevelInfo, "partitions were handed over", "partitions", "node")
	partitionsNot = event("partitions_kept", slog.LevelWarn, "partitions could not be handed over", "partitions", "error")
	partitionsOff = event("partitions_lost", slog.LevelError, "another node took over partitions of this node; their runs are dropped here, their running attempts canceled", "partitions", "node")
	superseded    = event("superseded", slog.LevelError, "another process has joined under the name of this node, so this process stops working; give each process its own perdure.NodeName", "node")
	rejoinFailed  = event("rejoin_failed", slog.LevelWarn, "the node could not rejoin its group", "error")
	overwhelmed   = event("overwhelmed", slog.LevelError, "too many turns of workflow code never ended; the engine starts nothing new and hands its work over; restart the process", "count", "limit")
)

// The database.
var (
	databaseAway  = event("database_away", slog.LevelError, "the database does not answer, or refuses what the engine needs; the engine waits and continues by itself", "while", "error")
	databaseBack  = event("database_back", slog.LevelInfo, "the database answers again", "lasted", "after")
	listenFailed  = event("listen_failed", slog.LevelWarn, "listening for notifications failed; messages are still found, but later", "error")
	commitBlocked = event("commit_blocked", slog.LevelWarn, "a run waits for an open transaction of another client that used its workflow ID; commit or end that transaction", "run_id", "waited")
	swept         = event("swept", slog.LevelInfo, "closed runs past their retention were deleted", "runs")
	sweepFailed   = event("sweep_failed", slog.LevelWarn, "deleting closed runs failed; it is tried again", "error")
	keptForever   = event("kept_forever", slog.LevelWarn, "closed runs are kept forever, and the database grows; set a retention with perdure.Retain, or delete runs with perdure gc", "closed_runs")
	codeTried     = event("code_tried", slog.LevelWarn, "the last processes that served a partition died; its runs execute in small groups until it is clear whether the code of one is the cause", "partition", "suspects")
	trialFailed   = event("trial_failed", slog.LevelError, "the record of runs suspected of crashing the process cannot be read or written; the search for them starts over", "partition", "error")
)

// Code.
var (
	valueLoses  = event("value_loses", slog.LevelWarn, "values of a registered type lose fields, which are not in JSON: they are empty when they come back; export them, or give the type its own MarshalJSON and UnmarshalJSON", "kind", "name", "of", "type", "fields")
	nameUnknown = event("error_type_unknown", slog.LevelWarn, "a policy names an error type that no error has yet, and that is written almost like another; correct it, or register it with retry.RegisterError or retry.RegisterErrorType", "kind", "name", "error_type", "near")
)

// Attempts and calls.
var (
	callRetries   = event("call_retries", slog.LevelInfo, "a call failed and is retried; written for its first failure, and for the second, fourth, eighth and so on; type: perdure show ID", "workflow_id", "run_id", "workflow", "call", "activity", "attempt", "outcome", "reason", "delay", "error_type", "error")
	attemptFailed = event("attempt_failed", slog.LevelDebug, "an attempt failed and is retried", "workflow_id", "run_id", "workflow", "call", "activity", "attempt", "outcome", "reason", "delay", "error_type", "error")
	callGaveUp    = event("call_gave_up", slog.LevelWarn, "a call failed and is not retried", "workflow_id", "run_id", "workflow", "call", "activity", "attempt", "outcome", "reason", "error_type", "error")
	callPaused    = event("call_paused", slog.LevelWarn, "a call waits for a person; type: perdure status", "workflow_id", "run_id", "workflow", "call", "activity", "attempt", "reason", "error_type", "error")
	inDoubt       = event("call_in_doubt", slog.LevelError, "a call is in doubt because an attempt may have had its effect and nobody could say; a person decides; type: perdure status", "workflow_id", "run_id", "workflow", "call", "activity", "attempt", "reason", "error_type", "error")
	quarantined   = event("call_quarantined", slog.LevelError, "a call is quarantined because it crashed its process repeatedly; type: perdure status", "workflow_id", "run_id", "workflow", "call", "activity", "attempt", "reason", "error_type", "error")
	activityHeld  = event("activity_held", slog.LevelError, "calls of an activity end their process one after the other: no call of it is tried on this build; type: perdure resume --activity NAME", "activity", "build", "deaths")
	workflowHeld  = event("workflow_held", slog.LevelError, "the code of a workflow ends its process with one run after the other: no run of it is tried on this build; type: perdure resume-run ID", "workflow", "build", "deaths")
	unserved      = event("activity_missing", slog.LevelError, "an activity is called that is not registered here; its calls wait until a process with it starts: pass it to perdure.Register", "activity")
	refused       = event("activity_refused", slog.LevelWarn, "a call may not run in this process; it waits for one in which it may", "workflow_id", "activity", "reason")
	observerFails = event("observer_panicked", slog.LevelError, "the code that records metrics or spans panicked; nothing else is affected, but some metrics or spans are missing", "run_id", "panic", "stack")
	asidePanicked = event("handler_panicked", slog.LevelError, "a query handler or a validator of an update panicked; its caller got the error without the stack", "workflow_id", "run_id", "workflow", "handler", "panic", "stack")
	hookPanicked  = event("hook_panicked", slog.LevelError, "the callback of perdure.OnPaused panicked", "workflow_id", "call", "panic", "stack")
)

// Runs.
var (
	runFailed    = event("run_failed", slog.LevelWarn, "a run failed", "workflow_id", "run_id", "workflow", "error_type", "error")
	runHeld      = event("run_held", slog.LevelError, "a run is held; type: perdure show ID", "workflow_id", "run_id", "workflow", "status", "reason", "stack")
	runMoved     = event("run_moved", slog.LevelInfo, "a run moves to another node that has code for it", "workflow_id", "run_id", "workflow", "to", "reason")
	runGoesOn    = event("run_goes_on", slog.LevelInfo, "a held run continues", "workflow_id", "run_id", "workflow", "was")
	runParked    = event("run_parked", slog.LevelError, "a run cannot be loaded or committed and is parked; type: perdure show ID", "run_id", "error")
	parkFailed   = event("park_failed", slog.LevelError, "a run could not be parked", "run_id", "error")
	turnRefused  = event("turn_refused", slog.LevelError, "a turn was refused because another turn has its number; the run is reloaded", "run_id", "turn")
	historyLong  = event("history_long", slog.LevelWarn, "the history of a run is long; the run fails at the limit unless it continues as new", "workflow_id", "run_id", "workflow", "events", "limit")
	backlogLong  = event("backlog_long", slog.LevelWarn, "a run has many unread signals; at the limit it takes only those that it waits for, until its code has read some", "workflow_id", "run_id", "workflow", "unread", "limit")
	inputsLate   = event("inputs_late", slog.LevelDebug, "late or repeated inputs were dropped", "run_id", "count")
	resultLate   = event("result_refused", slog.LevelWarn, "a result came too late and was discarded; the attempt is recorded as lost, timed out or ended with its call", "run_id", "call", "attempt")
	taskUnread   = event("attempt_unreadable", slog.LevelError, "a queued attempt cannot be read by this process and is given back; until retry_in has passed, attempts of its activity are left to other processes", "activity", "retry_in", "error")
	messageKept  = event("message_unreadable", slog.LevelError, "a message cannot be delivered and stays in the inbox", "error")
	messageGone  = event("message_dropped", slog.LevelWarn, "a message was dropped because no workflow has its ID", "workflow_id", "kind", "key")
	queryBroken  = event("query_unreadable", slog.LevelError, "a query cannot be read", "error")
	answerFailed = event("answer_failed", slog.LevelError, "the reply to a query cannot be sent", "error")
	childLeft    = event("child_not_started", slog.LevelError, "a child workflow cannot be started; its message stays in the inbox", "workflow_id", "run_id", "error")
	parentTaken  = event("parent_not_told", slog.LevelError, "the parent of a child workflow cannot be notified", "run_id", "error")
)

// Gates and schedules.
var (
	breakerOpened = event("breaker_opened", slog.LevelWarn, "the circuit breaker of a gate has opened, or that of a run key; attempts wait or are refused", "gate", "key", "until", "failures")
	breakerClosed = event("breaker_closed", slog.LevelInfo, "the circuit breaker of a gate has closed, or that of a run key", "gate", "key")
	gatePaused    = event("gate_paused", slog.LevelWarn, "a gate is paused", "gate", "by", "reason")
	gateResumed   = event("gate_resumed", slog.LevelInfo, "a gate is resumed", "gate")
	gateEdited    = event("gate_edited", slog.LevelWarn, "a gate was edited, or an edit was removed", "gate", "by", "reason", "change")
	breakerProbed = event("breaker_probed", slog.LevelInfo, "an attempt was let through an open circuit breaker as a probe", "gate", "by", "reason")
	gateConflict  = event("gate_conflict", slog.LevelWarn, "calls declare a gate differently; the latest declaration is used. This is normal while a new version is rolled out, and logged once", "gate", "before", "now")
	entityStuck   = event("entity_stuck", slog.LevelError, "a gate or schedule cannot be read or written; it is tried again later", "kind", "name", "error")
	entityFault   = event("entity_fault", slog.LevelError, "a gate or schedule received a message that it cannot carry out", "kind", "name", "error")
)

// more counts the suppressed records of an event. It has the level of that event.
var more = event("more", slog.LevelInfo, "further records of an event were suppressed", "of", "count")
