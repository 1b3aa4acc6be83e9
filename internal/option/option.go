package option

import (
	"errors"
	"time"

	"github.com/perdure/perdure/internal/history"
)

// Settings are all settings of a start. Each verb uses those that apply to it.
type Settings struct {
	history.Settings
	Delay     time.Duration // before the code begins
	Trace     string        // trace parent
	NewAfter  int           // an ending: see perdure.Ending
	MustBeNew bool
	// ID is the workflow ID of a child, nil for the default.
	ID *string
	// OnParentClose is what happens to a child when its parent closes.
	OnParentClose string
	// Reuse says which closed run a child may follow.
	Reuse string
	// Fault is what is wrong with an option, or nil.
	Fault error
}

// ForStart is an option of a start by a client.
type ForStart interface{ start(*Settings) }

// ForChild is an option of an awaited child.
type ForChild interface{ child(*Settings) }

// ForDetached is an option of any run that another run starts.
type ForDetached interface {
	ForChild
	detached(*Settings)
}

// ForRun is an option of any run, however it is started.
type ForRun interface {
	ForStart
	ForDetached
	run(*Settings)
}

// Kinds of options.
type (
	Start    func(*Settings) // of a start by a client only
	Child    func(*Settings) // of an awaited child only
	Detached func(*Settings) // of a child
	Delayed  func(*Settings) // of a start by a client or a run
	Run      func(*Settings) // of any run
)

func (o Start) start(s *Settings)       { o(s) }
func (o Child) child(s *Settings)       { o(s) }
func (o Detached) child(s *Settings)    { o(s) }
func (o Detached) detached(s *Settings) { o(s) }
func (o Delayed) start(s *Settings)     { o(s) }
func (o Delayed) child(s *Settings)     { o(s) }
func (o Delayed) detached(s *Settings)  { o(s) }
func (o Run) start(s *Settings)         { o(s) }
func (o Run) child(s *Settings)         { o(s) }
func (o Run) detached(s *Settings)      { o(s) }
func (o Run) run(s *Settings)           { o(s) }

var errNil = errors.New("an option is nil; leave it out")

// OfStart returns the settings that the options of a start make.
func OfStart[O ForStart](options []O) (s Settings) {
	for _, o := range options {
		if any(o) == nil {
			s.Fault = errNil
			continue
		}
		o.start(&s)
	}
	return s
}

// OfChild applies the options of a child to its default settings.
func OfChild[O ForChild](s *Settings, options []O) {
	for _, o := range options {
		if any(o) == nil {
			s.Fault = errNil
			continue
		}
		o.child(s)
	}
}
