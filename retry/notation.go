package retry

import "log/slog"

// Parse reads a policy in text notation: brackets, each for some errors or for
// the whole call.
//
//	[retry: 3, backoff: 60]                               any error: 3 retries, first after 60 s, then 120 s ...
//	[NetworkError -> retry: 5, backoff: 2m]               by type; other errors are not retried
//	[(ValueError, KeyError) -> retry: 3, backoff: 30s]    a list, with or without parentheses
//	[retry: 3, backoff: 60] [timeout: 2m]                 and at most two minutes an attempt
//
// What the keys are, what they mean and what holds without them is in
// [NotationKeys]. Four things differ from Go, because a text is read by people
// who do not know Go's defaults:
//
//   - retry: N is N retries, MaxAttempts N+1.
//   - A bracket without a backoff retries at once, and one without a jitter has
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
func Parse(text string) (Policy, error) {
	s := scanner{text: text}
	var d draft
	for {
		s.space()
		if s.at == len(text) && d.brackets > 0 {
			return d.finish(&s)
		}
		if err := d.bracket(&s); err != nil {
			return Policy{}, err
		}
	}
}

// ParseAt reads the brackets that begin at an offset of a larger text, for a
// language in which a policy stands at the end of a line. It goes on as long as
// another bracket follows on the same line, and returns the offset behind the
// last one. Errors have the positions of the larger text.
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
