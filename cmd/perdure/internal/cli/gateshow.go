package cli

import (
	"context"
	"fmt"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/command"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/wording"
	"github.com/perdure/perdure/view"
	"github.com/spf13/cobra"
)

func showGateCommand(scr *screen, db *source) *cobra.Command {
	return showNamed(scr, db, command.Gate, &cobra.Command{
		Short: "Show what a gate does, since when and because of whom",
		Long: `Show what a gate does, what of it was edited and what the code declares, who holds it and
who waits, and what people did to it.`,
		Example: `  perdure gates show payments
  perdure gates show payments -o json`,
	}, command.FindGate, func(g *view.Gate) { showGate(scr, db, g) })
}

// showNamed completes the command that shows one gate or schedule.
func showNamed[T any](scr *screen, db *source, on command.On, cmd *cobra.Command, read func(context.Context, *perdure.Engine, string) (*T, error), tell func(*T)) *cobra.Command {
	cmd.Use, cmd.ValidArgsFunction = "show NAME", db.completeArgument(targets[on].names)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return db.withNamed(cmd.Context(), string(on), args[0], func(e *perdure.Engine) error {
			v, err := read(cmd.Context(), e, args[0])
			if err != nil {
				return err
			}
			return scr.show(v, func() { tell(v) })
		})
	}
	return cmd
}

func showGate(scr *screen, db *source, g *view.Gate) {
	now := scr.env.Now()
	scr.printf("%s\n\n", g.Name)
	facts, fact := scr.facts()
	scr.tell(facts, wording.GateFacts(g))
	if g.Paused != nil {
		fact("paused", "since "+human.Time(g.Paused.Since)+" ("+human.Ago(g.Paused.Since, now)+")"+wording.Person(g.Paused.By, g.Paused.Why))
	}
	calls := fmt.Sprintf("%s of %s slots are held, %s waiting, %s in backoff", human.Count(g.Holders), wording.GateLimit(g.Limit), human.Count(g.Waiting), human.Count(g.InBackoff))
	if g.Waiting > 0 {
		calls += ", the oldest for " + human.Duration(g.OldestWait)
	}
	fact("calls", calls)
	facts.Write(scr.out)
	keysTable(scr, "Whose calls are there", g.Keys, now)
	nextForGate(scr, db, g)
	if len(g.Log) > 0 {
		scr.printf("\nWhat people did:\n\n")
		auditTable(scr, g.Log[:min(len(g.Log), 10)])
	}
}

// nextForGate prints the next command to type.
func nextForGate(scr *screen, db *source, g *view.Gate) {
	say := func(why, line string) { scr.printf("\n%s: %s\n", why, db.sameDatabase(line)) }
	probe := gateCommand("probe", g.Name, "")
	switch {
	case g.Paused != nil:
		say("To let attempts pass", gateCommand("resume", g.Name, ""))
	case g.Breaker == "open":
		say("To send one attempt through now, as the probe", probe)
	case g.OpenKeys > 0 && g.Keys[0].Key != "":
		say("To send one attempt of key "+g.Keys[0].Key+" through now, as the probe", gateCommand("probe", g.Name, g.Keys[0].Key))
	case g.OpenKeys > 0:
		say("To send one attempt of each such key through now, as the probe", probe)
	}
	if g.Edited != nil {
		say("To have it as in code", gateCommand("edit", g.Name, "")+" --as-in-code")
	}
}
