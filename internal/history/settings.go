package history

import (
	"fmt"
	"time"
)

// Settings are what whoever starts a chain of runs says of them, be it a client, a
// run or a schedule.
type Settings struct {
	Delay                    time.Duration // before the code begins
	RunTimeout, ChainTimeout time.Duration // 0: none
	Memo                     Payload
	Attributes               map[string]string
	Priority                 int
}

// MaxPriority is the greatest priority of a run; the least is -MaxPriority.
const MaxPriority = 1000

// Check refuses what no run could be started with.
func (s *Settings) Check() error {
	switch {
	case s.Delay < 0:
		return &InputError{What: "delay", Problem: fmt.Sprintf("is %s; it is zero or more", s.Delay)}
	case s.RunTimeout < 0:
		return &InputError{What: "run timeout", Problem: fmt.Sprintf("is %s; it is positive, or zero for none", s.RunTimeout)}
	case s.ChainTimeout < 0:
		return &InputError{What: "chain timeout", Problem: fmt.Sprintf("is %s; it is positive, or zero for none", s.ChainTimeout)}
	case s.ChainTimeout > 0 && s.RunTimeout > s.ChainTimeout:
		return &InputError{What: "run timeout", Problem: fmt.Sprintf("is %s, which is longer than the chain timeout, %s: it would have no effect", s.RunTimeout, s.ChainTimeout)}
	case s.Priority < -MaxPriority || s.Priority > MaxPriority:
		return &InputError{What: "priority", Problem: fmt.Sprintf("is %d; it is between %d and %d, and 0 is that of runs without one", s.Priority, -MaxPriority, MaxPriority)}
	case len(s.Memo.Data) > MaxMemo:
		return &InputError{What: "memo", Problem: fmt.Sprintf("is %d bytes long; the limit is %d", len(s.Memo.Data), MaxMemo)}
	}
	return CheckAttributes(s.Attributes)
}
