package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure/store"
)

// shop is a database with a table of the user's, and a run with one turn.
type shop struct {
	*world
	run store.Run
}

func newShop(t *testing.T) *shop {
	s := &shop{world: newWorld(t)}
	s.exec(`CREATE TABLE perdure.orders (id text PRIMARY KEY)`)
	s.run = s.created()
	return s
}

// plain is a turn of a run of its own, and step one with a hook: so they share
// no transaction.
func (s *shop) plain() store.Turn { return s.first(s.newRun()) }

func (s *shop) step(hook func(tx pgx.Tx) error) store.Turn {
	t := s.plain()
	t.Hook = func(tx any) error { return hook(tx.(pgx.Tx)) }
	return t
}

func (s *shop) turns() string { return s.value(`SELECT count(*)::text FROM perdure.turns`) }
func (s *shop) orders() string {
	return s.value(`SELECT coalesce(string_agg(id, ' ' ORDER BY id), '') FROM perdure.orders`)
}

func (s *shop) insert(id string) func(tx pgx.Tx) error {
	return func(tx pgx.Tx) error {
		_, err := tx.Exec(context.Background(), s.sql(`INSERT INTO perdure.orders VALUES ($1)`), id)
		return err
	}
}

// answers commits and demands that only the turns at some places are refused, with a
// HookError. What is not available is asked again, as an engine does: a session that was cut
// off keeps its locks until the server has noticed.
func (s *shop) answers(turns []store.Turn, refused ...int) []error {
	s.Helper()
	result, err := s.Commit(s.Context(), turns)
	s.must(err)
	for i := range turns {
		for {
			if _, away := errors.AsType[*store.UnavailableError](result.Errors[i]); !away {
				break
			}
			again, err := s.Commit(s.Context(), turns[i:i+1])
			s.must(err)
			result.Errors[i] = again.Errors[0]
		}
	}
	for i, err := range result.Errors {
		var hook *store.HookError
		want := false
		for _, r := range refused {
			want = want || r == i
		}
		if errors.As(err, &hook) != want || (err != nil) != want {
			s.Errorf("turn %d was answered: %v", i, err)
		}
	}
	return result.Errors
}

func TestE27_HookAndTurnCommitTogetherOrNotAtAll(t *testing.T) {
	s := newShop(t)
	s.commits(s.step(s.insert("a")))
	if s.orders() != "a" || s.turns() != "2" {
		t.Fatalf("%q, %s turns", s.orders(), s.turns())
	}
	boom := errors.New("boom")
	again := s.step(s.insert("b"))
	errs := s.answers([]store.Turn{
		again,
		s.step(func(tx pgx.Tx) error { return errors.Join(s.insert("c")(tx), boom) }),
		s.step(s.insert("a")), // breaks the user's own rule
		s.step(s.insert("d")),
		again, // durable by now
	}, 1, 2)
	if !errors.Is(errs[1], boom) {
		t.Errorf("got %v", errs[1])
	}
	if s.orders() != "a b d" || s.turns() != "4" {
		t.Errorf("%q, %s turns", s.orders(), s.turns())
	}
}

func TestHookSeesItsTurn(t *testing.T) {
	s := newShop(t)
	turn := s.turn(s.run, 2)
	turn.Hook = func(tx any) error {
		var turns int
		err := tx.(pgx.Tx).QueryRow(t.Context(), s.sql(`SELECT count(*) FROM perdure.turns WHERE perdure.run_id(run) = $1`), s.run.ID).Scan(&turns)
		if turns != 2 {
			t.Errorf("the hook sees %d turns", turns)
		}
		return err
	}
	s.commits(turn)
}

func TestHookMayUseSavepoints(t *testing.T) {
	s := newShop(t)
	s.commits(s.step(func(tx pgx.Tx) error {
		inner, err := tx.Begin(t.Context())
		if err != nil {
			return err
		}
		if err := errors.Join(s.insert("a")(inner), inner.Rollback(t.Context()), s.insert("b")(tx)); err != nil {
			return err
		}
		_, err = tx.Exec(t.Context(), `SAVEPOINT mine; ROLLBACK TO mine; RELEASE mine`)
		return err
	}))
	if s.orders() != "b" {
		t.Errorf("%q", s.orders())
	}
}

// TestHookIsPlannedAsTheServerWould says that the settings of Tune are not the
// user's.
func TestHookIsPlannedAsTheServerWould(t *testing.T) {
	s := newShop(t)
	s.commits(s.step(func(tx pgx.Tx) error {
		var scan, plan string
		err := tx.QueryRow(t.Context(), `SELECT current_setting('enable_seqscan'), current_setting('plan_cache_mode')`).Scan(&scan, &plan)
		if scan != "on" || plan != "auto" {
			t.Errorf("%s, %s", scan, plan)
		}
		return err
	}))
	if got := s.value(`SELECT current_setting('enable_seqscan')`); got != "off" {
		t.Errorf("afterwards it is %s", got)
	}
}

// TestHookHarmsOnlyItself whatever it does to the transaction.
func TestHookHarmsOnlyItself(t *testing.T) {
	exec := func(sql string) func(tx pgx.Tx) error {
		return func(tx pgx.Tx) error {
			_, err := tx.Exec(context.Background(), sql, pgx.QueryExecModeSimpleProtocol)
			return err
		}
	}
	for name, do := range map[string]func(tx pgx.Tx) error{
		"Commit":         func(tx pgx.Tx) error { return tx.Commit(context.Background()) },
		"Rollback":       func(tx pgx.Tx) error { return tx.Rollback(context.Background()) },
		"RollbackAll":    exec("ROLLBACK"),
		"RollbackBegin":  exec("ROLLBACK; BEGIN"),
		"IgnoredFailure": func(tx pgx.Tx) error { exec("SELECT 1/0")(tx); return nil },
		"SaidFailure":    exec("SELECT 1/0"),
		"OpenRows": func(tx pgx.Tx) error {
			_, err := tx.Query(context.Background(), "SELECT generate_series(1, 1000)")
			return err
		},
		"Panic": func(pgx.Tx) error { panic("ouch") },
		"Interrupted": func(tx pgx.Tx) error {
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
			defer cancel()
			_, err := tx.Exec(ctx, "SELECT pg_sleep(60)")
			return err
		},
		"Idle": nil, // needs a shop
	} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t)
			if name == "Idle" {
				do = s.idles(exec("SET LOCAL idle_in_transaction_session_timeout = '1ms'"), exec("SELECT 1"))
			}
			s.answers([]store.Turn{
				s.plain(),
				s.step(s.insert("before")),
				s.step(func(tx pgx.Tx) error { return errors.Join(s.insert("within")(tx), do(tx)) }),
				s.step(s.insert("after")),
			}, 2)
			if s.orders() != "after before" || s.turns() != "4" {
				t.Errorf("%q, %s turns", s.orders(), s.turns())
			}
			// And where it shares its transaction with another turn of its run.
			bad := s.turn(s.run, 3)
			bad.Hook = func(tx any) error { return errors.Join(s.insert("within")(tx.(pgx.Tx)), do(tx.(pgx.Tx))) }
			s.answers([]store.Turn{s.turn(s.run, 2), bad, s.turn(s.run, 4)}, 1)
			if s.orders() != "after before" || s.turns() != "6" {
				t.Errorf("%q, %s turns", s.orders(), s.turns())
			}
		})
	}
}

// idles takes the server's patience away and waits until it has lost it, and only
// then does more.
func (s *shop) idles(hurry, more func(tx pgx.Tx) error) func(tx pgx.Tx) error {
	return func(tx pgx.Tx) error {
		pid := tx.Conn().PgConn().PID()
		s.idle.Store(0) // so long was it to be
		if err := hurry(tx); err != nil {
			return err
		}
		s.eventually("the session is gone", func() bool {
			return s.value(`SELECT count(*)::text FROM pg_stat_activity WHERE pid = $1`, pid) == "0"
		})
		return more(tx)
	}
}

func TestHookThatCommitsBehindOurBackIsAnsweredByWhatIsDurable(t *testing.T) {
	s := newShop(t)
	s.answers([]store.Turn{s.plain(), s.step(func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), "COMMIT")
		return err
	}), s.plain()})
	if s.turns() != "4" {
		t.Errorf("%s turns", s.turns())
	}
}

// TestE27_HookLeftBehindLosesItsTransaction says that the function which still runs
// cannot harm anybody, whatever it is doing.
func TestE27_HookLeftBehindLosesItsTransaction(t *testing.T) {
	for name, do := range map[string]func(s *shop, tx pgx.Tx, i int) error{
		"Exec": func(s *shop, tx pgx.Tx, i int) error { return s.insert(fmt.Sprint("x", i))(tx) },
		"Long": func(s *shop, tx pgx.Tx, i int) error {
			_, err := tx.Exec(context.Background(), "SELECT pg_sleep(60)")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t)
			left := make(chan error, 1)
			begun := make(chan struct{})
			s.answers([]store.Turn{
				s.plain(),
				s.step(func(tx pgx.Tx) error {
					go func() {
						close(begun)
						var err error
						for i := 0; err == nil; i++ {
							err = do(s, tx, i)
						}
						left <- err
					}()
					<-begun
					return store.ErrHookLeft
				}),
				s.step(s.insert("after")),
			}, 1)
			if err := <-left; err == nil {
				t.Error("it continues")
			}
			if s.orders() != "after" || s.turns() != "3" {
				t.Errorf("%q, %s turns", s.orders(), s.turns())
			}
		})
	}
}

// TestE27_StatementsOfAHookHaveItsTime, and what comes after them has not.
func TestE27_StatementsOfAHookHaveItsTime(t *testing.T) {
	s := newShop(t)
	s.answers([]store.Turn{s.step(func(tx pgx.Tx) error {
		_, err := tx.Exec(context.Background(), "SELECT pg_sleep(60)")
		return err
	})}, 0)
	s.commits(s.step(func(tx pgx.Tx) error {
		var limit string
		err := tx.QueryRow(t.Context(), `SELECT current_setting('statement_timeout')`).Scan(&limit)
		if limit != "3s" {
			t.Errorf("the limit is %s", limit)
		}
		return err
	}))
	if got := s.value(`SELECT current_setting('statement_timeout')`); got != "0" {
		t.Errorf("afterwards it is %s", got)
	}
}

func TestHookCannotUseItsTransactionLater(t *testing.T) {
	s := newShop(t)
	var kept pgx.Tx
	s.commits(s.step(func(tx pgx.Tx) error { kept = tx; return nil }))
	if _, err := kept.Exec(t.Context(), "SELECT 1"); !errors.Is(err, pgx.ErrTxClosed) {
		t.Errorf("got %v", err)
	}
}

// TestHookIsNotBlamedForTheServer cuts the connection under a hook: that is for
// the engine to ask again.
func TestHookIsNotBlamedForTheServer(t *testing.T) {
	s := newShop(t)
	runs := 0
	turn := s.step(func(tx pgx.Tx) error {
		if runs++; runs > 1 {
			return s.insert("a")(tx)
		}
		s.value(`SELECT pg_terminate_backend($1)::text`, tx.Conn().PgConn().PID())
		return s.insert("a")(tx)
	})
	if _, err := s.Commit(t.Context(), []store.Turn{turn}); !store.Unavailable(err) || !strings.Contains(err.Error(), "Commit") {
		t.Fatalf("got %v", err)
	}
	s.commits(turn)
	if s.orders() != "a" || runs != 2 {
		t.Errorf("%q after %d runs", s.orders(), runs)
	}
}
