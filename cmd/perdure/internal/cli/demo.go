package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/demo"
	"github.com/perdure/perdure/internal/human"
	"github.com/spf13/cobra"
)

func demoCommand(scr *screen, db *source) *cobra.Command {
	opt := demo.Options{Orders: demo.DefaultOrders, Kills: demo.DefaultKills}
	var keep bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Fulfil orders with a program that is killed on purpose",
		Long: `Fulfil 300 orders against an unreliable service, with a program that is killed
with kill -9 in the middle, several times. At the end compare its account with the
service's own book: was every card charged exactly once?

The demo takes less than a minute. Everything is kept in one directory; Ctrl-C stops
the demo, and the same command continues from there. With --keep the dashboard stays open
on what is there, until it is interrupted.

With --db and the URL of a PostgreSQL database several worker processes share the
work, and any of them is killed. The demo creates a schema of its own there, says its
name, and touches nothing else.`,
		Example: `  perdure demo
  perdure demo --fresh
  perdure demo --keep
  perdure demo --orders 1000 --dir my-demo --kills 10
  perdure demo --db postgres://shop@db.example/shop --workers 4`,
		Annotations: map[string]string{noGroup: "A demo has its database to itself."},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := demoDatabase(db, &opt, cmd.Flags().Changed("workers")); err != nil {
				return err
			}
			return runDemo(scr, cmd.Context(), opt, keep)
		},
	}
	flags := cmd.Flags()
	number(flags, &opt.Orders, "orders", 1, maxOrders, fmt.Sprintf("Use a number from 1 to %d.", maxOrders), "`number` of orders")
	flags.StringVar(&opt.Dir, "dir", demo.DefaultDir, "`directory` in which everything is kept")
	flags.BoolVar(&opt.Fresh, "fresh", false, "begin again, and delete what an earlier demo left there")
	number(flags, &opt.Kills, "kills", 0, maxKills, fmt.Sprintf("Use a number from 0 to %d.", maxKills), "`number` of times that a worker is killed")
	flags.IntVar(&opt.Workers, "workers", 0, "`number` of worker processes (default 2 on PostgreSQL, else 1)")
	flags.BoolVar(&keep, "keep", false, "serve the dashboard on the demo's data at the end")
	cmd.AddCommand(demoWorkerCommand(scr))
	return cmd
}

// Limits on the flags of the demo.
const (
	maxOrders  = 10_000
	maxKills   = 1000
	maxWorkers = 32
)

// demoDatabase sets where to keep the demo. It does not read PERDURE_DB, which may name a
// database in which no demo is wanted.
func demoDatabase(db *source, opt *demo.Options, workersGiven bool) error {
	if db.named != "" {
		var err error
		if opt.Database, err = parseDatabase("--db", db.named); err != nil {
			return err
		}
		switch {
		case !opt.Database.Shared():
			return usage("Leave --db out, or use a PostgreSQL database: --db postgres://USER@HOST/DATABASE", "The demo keeps an SQLite database in the directory that --dir names, and nowhere else.")
		case opt.Database.Schema() != "":
			return usage("Leave ?schema= out.", "The demo creates a schema of its own, and does not use the schema %q.", opt.Database.Schema())
		}
	}
	switch {
	case !workersGiven:
		opt.Workers = demo.DefaultWorkers(opt.Database)
	case opt.Workers < 1 || opt.Workers > maxWorkers:
		return usage(fmt.Sprintf("Use a number from 1 to %d.", maxWorkers), "--workers is %d.", opt.Workers)
	case opt.Workers > 1 && !opt.Database.Shared():
		return usage("Several can share a PostgreSQL database: --db postgres://USER@HOST/DATABASE", "--workers is %d, but only one process at a time can use an SQLite file.", opt.Workers)
	}
	return nil
}

func runDemo(scr *screen, ctx context.Context, opt demo.Options, keep bool) error {
	if opt.Dir == "" {
		return usage("Leave --dir out, or name a directory.", "--dir is empty.")
	}
	opt.Command = ownName()
	// Progress is printed unbuffered; the report is the result.
	opt.Out, opt.Terminal = scr.env.Stdout, scr.stdout
	if scr.format != formatTable {
		opt.Out, opt.Terminal = scr.env.Stderr, scr.stderr
	}
	report, err := demo.Run(ctx, opt)
	if err != nil {
		return err
	}
	if scr.format != formatTable {
		err = scr.document(report)
	} else {
		err = report.Write(scr.out, scr.stdout.Style, opt.Command)
	}
	if err == nil && keep {
		err = keepOpen(scr, ctx, report)
	}
	if err == nil && !report.True() {
		err = &Error{Code: exitError, What: fmt.Sprintf("%d things do not hold.", len(report.Violations)), Silent: scr.format == formatTable}
	}
	return err
}

// keepOpen serves the dashboard for what the demo left behind, to everyone on this machine.
func keepOpen(scr *screen, ctx context.Context, report *demo.Report) error {
	e, err := perdure.Open(ctx, report.Name().Opener(), perdure.Logger(slog.New(slog.DiscardHandler)))
	if err != nil {
		return err
	}
	f := serverFlags{listen: "127.0.0.1:0"}
	rules, err := rules(scr, f)
	if err == nil {
		err = serveEngine(scr, ctx, e, f, rules, nil)
	}
	return errors.Join(err, e.Close())
}

// ownName returns how the user can call this program again.
func ownName() string {
	self, err := os.Executable()
	if err != nil {
		return "perdure"
	}
	if strings.Contains(filepath.ToSlash(self), "/go-build") {
		return goRun(debug.ReadBuildInfo()) // its executable is deleted when it ends
	}
	if found, err := exec.LookPath("perdure"); err == nil && sameFile(found, self) {
		return "perdure"
	}
	return human.ShellWord(os.Args[0])
}

// goRun returns the go run command of a program: by version if it came from a module proxy,
// otherwise by the checkout in which it was called.
func goRun(info *debug.BuildInfo, ok bool) string {
	if ok && strings.HasPrefix(info.Main.Version, "v") && info.Main.Sum != "" {
		return "go run " + info.Path + "@" + info.Main.Version
	}
	return "go run ./cmd/perdure"
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

const toldByParent = "It is a part of the demo, which tells it what it needs."

// demoWorkerCommand is the process that the demo starts and kills.
func demoWorkerCommand(scr *screen) *cobra.Command {
	opt := demo.WorkerOptions{Orphaned: scr.env.Stdin}
	cmd := &cobra.Command{
		Use:         "worker",
		Hidden:      true,
		Annotations: map[string]string{noDatabase: toldByParent, noGroup: toldByParent},
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if opt.Database, err = demo.WorkerDatabase(scr.env.Getenv); err != nil {
				return err
			}
			opt.Log = slog.New(slog.NewTextHandler(scr.env.Stderr, nil))
			// An interrupt from the keyboard reaches all processes of the terminal. The
			// worker ignores it, and its parent ends it.
			return demo.Worker(context.WithoutCancel(cmd.Context()), opt)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&opt.Service, "service", "", "address of the service")
	flags.IntVar(&opt.Orders, "orders", 0, "number of orders")
	flags.StringVar(&opt.Name, "name", "", "name of the node")
	flags.IntVar(&opt.Slots, "slots", 0, "requests at a time")
	return cmd
}
