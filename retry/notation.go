package retry

import "log/slog"

// Parse reads a policy in text notation: a list of brackets, each for some errors or for
// the whole call.
//
//	[retry: 3, backoff: 60]                               any error: 3 retries, first after 60 s, then 120 s ...
//	[NetworkError -> retry: 5, backoff: 2m]               by type; other errors are not retried
//	[(ValueError, KeyError) -> retry: 3, backoff: 30s]    a list, with or without parentheses
//	[retry: 3, backoff: 60] [timeout: 2m]                 and at most two minutes an attempt
//
// A bracket that retries, perhaps for some error types only, has the keys
//
//	retry: N             N retries; retry: unlimited needs a within
//	backoff: D           wait D before the first retry, then twice as long each time
//	fixed: D             or always D
//	linear: D            or D longer each time
//	factor: 1.5          what a backoff grows by, instead of 2
//	max: D               the longest wait
//	jitter: 10%          the spread of waits: a share, none, full, equal or decorrelated
//
// One for error types may instead say stop: the first such error ends the call.
// Brackets without error types have the keys
//
//	timeout: D           how long one attempt may run
//	heartbeat: D         how long one attempt may be silent
//	queue: D             how long an attempt that is due may wait for its start
//	within: D            the time in which attempts may start; forever is no bound
//	on-timeout: retry    retry timeouts as other errors are
//	only: TYPES          retry these error types and those that brackets name
//	never: TYPES         never retry these
//	pause                when retries are used up, wait for a person
//	unknown: O           what follows an attempt that may have had its effect (lost, timed out,
//	                     or it says so): repeat, verify, pause or fail; with error types
//	                     only for these, and alone it leaves their retries as they are
//	max-retry-after: D   the longest wait that an error may ask for
//	crashes: N           attempts that may be lost with their worker
//
// docs/notation.md lists the defaults. Four things differ from Go, because a text is read
// by people who do not know Go's defaults:
//
//   - retry: N is N retries, MaxAttempts N+1.
//   - A bracket without a backoff retries immediately, and one without a jitter has
//     the default jitter: no bracket takes anything from another one.
//   - Without a bracket for all errors, what no bracket names is not retried.
//   - A timeout is retried only if a bracket names it (Timeout,
//     HeartbeatTimeout, QueueTimeout) or on-timeout says so.
//
// Bare numbers are seconds; the units are ns, us, ms, s, m, h and d, in sums
// such as 1h30m and decimals such as 1.5s, all exact. White space, line breaks
// and comments from # to the end of the line may stand between any two words.
//
// The error is a [*NotationError] that says where and what was expected. What
// Parse returns without one is valid (see [Policy.Validate]); [Policy.String]
// prints it. Parse takes time in proportion to the length of the text.
func Parse(text string) (Policy, error) { return parse(text, draft{}) }

// parse reads a text into a draft.
func parse(text string, d draft) (Policy, error) {
	s := scanner{text: text}
	for {
		s.space()
		if s.at == len(text) && d.brackets > 0 {
			if err := d.idle(&s); err != nil {
				return Policy{}, err
			}
			return d.finish(&s)
		}
		if err := d.bracket(&s); err != nil {
			return Policy{}, err
		}
	}
}

// ParseAt reads the brackets that begin at an offset of a larger text, for a
// language in which a policy stands at the end of a line. It continues as long as
// another bracket follows on the same line, and returns the offset behind the
// last one. Errors have the positions of the larger text. Unlike Parse it accepts a
// bound that says zero, such as [timeout: 0], which has no effect.
func ParseAt(text string, offset int) (p Policy, end int, err error) {
	s := scanner{text: text, at: min(max(offset, 0), len(text))}
	var d draft
	for {
		if err := d.bracket(&s); err != nil {
			return Policy{}, s.at, err
		}
		end = s.at
		s.blanks()
		if s.peek() != '[' {
			p, err = d.finish(&s)
			return p, end, err
		}
	}
}

// MarshalText writes the policy in text notation. It fails for what Validate
// refuses.
func (p Policy) MarshalText() ([]byte, error) {
	if err := p.validate(); err != nil {
		return nil, err
	}
	return []byte(p.String()), nil
}

// UnmarshalText is Parse.
func (p *Policy) UnmarshalText(text []byte) error {
	parsed, err := Parse(string(text))
	if err != nil {
		return err
	}
	*p = parsed
	return nil
}

// LogValue is the policy in text notation.
func (p Policy) LogValue() slog.Value { return slog.StringValue(p.String()) }
