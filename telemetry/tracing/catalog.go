package tracing

// Span says what a kind of span is.
type Span struct {
	Name  string // its first word; the name of what it is about follows
	Kind  string // of OpenTelemetry
	Below string // what its parent is
	// Attributes are those that it may have.
	Attributes []string
	Help       string
}

// Catalog returns all kinds of spans.
func Catalog() []Span {
	verb := []string{WorkflowID, RunID, Workflow, Call, Attempt, ErrorType}
	return []Span{
		{"perdure.start", "producer", "the caller's span", verb, "The start of a run, in the process of the caller. It is the trace parent of the run."},
		{"perdure.run", "consumer", "its trace parent: the start, or the run whose code started it", []string{WorkflowID, RunID, Workflow, Status, ErrorType},
			"A run, from its creation to its end."},
		{"perdure.call", "internal", "its run", []string{WorkflowID, RunID, Workflow, Call, Attempts, Status, ErrorType},
			"A call of an activity or a step, from scheduling to its end, backoff and waiting included. It is abandoned if it was open when its run ended."},
		{"perdure.attempt", "consumer", "its call", []string{WorkflowID, RunID, Workflow, Call, Attempt, Pending, Lost, ErrorType},
			"The body of an attempt. The context of the body carries it."},
		{"perdure.VERB", "client", "the caller's span", verb,
			"VERB is signal, query, update, cancel, terminate, result, operate, complete or schedule."},
	}
}
