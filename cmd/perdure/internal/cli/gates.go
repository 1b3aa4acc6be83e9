package cli

import (
	"fmt"
	"time"

	"github.com/perdure/perdure/cmd/perdure/internal/term"
	"github.com/perdure/perdure/internal/command"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/listing"
	"github.com/perdure/perdure/internal/wording"
	"github.com/perdure/perdure/view"
	"github.com/spf13/cobra"
)

func gatesCommand(scr *screen, db *source) *cobra.Command {
	cmd := listOf(scr, db, &listing.Gates, db.gateTable)
	cmd.AddCommand(showGateCommand(scr, db))
	cmd.AddCommand(tabled(scr, db, command.Gate)...)
	return cmd
}

func (db *source) gateTable(scr *screen, gates []view.Gate) {
	table := scr.table("GATE", "MODE", "\tHELD", "\tLIMIT", "\tIN BACKOFF", "\tWAITING", "OLDEST", "BREAKER", "BUDGET")
	now := scr.env.Now()
	var notes []string
	for _, g := range gates {
		oldest, budget := "", ""
		if g.Waiting > 0 {
			oldest = human.Duration(g.OldestWait)
		}
		if g.Tokens != nil {
			budget = fmt.Sprintf("%g of %d", *g.Tokens, g.Spec.Budget.Tokens)
		}
		table.Row(g.Name, g.Mode, human.Count(g.Holders), wording.GateLimit(g.Limit), backoffOf(g), human.Count(g.Waiting), oldest, breakerOf(g, now), budget)
		if g.Problem != "" {
			notes = append(notes, fmt.Sprintf("%s lets no call pass: %s. Restore it from a backup and start the engine again.", g.Name, g.Problem))
		}
		if g.Edited != nil {
			notes = append(notes, fmt.Sprintf("%s is not as in code since %s%s. See: %s", g.Name, human.Time(g.Edited.Since), wording.Person(g.Edited.By, g.Edited.Why), db.sameDatabase("perdure gates show", g.Name)))
		}
		if g.Paused != nil {
			notes = append(notes, fmt.Sprintf("%s has been paused since %s%s.", g.Name, human.Time(g.Paused.Since), wording.Person(g.Paused.By, g.Paused.Why)))
		}
	}
	table.Write(scr.out)
	scr.lines("\n", "", notes)
}

// backoffOf says how many calls are in backoff, and how many of these keep a slot.
func backoffOf(g view.Gate) string {
	if g.HeldInBackoff > 0 {
		return fmt.Sprintf("%d (%d held)", g.InBackoff, g.HeldInBackoff)
	}
	return fmt.Sprint(g.InBackoff)
}

func breakerOf(g view.Gate, now time.Time) term.Painted {
	state := g.Breaker
	if g.OpenKeys > 0 {
		state = "open"
	}
	return breakerPainted(wording.GateBreaker(&g), state, g.OpenUntil, now)
}

func breakerPainted(text, state string, until *time.Time, now time.Time) term.Painted {
	if state == "open" && until != nil {
		text += ", " + human.Until(*until, now)
	}
	return term.Painted{Text: text, Colour: colourOf(state)}
}

// tokensLeft is what a run key has in a budget of its own.
func tokensLeft(tokens *float64) string {
	if tokens == nil {
		return ""
	}
	return fmt.Sprintf("%g", *tokens)
}
