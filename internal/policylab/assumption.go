package policylab

import "github.com/perdure/perdure/view"

// assumptions returns sentences about the assumptions behind the numbers, as far as any
// were needed.
func (l *Lab) assumptions(t *view.PolicyTrial) []string {
	assumed := 0
	for _, c := range t.Classes {
		assumed += c.Assumed
	}
	all := []string{}
	say := func(needed bool, text string) {
		if needed {
			all = append(all, text)
		}
	}
	say(assumed > 0, "An attempt at another time than on record ends as the recorded attempt of its call that is nearest in time, and takes as long. What had recovered stays recovered.")
	say(t.Trial.Unknown > 0, "What an attempt after the last one on record would have come to is unknown. That one stands for half the interval before it.")
	say(t.Estimate != nil, "The estimate takes it that such attempts succeed as often as those on record that followed the same type of error. Calls that gave up may be worse off than that.")
	say(l.lost, "Attempts lost in a crash or given back by a shutdown are not charged, and would have been lost again.")
	say(l.gaps, "Of a call with more than 1,100 attempts not all are on record; those in between failed as the one before them did.")
	say(l.longer, "An attempt that timed out on record would have run into the timeout of the policy as well.")
	say(l.shorter, "An attempt that ran longer than the timeout of the policy would have been cut there. Successes at the first attempt are not looked at.")
	say(l.policy.HeartbeatTimeout != 0 || l.policy.QueueTimeout != 0, "Heartbeats and queues are as on record: heartbeat_timeout and queue_timeout of the policy change nothing here.")
	say(t.Trial.Unfinished > 0 || t.Recorded.Unfinished > 0, "An unfinished call still waits for its next attempt, or a person or the end of its run ended it: the ledger does not say which.")
	return all
}
