package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/store/sqlite"
)

func main() {
	db := flag.String("db", "approval.db", "the `file` in which everything is remembered")
	letters := flag.String("outbox", "outbox", "the `directory` that letters are put into")
	remind := flag.Duration("remind", 10*time.Second, "how often to remind")
	deadline := flag.Duration("deadline", time.Minute, "how long to wait")
	flag.Parse()

	r := Request{From: "you", To: "the boss", What: flag.Arg(2), Remind: *remind, Deadline: *deadline}
	if err := run(context.Background(), *db, outbox(*letters), flag.Arg(0), flag.Arg(1), r); err != nil {
		log.Fatal(err)
	}
}

// run does what the command line says. Only ask does the work of workflows; the
// others are clients, which may come and go.
func run(ctx context.Context, db string, letters outbox, verb, id string, r Request) error {
	eng, err := perdure.Open(ctx, sqlite.File(db), perdure.Register(Approval, Mail.Impl(letters.mail)))
	if err != nil {
		return err
	}
	defer eng.Close()
	switch verb {
	case "ask":
		return ask(ctx, eng, id, r)
	case "decide":
		return Decide.Send(ctx, eng.Workflow(id), Decision{Approved: r.What == "yes", By: r.To})
	case "state":
		state, err := State.Ask(ctx, eng.Workflow(id), struct{}{})
		if err == nil {
			fmt.Println(state)
		}
		return err
	}
	return errors.New("usage: approval ask ID WHAT | decide ID yes|no | state ID")
}

// ask does the work, and waits for the decision. Asked again under the same ID it
// waits for the same one.
func ask(ctx context.Context, eng *perdure.Engine, id string, r Request) error {
	if err := eng.Start(ctx); err != nil {
		return err
	}
	d, err := perdure.Run(ctx, eng, Approval, id, r)
	if err != nil {
		return err
	}
	fmt.Printf("%s: approved: %t %s%s\n", id, d.Approved, d.By, d.Why)
	return nil
}
