package seal

import (
	"time"

	"github.com/perdure/perdure/internal/history"
)

// StartSettings are all settings of a start. Each verb uses those that apply to it.
//
// Most apply wherever a run is started: by a client, by another run or by a schedule. Some
// apply in fewer places: a schedule has no use for a delay, and a detached run has no parent
// that closes. Each kind of option is a type here, and each verb takes an interface that only
// the applicable kinds implement. An option that would have no effect therefore does not
// compile.
type StartSettings struct {
	history.Settings
	Delay     time.Duration // before the code begins
	Trace     string        // trace parent
	NewAfter  int           // an ending: see perdure.Ending
	MustBeNew bool
	AnyInput  bool
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
type ForStart interface{ start(*StartSettings) }

// ForChild is an option of an awaited child.
type ForChild interface{ child(*StartSettings) }

// ForDetached is an option of any run that another run starts.
type ForDetached interface {
	ForChild
	detached(*StartSettings)
}

// ForRun is an option of any run, however it is started.
type ForRun interface {
	ForStart
	ForDetached
	run(*StartSettings)
}

// Kinds of options.
type (
	SetStart    func(*StartSettings) // of a start by a client only
	SetChild    func(*StartSettings) // of an awaited child only
	SetDetached func(*StartSettings) // of a child
	SetDelayed  func(*StartSettings) // of a start by a client or a run
	SetRun      func(*StartSettings) // of any run
)

func (o SetStart) start(s *StartSettings)       { o(s) }
func (o SetChild) child(s *StartSettings)       { o(s) }
func (o SetDetached) child(s *StartSettings)    { o(s) }
func (o SetDetached) detached(s *StartSettings) { o(s) }
func (o SetDelayed) start(s *StartSettings)     { o(s) }
func (o SetDelayed) child(s *StartSettings)     { o(s) }
func (o SetDelayed) detached(s *StartSettings)  { o(s) }
func (o SetRun) start(s *StartSettings)         { o(s) }
func (o SetRun) child(s *StartSettings)         { o(s) }
func (o SetRun) detached(s *StartSettings)      { o(s) }
func (o SetRun) run(s *StartSettings)           { o(s) }

// StartSettingsOf returns the settings that the options of a start make.
func StartSettingsOf[O ForStart](options []O) (s StartSettings) {
	apply(&s, options, O.start)
	return s
}

// ApplyToChild applies the options of a child to its default settings.
func ApplyToChild[O ForChild](s *StartSettings, options []O) { apply(s, options, O.child) }

func apply[O any](s *StartSettings, options []O, set func(O, *StartSettings)) {
	for _, o := range options {
		if any(o) == nil {
			s.Fault = errNil
			continue
		}
		set(o, s)
	}
}
