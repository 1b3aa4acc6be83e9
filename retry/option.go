package retry

import "context"

// Option is an option of one call that is not part of its policy. Make one with the
// functions whose names begin with With, with Verify, SettleAfter and VerifyRetry, or with
// gate.Through. It is a struct and not a function so that passing options allocates nothing.
type Option struct {
	kind optionKind // which field of the config it sets
	config
}

type optionKind uint8

const (
	optionName optionKind = iota + 1
	optionTrace
	optionDerive
	optionSink
	optionRecords
	optionRandom
	optionGates
	optionVerify
	optionSettle
	optionVerifyRetry
	optionFound
)

// WithName sets the name of the call in the errors that Do returns.
func WithName(name string) Option { return Option{optionName, config{name: name}} }

// WithTrace sets the trace ID of the call, for correlation with its caller. Two calls
// must not share one, because attempt IDs are made from it. Without this option, or with
// an empty ID, a random one is used.
func WithTrace(id string) Option { return Option{optionTrace, config{trace: id}} }

// WithDerive adds values to the context of each attempt. f gets a fresh child of
// the caller's context, which carries the attempt's info, and returns that
// context or a descendant of it. An error or a panic of f ends the call with a
// *ConfigError and is not retried. Before a question (see Verify) it is the error of that
// question, so that an attempt that may have had its effect is not forgotten.
func WithDerive(f func(context.Context, AttemptInfo) (context.Context, error)) Option {
	return Option{optionDerive, config{derive: f}}
}

// WithSink calls f with the record of each attempt after the decision and before the wait
// for the next one, on the goroutine of the call. A panic of f is not an outcome of the
// attempt: it reaches the caller of Do.
func WithSink(f func(Record)) Option { return Option{optionSink, config{sink: f}} }

// WithRecords appends the records of the attempts to *into, for success as for failure:
// all of them up to 20, otherwise the first and the last ten. Read it after Do has
// returned.
func WithRecords(into *[]Record) Option { return Option{optionRecords, config{records: into}} }

// WithRandom replaces the random source for jitter. f returns a number in [0, 1); Do
// calls it once for each failure.
func WithRandom(f func() float64) Option { return Option{optionRandom, config{random: f}} }

// config is what the options of a call add up to; of two of a kind the later
// one holds.
type config struct {
	name    string
	trace   string
	traced  bool
	derive  func(context.Context, AttemptInfo) (context.Context, error)
	sink    func(Record)
	records *[]Record
	random  func() float64

	gates      func() (Gates, error)
	gatesTwice bool

	verification verification
	found        func(result any) error // takes what a question found
}

// configure adds up options.
func configure(opts []Option) (c config) {
	for i := range opts {
		switch o := &opts[i]; o.kind {
		case optionName:
			c.name = o.name
		case optionTrace:
			c.trace, c.traced = o.trace, true
		case optionDerive:
			c.derive = o.derive
		case optionSink:
			c.sink = o.sink
		case optionRecords:
			c.records = o.records
		case optionRandom:
			c.random = o.random
		case optionGates:
			c.gates, c.gatesTwice = o.gates, c.gatesTwice || c.gates != nil
		case optionVerify:
			c.verification.ask = o.verification.ask
		case optionSettle:
			c.verification.settle = o.verification.settle
		case optionVerifyRetry:
			c.verification.retry = o.verification.retry
		case optionFound:
			c.found = o.found
		}
	}
	return c
}

// recorded reports whether the caller wants the records of the attempts.
func (c *config) recorded() bool { return c.sink != nil || c.records != nil }
