package retry

import "slices"

// verdicts asks Decide about each error type that matters to the policy, and
// puts together those with the same answer.
func (p *Policy) verdicts() []Verdict {
	var all []Verdict
	for _, name := range p.mentioned() {
		v := p.verdict(Verdict{Types: []string{name}, Errors: name})
		same := func(w Verdict) bool {
			return w.Asked == v.Asked && w.Rule == v.Rule && w.Retried == v.Retried && w.Reason == v.Reason && w.Attempts == v.Attempts
		}
		if i := slices.IndexFunc(all, same); i >= 0 {
			all[i].Types = append(all[i].Types, name)
			all[i].Errors += ", " + name
			continue
		}
		all = append(all, v)
	}
	other := "any error"
	if len(all) > 0 {
		other = "any other error"
	}
	if p.Doubts() {
		all = append(all, p.judge(Verdict{Errors: "an error marked unknown"}, Failure{Unknown: true}))
		lost := p.judge(Verdict{Errors: "an attempt lost with its process"}, Failure{Types: []string{TypeWorkerLost}, Unknown: true})
		if !lost.Retried && !slices.Contains(p.mentioned(), TypeWorkerLost) { // else it is made again without a wait, and not charged
			all = append(all, lost)
		}
	}
	return append(all, p.verdict(Verdict{Errors: other}),
		p.judge(Verdict{Errors: "an error marked terminal"}, Failure{Terminal: true}),
		p.judge(Verdict{Errors: "a cancellation"}, Failure{Canceled: true}))
}

// verdict completes a verdict on errors of its types.
func (p *Policy) verdict(v Verdict) Verdict { return p.judge(v, v.failure()) }

// judge completes a verdict by asking Decide about its first failure.
func (p *Policy) judge(v Verdict, f Failure) Verdict {
	s := State{Attempt: 1, First: explainedAt}
	d, asked := p.settled(&s, f, explainedAt, 0)
	v.Asked, v.Retried, v.Reason, v.Rule, v.Attempts = asked, d.Retry, d.Reason, d.Rule, 1
	if !v.Retried {
		return v
	}
	v.Attempts = d.Max
	// The shortest wait may be none at all, and the usual one still be one.
	if usual := Decide(p, s, f, explainedAt, 0.5); usual.Retry {
		v.Reason = usual.Reason
	}
	return v
}

// mentioned are the error types that the policy names, in the order in which it
// names them, and the timeouts that it can cause.
func (p *Policy) mentioned() []string {
	var names []string
	add := func(more ...string) {
		for _, name := range more {
			if name != TypeCanceled && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	for i := range p.Rules {
		add(p.Rules[i].Types...)
	}
	add(p.Retryable...)
	add(p.NonRetryable...)
	for _, t := range timeouts {
		if *t.of(p) > 0 {
			add(t.kind.TypeName())
		}
	}
	return names
}
