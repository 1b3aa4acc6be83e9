package cli

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/perdure/perdure/cmd/perdure/internal/database"
	"github.com/perdure/perdure/cmd/perdure/internal/term"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/torture"
	"github.com/perdure/perdure/store"
	"github.com/spf13/cobra"
)

// tortureFlags are the flags of perdure torture.
type tortureFlags struct {
	long    time.Duration
	seed    uint64
	trouble string
	keep    bool
}

// shortestTorture is the shortest time that can hurt anything.
const shortestTorture = time.Second

func tortureCommand(scr *screen, db *source) *cobra.Command {
	var f tortureFlags
	cmd := &cobra.Command{
		Use:   "torture",
		Short: "Kill, freeze and cut off processes that work on your database",
		Long: `Let processes of this program work on your database, hurt them for a while, and say
whether anything was lost or doubled. On PostgreSQL they are two nodes of two builds and
two workers of a queue, each behind a network of its own that cuts, delays and swallows
what passes; in an SQLite file one process at a time. They are killed with kill -9, stand
still for longer than their lease, and leave in good order. The runs have activities,
retries, timers, signals, gates, queues and step transactions. Each effect is noted in a
book that is no part of perdure, and held against the record at the end.

Everything happens in a schema of its own, perdure_torture_..., which is dropped at the
end, or in a file of its own beside the one that --db names, or at that path if there is
none. Nothing else is touched, but the server has much to do: it is not for a database
that others need at the time.

--trouble is a shell command that restarts the server or fails it over, and returns when
it is there again or soon will be. It is run every 15 to 30 seconds.

An interrupt ends it early, with the page. The same --seed decides the same troubles and
the same work; what the processes do at that moment is up to the machine. The exit code
is 7 if anything was lost, doubled, left behind or wrong.`,
		Example: `  perdure torture --db postgres://shop@db.example/shop --for 10m
  perdure torture --db test.db --for 1m
  perdure torture --db 'postgres://me@a,b/test' --trouble ./kill-the-primary.sh -o json`,
		Annotations: map[string]string{noGroup: "A torture has its database to itself."},
		RunE:        func(cmd *cobra.Command, _ []string) error { return runTorture(scr, db, cmd.Context(), f) },
	}
	flags := cmd.Flags()
	flags.DurationVar(&f.long, "for", 5*time.Minute, "for this `duration`")
	flags.Uint64Var(&f.seed, "seed", 0, "`number` that decides what happens; 0 draws one")
	flags.StringVar(&f.trouble, "trouble", "", "`command` that restarts the server or fails it over")
	flags.BoolVar(&f.keep, "keep", false, "leave the schema or the file where it is")
	cmd.AddCommand(tortureNodeCommand())
	return cmd
}

// tortureName returns the database that the flag names. PERDURE_DB is not read: it may name one
// that others need.
func tortureName(db *source, f tortureFlags) (database.Name, error) {
	if db.named == "" {
		return database.Name{}, usage("Name one that is not needed meanwhile: --db postgres://USER@HOST/DATABASE or --db FILE", "Which database is to be tortured must be said with --db.")
	}
	name, err := parseDatabase("--db", db.named)
	switch {
	case err != nil:
		return name, err
	case name.Schema() != "":
		return name, usage("Leave ?schema= out.", "The torture creates a schema of its own, and does not use the schema %q.", name.Schema())
	case f.long < shortestTorture:
		return name, usage("Use a time such as 10m.", "--for is %s.", f.long)
	case f.trouble != "" && !name.Shared():
		return name, usage("Leave --trouble out.", "--trouble is about a server, and an SQLite file has none.")
	case f.trouble != "" && runtime.GOOS == "windows":
		return name, usage("Leave --trouble out.", "--trouble needs a shell, which there is not on Windows.")
	}
	return name, nil
}

func runTorture(scr *screen, db *source, ctx context.Context, f tortureFlags) error {
	name, err := tortureName(db, f)
	if err != nil {
		return err
	}
	if f.seed == 0 {
		f.seed = uint64(rand.Uint32())
	}
	own, err := name.Scratch(ctx, "torture")
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("the program cannot be found, which is started again as a node: %w", err)
	}
	place, err := placeOf(own)
	if err != nil {
		return err
	}
	opt := torture.Options{
		Place: place, For: f.long, Seed: f.seed,
		Command: func() *exec.Cmd { return exec.Command(self, "torture", "node") },
	}
	if f.trouble != "" {
		opt.Hurt = func(ctx context.Context) error { return shell(ctx, f.trouble) }
	}
	panel := &torturePanel{Panel: term.Panel{Out: scr.env.Stderr, Terminal: scr.stderr}}
	opt.Show = panel.show
	report, err := torture.Run(ctx, opt)
	panel.Clear()
	err = errors.Join(err, removeScratch(ctx, own, f.keep))
	if report == nil {
		return err
	}
	return errors.Join(err, tellTorture(scr, tortured{Report: report, Database: name.String(), Own: own.String(), Kept: f.keep, Again: tortureAgain(name, f)}))
}

// removeScratch removes what the torture made, when the server is there again.
func removeScratch(ctx context.Context, own database.Name, keep bool) error {
	if keep {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	var err error
	for range 60 {
		if err = own.Remove(ctx); err == nil {
			return nil
		}
		time.Sleep(500 * time.Millisecond)
	}
	return failure(exitError, fmt.Sprintf("It stays in %s.", own), "What the torture made cannot be removed: %s.", strings.TrimSuffix(err.Error(), "."))
}

// tortureAgain is the command that does the same again.
func tortureAgain(name database.Name, f tortureFlags) string {
	again := fmt.Sprintf("%s torture --db %s --for %s --seed %d", ownName(), human.ShellWord(name.String()), human.Exact(f.long), f.seed)
	if f.trouble != "" {
		again += " --trouble " + human.ShellWord(f.trouble)
	}
	return again
}

// shell runs a command of the user.
func shell(ctx context.Context, command string) error {
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", command)
	cmd.WaitDelay = time.Second // what it starts may hold its output
	if said, err := cmd.CombinedOutput(); err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return failure(exitError, "The torture ends here, and nothing is known.", "The command of --trouble failed (%v): %s", err, strings.TrimSpace(string(said)))
	}
	return nil
}

// torturePartitions is how many partitions the nodes share: few, so that many moves are a
// matter of chance.
const torturePartitions = 12

// placeOf describes a database to package torture, which knows no driver.
func placeOf(own database.Name) (torture.Place, error) {
	p := torture.Place{Database: own.Secret(), Postings: "postings"}
	if !own.Shared() {
		p.Opener = func() store.Opener { return own.Opener() }
		return p, nil
	}
	servers, via, err := own.Servers()
	if err != nil {
		return p, err
	}
	for _, s := range servers {
		p.Servers = append(p.Servers, s.Dial)
	}
	p.Opener = func() store.Opener { return own.Migrator(torturePartitions, false) }
	p.Schema, p.Postings = own.Schema(), own.Schema()+".postings"
	p.Through = func(networks []*torture.Network) string {
		var addresses []*net.TCPAddr
		for _, n := range networks {
			addresses = append(addresses, n.Address())
		}
		return via(addresses).Secret()
	}
	return p, nil
}

const toldByTorture = "It is a part of the torture, which tells it what it needs."

// tortureNodeCommand is a process that the torture starts and kills.
func tortureNodeCommand() *cobra.Command {
	return &cobra.Command{
		Use:         "node",
		Hidden:      true,
		Annotations: map[string]string{noDatabase: toldByTorture, noGroup: toldByTorture},
		RunE: func(*cobra.Command, []string) error {
			return torture.Serve(torture.Host{Opener: func(s torture.Setup) (store.Opener, error) {
				name, err := database.Parse(s.Database)
				return name.Opener(), err
			}})
		},
	}
}
