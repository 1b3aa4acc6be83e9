package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/store/sqlite"
)

func main() {
	serve := flag.String("serve", "", "be the language model, at this `address`, and nothing else")
	db := flag.String("db", "summary.db", "the `file` in which everything is remembered")
	url := flag.String("model", "http://localhost:8020", "where the language model is")
	id := flag.String("id", "summary-1", "what this summary is called: under the same name it is made once")
	flag.Parse()
	if *serve != "" {
		log.Fatal(http.ListenAndServe(*serve, &llm{takes: 200 * time.Millisecond}))
	}
	if err := run(context.Background(), *db, *url, *id, flag.Args()); err != nil {
		log.Fatal(err)
	}
}

// run summarises text files.
func run(ctx context.Context, db, url, id string, files []string) error {
	if len(files) == 0 {
		return errors.New("usage: summary FILE ...")
	}
	var documents []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		documents = append(documents, string(text))
	}
	eng, err := perdure.Open(ctx, sqlite.File(db), perdure.Register(Summary, Ask.Impl(ask(url))))
	if err != nil {
		return err
	}
	defer eng.Close()
	if err := eng.Start(ctx); err != nil {
		return err
	}
	summary, err := perdure.Run(ctx, eng, Summary, id, documents)
	if err != nil {
		return err
	}
	fmt.Println(summary)
	return nil
}
