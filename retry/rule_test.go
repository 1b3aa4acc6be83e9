package retry_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/retry"
)

var (
	errTornCard  = errors.New("torn card: 2 pieces")
	errBusyBank  = errors.New("the bank is busy")
	errUnspoken  = errors.New("...")
	errSaidTwice = errors.New("torn card, 2 pieces")
)

type slowDown struct{ After int }

func (*slowDown) Error() string { return "slow down" }

type selfNamed struct{}

func (selfNamed) Error() string     { return "x" }
func (selfNamed) ErrorType() string { return "Self" }

// TestR24_RulesByValue hold the names of what they match: sentinels and types, registered if
// they were not, also wrapped.
func TestR24_RulesByValue(t *testing.T) {
	policy := retry.Policy{MaxAttempts: 3, Backoff: retry.Fixed(time.Second), Jitter: retry.NoJitter, Rules: []retry.Rule{
		retry.On(errTornCard, context.DeadlineExceeded).Stop(),
		retry.OnType[*slowDown]().Or(retry.On(errBusyBank)).Attempts(20).WithBackoff(retry.Fixed(time.Minute)),
		retry.OnType[*net.OpError]().Backoff(retry.Fixed(time.Hour)),
	}}
	if err := policy.Validate(); err != nil {
		t.Fatal(err)
	}
	want := "[retry: 2, fixed: 1s, jitter: none] [(TornCard2Pieces, DeadlineExceeded) -> stop] [(retry_test.slowDown, TheBankIsBusy) -> retry: 19, fixed: 1m, jitter: none]"
	if got := policy.String(); !strings.HasPrefix(got, want) {
		t.Errorf("the policy is\n%s, want\n%s", got, want)
	}
	for _, c := range []struct {
		err   error
		delay time.Duration // 0: no retry
	}{
		{fmt.Errorf("charge: %w", errTornCard), 0}, {&slowDown{}, time.Minute}, {errBusyBank, time.Minute},
		{errors.Join(errors.New("x"), &slowDown{}), time.Minute}, {errors.New("the bank is busy"), time.Second},
	} {
		d := retry.Decide(&policy, retry.State{Attempt: 1, First: time.Unix(0, 0)}, retry.Classify(c.err), time.Unix(1, 0), 0)
		if d.Retry != (c.delay > 0) || d.Delay != c.delay {
			t.Errorf("after %v: %+v", c.err, d)
		}
	}
	if again := retry.On(errTornCard).Stop(); again.Types[0] != "TornCard2Pieces" {
		t.Errorf("the second time it is %q", again.Types)
	}
	for want, wrong := range map[string]func(){
		`the error "nil" has no word`:       func() { retry.On(nil) },
		`the error "..." has no word`:       func() { retry.On(errUnspoken) },
		"the name already means the error":  func() { retry.On(errSaidTwice) },
		"the type is an interface":          func() { retry.OnType[error]() },
		"its method ErrorType gives each e": func() { retry.OnType[selfNamed]() },
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, want) {
					t.Errorf("got the panic %s, want %s", got, want)
				}
			}()
			wrong()
		}()
	}
}

var (
	errStuckSafe = errors.New("the safe is stuck")
	errOpenVault = error(&vaultError{"open"})
	errFullVault = error(&vaultError{"full"})
	errLoudAlarm = error(alarm{})
	beforeInit   = retry.Policy{MaxAttempts: 3, Rules: []retry.Rule{
		retry.On(errStuckSafe, errOpenVault).Stop(), retry.OnType[*wrongCode]().Stop(), retry.OnType[noVault]().Stop(), retry.OnType[alarm]().Stop(),
	}}
)

type vaultError struct{ State string }

func (e *vaultError) Error() string { return "the vault is " + e.State }

// alarm asks for the name of something when it is printed.
type alarm struct{}

func (alarm) Error() string { return "alarm: " + retry.TypeName(errStuckSafe) }

type wrongCode struct{ Digits int }

func (*wrongCode) Error() string { return "wrong code" }

type noVault struct{ Where []string } // cannot be compared

func (noVault) Error() string { return "no vault" }

func init() {
	retry.RegisterError("Stuck", errStuckSafe)
	retry.RegisterError("VaultOpen", errOpenVault)
	retry.RegisterError("Loud", errLoudAlarm)
	retry.RegisterErrorType[*vaultError]("Vault")
	retry.RegisterErrorType[*wrongCode]("WrongCode")
	retry.RegisterErrorType[noVault]("NoVault")
}

// TestR24_RulesMadeBeforeNamesAreRegistered hold: package variables are made before init functions
// run.
func TestR24_RulesMadeBeforeNamesAreRegistered(t *testing.T) {
	for name, err := range map[string]error{
		"Stuck": errStuckSafe, "WrongCode": &wrongCode{4}, "NoVault": noVault{[]string{"here"}},
		"VaultOpen": errOpenVault, "Vault": errFullVault, "Loud": errLoudAlarm,
	} {
		if got := retry.TypeName(err); got != name {
			t.Errorf("%v is called %q", err, got)
		}
		f := retry.Classify(fmt.Errorf("open: %w", err))
		if d := retry.Decide(&beforeInit, retry.State{Attempt: 1}, f, time.Unix(1, 0), 0); d.Retry || d.Reason != retry.ReasonStopRule || f.Type() != name {
			t.Errorf("after %v of the types %q: %+v", err, f.Types, d)
		}
	}
	if rule := retry.On(errStuckSafe).Or(retry.OnType[*wrongCode]()).Stop(); !slices.Equal(rule.Types, []string{"Stuck", "WrongCode"}) {
		t.Errorf("a rule that is made later has the types %q", rule.Types)
	}
	for want, wrong := range map[string]func(){
		`the error "the safe is stuck" already has the name "Stuck"`:        func() { retry.RegisterError("Safe", errStuckSafe) },
		`wrongCode]("Other"): the type already has the name "WrongCode"`:    func() { retry.RegisterErrorType[*wrongCode]("Other") },
		`retry.On("TheSafeIsStuck"): the name already means the error "the`: func() { retry.On(errors.New("the safe is stuck")) },
		`the error "alarm: Stuck" already has the name "Loud"`:              func() { retry.RegisterError("Quiet", errLoudAlarm) },
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, want) {
					t.Errorf("got the panic %s, want %s", got, want)
				}
			}()
			wrong()
		}()
	}
}

// TestR10_OneWayToAskHowACallEnded, whichever way it did.
func TestR10_OneWayToAskHowACallEnded(t *testing.T) {
	policy := retry.Policy{MaxAttempts: 2, Rules: []retry.Rule{retry.On(errTornCard).Stop()}}
	call := func(ctx context.Context, fails error) error {
		return retry.Do(ctx, policy, func(context.Context) error { return fails })
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	inner := call(t.Context(), errors.New("no"))
	for _, c := range []struct {
		err  error
		want retry.Reason
	}{
		{call(t.Context(), nil), retry.ReasonSucceeded},
		{call(t.Context(), errors.New("no")), retry.ReasonMaxAttempts},
		{call(t.Context(), errTornCard), retry.ReasonStopRule},
		{call(t.Context(), retry.Terminal(errors.New("no"))), retry.ReasonTerminal},
		{call(gone, errors.New("no")), retry.ReasonCanceled},
		{fmt.Errorf("order: %w", inner), retry.ReasonMaxAttempts},
		{retry.Terminal(inner), retry.ReasonTerminal},
		{call(t.Context(), retry.Terminal(inner)), retry.ReasonTerminal},
		{errors.New("no"), ""},
	} {
		if got := retry.ReasonOf(c.err); got != c.want {
			t.Errorf("%v ended because of %q, want %q", c.err, got, c.want)
		}
	}
}
