package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/goldenfile"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/pgtest"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/postgres"
	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	if args := os.Getenv(asCommand); args != "" {
		os.Exit(beCommand(args))
	}
	time.Local = time.UTC // times in tables are those of the zone
	os.Exit(m.Run())
}

// TestScripts plays the scripts of testdata/scripts, in the language of package testscript. Those
// whose names begin with statements prove them. These commands come to its own:
//
//	$ perdure ARGS         writes the command, its output, its complaints after "! " and its exit
//	                       code, if that is not 0, to the file session. NAME=VALUE may stand
//	                       before it and < FILE after it
//	perdure ARGS           is followed by what it says: stdout, stderr and cmp
//	engine FIXTURE 10s     lets an engine of a fixture work for so long; "in GROUP" may follow, and
//	                       "as NAME", which is the name of its node and of its build
//	serve FIXTURE          lets it work beside the commands that follow
//	token NAME ID          makes $NAME the token that the workflow with this ID has handed out
//	served perdure ARGS    is $ perdure ARGS while an engine of the shop works
//	interrupted 9s COMMAND is one of the first two with an interrupt after so long
//
// Time is virtual: it begins in the year 2000 and passes only while engines work. The flag -update
// rewrites what scripts compare with.
func TestScripts(t *testing.T) {
	extent.NotInShort(t, "many commands, one after the other")
	playScripts(t, "scripts", true, func(t *testing.T, _ *testscript.Env) *player { return &player{t: t, db: shopFile()} })
}

// TestPostgresScripts plays scripts in real time and with PostgreSQL. For each there is an empty
// database with the URL $DB, whose name is $DATABASE, on a server whose socket is in $SOCKET. One
// more command is
//
//	sql STATEMENT
func TestPostgresScripts(t *testing.T) {
	playScripts(t, "postgres", false, func(t *testing.T, env *testscript.Env) *player {
		url := pgtest.Database(t)
		names := map[string]string{"DATABASE": nameOf(t, url), "SOCKET": filepath.Dir(pgtest.Shared(t).Socket())}
		p := &player{t: t, db: postgres.URL(url), url: url, names: strings.NewReplacer(names["DATABASE"], "DATABASE", names["SOCKET"], "SOCKET")}
		for name, value := range names {
			env.Setenv(name, value)
		}
		env.Setenv("DB", "postgres:///"+names["DATABASE"]+"?host="+names["SOCKET"]+"&user=postgres")
		return p
	})
}

// compares is the line in which a script compares its session.
var compares = regexp.MustCompile(`(?m)^cmp (\$WORK/)?session (\$WORK/)?want$`)

// playScripts plays the scripts of a directory, one after the other.
func playScripts(t *testing.T, dir string, virtual bool, begin func(*testing.T, *testscript.Env) *player) {
	dir, err := filepath.Abs(filepath.Join("testdata", dir))
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	for _, file := range files {
		text, failed := os.ReadFile(file)
		if err = failed; bytes.Contains(text, []byte("\n$ ")) && !compares.Match(text) {
			t.Errorf("%s compares its session with nothing", file)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	testscript.RunT(scriptT{T: t, virtual: virtual}, testscript.Params{
		Dir: dir, WorkdirRoot: t.TempDir(), UpdateScripts: goldenfile.Updating(), RequireUniqueNames: true, Cmds: commands,
		Setup: func(env *testscript.Env) error {
			t := env.T().(scriptT).T
			t.Chdir(env.WorkDir)
			p := begin(t, env)
			p.dir, p.ctx = env.WorkDir, context.Background()
			env.Values[playerKey{}] = p
			env.Setenv("PERDURE_BY", "zoe")
			env.Setenv("PERDURE_DB", "")
			return nil
		},
	})
}

// scriptT is a test as package testscript wants it.
type scriptT struct {
	*testing.T
	virtual bool // each script has a time of its own
}

func (s scriptT) Verbose() bool { return testing.Verbose() }

// Parallel does nothing: scripts change the directory of the process.
func (s scriptT) Parallel() {}

func (s scriptT) Run(name string, f func(testscript.T)) {
	s.T.Run(name, func(t *testing.T) {
		if s.virtual {
			synctest.Test(t, func(t *testing.T) { f(scriptT{T: t}) })
		} else {
			f(scriptT{T: t})
		}
	})
}

// player plays one script.
type player struct {
	t      *testing.T
	db     store.Opener
	url    string            // of PostgreSQL
	names  *strings.Replacer // of what differs from run to run
	runs   map[string]string // what run IDs are called
	tokens []string          // and what tokens are
	pause  time.Duration     // how long a command takes beside an engine
	dir    string
	ctx    context.Context // of commands
}

type playerKey struct{}

// commands are those that scripts have besides those of testscript.
var commands = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	"$":       func(ts *testscript.TestScript, _ bool, args []string) { playerOf(ts).record(ts, args) },
	"perdure": func(ts *testscript.TestScript, neg bool, args []string) { playerOf(ts).perdure(ts, neg, args) },
	"engine": func(ts *testscript.TestScript, _ bool, args []string) {
		p := playerOf(ts)
		d, err := time.ParseDuration(args[1])
		ts.Check(err)
		options := told(args)
		if d >= time.Hour { // and nobody waits for its signs of life
			options = append(options, perdure.Lease(d))
		}
		fixtures[args[0]].serve(p.t, p.db, func() { time.Sleep(d) }, options...)
	},
	"serve": func(ts *testscript.TestScript, _ bool, args []string) {
		p := playerOf(ts)
		fixtures[args[0]].open(p.t, p.db, told(args)...)
		p.pause = 10 * time.Millisecond // the outcome is there at the first look, or at one of the next
	},
	"served": func(ts *testscript.TestScript, _ bool, args []string) {
		p := playerOf(ts)
		p.pause = 2 * time.Millisecond
		fixtures["shop"].serve(p.t, p.db, func() { p.record(ts, args) })
		p.pause = 0
	},
	"interrupted": func(ts *testscript.TestScript, neg bool, args []string) {
		p := playerOf(ts)
		d, err := time.ParseDuration(args[0])
		ts.Check(err)
		ctx, stop := context.WithTimeout(p.ctx, d)
		defer func(all context.Context) { p.ctx = all; stop() }(p.ctx)
		if p.ctx = ctx; args[1] == "$" {
			p.record(ts, args[2:])
		} else {
			p.perdure(ts, neg, args[2:])
		}
	},
	"token": func(ts *testscript.TestScript, _ bool, args []string) {
		p := playerOf(ts)
		token := strings.TrimSpace(ts.ReadFile("token-" + args[1]))
		ts.Setenv(args[0], token)
		p.tokens = append(p.tokens, token, args[0])
	},
	"sql": func(ts *testscript.TestScript, _ bool, args []string) {
		p := playerOf(ts)
		execute(p.t, p.url, args[0])
	},
}

// playerOf returns the player of a script, in the directory to which the script has changed.
func playerOf(ts *testscript.TestScript) *player {
	ts.Check(os.Chdir(ts.MkAbs(".")))
	return ts.Value(playerKey{}).(*player)
}

// record runs a command and adds it to the session.
func (p *player) record(ts *testscript.TestScript, args []string) {
	var line strings.Builder
	env, stdin := map[string]string{}, ""
	for name, value, ok := strings.Cut(args[0], "="); ok; name, value, ok = strings.Cut(args[0], "=") {
		env[name] = value
		line.WriteString(" " + name + "=" + human.ShellWord(value))
		args = args[1:]
	}
	if args[0] != "perdure" {
		ts.Fatalf("there is no %q in sessions", args[0])
	}
	for _, arg := range args {
		if arg != "<" {
			arg = human.ShellWord(arg)
		}
		line.WriteString(" " + arg)
	}
	if n := len(args); n > 2 && args[n-2] == "<" {
		stdin, args = ts.ReadFile(args[n-1]), args[:n-2]
	}
	stdout, stderr, code := p.run(ts, env, stdin, args[1:])
	session, err := os.OpenFile(filepath.Join(p.dir, "session"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	ts.Check(err)
	defer session.Close()
	fmt.Fprintf(session, "$%s\n%s", p.normal(line.String()), p.normal(stdout))
	for complaint := range strings.Lines(p.normal(stderr)) {
		fmt.Fprintf(session, "! %s", complaint)
	}
	if code != 0 {
		fmt.Fprintf(session, "exit %d\n", code)
	}
}

// perdure runs a command as testscript runs programs.
func (p *player) perdure(ts *testscript.TestScript, neg bool, args []string) {
	stdout, stderr, code := p.run(ts, nil, "", args)
	_, _ = ts.Stdout().Write([]byte(stdout))
	_, _ = ts.Stderr().Write([]byte(stderr))
	if (code != 0) != neg {
		ts.Fatalf("the exit code is %d\n%s%s", code, stdout, stderr)
	}
}

// run runs a command, and returns what it writes.
func (p *player) run(ts *testscript.TestScript, env map[string]string, stdin string, args []string) (stdout, stderr string, code int) {
	for i := range args {
		for id, name := range p.runs {
			args[i] = strings.ReplaceAll(args[i], name, id)
		}
	}
	var out, errs bytes.Buffer
	start := time.Now()
	code = Run(p.ctx, Env{
		Args: args, Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &errs, Now: time.Now,
		Getenv: func(name string) string {
			if value, ok := env[name]; ok {
				return value
			}
			return ts.Getenv(name)
		},
	})
	if p.pause > 0 {
		time.Sleep(p.pause - time.Since(start))
	}
	return out.String(), errs.String(), code
}

// told are the options that a script tells an engine.
func told(args []string) (options []perdure.Option) {
	for i, word := range args {
		switch word {
		case "in":
			options = append(options, perdure.Group(args[i+1]))
		case "as":
			options = append(options, perdure.NodeName(args[i+1]), perdure.Build(args[i+1]))
		}
	}
	return options
}

var (
	runID  = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`)
	choice = regexp.MustCompile(`"s1\.[\w-]+"`) // what a dry run has selected
	nodeID = regexp.MustCompile(`node-1/[0-9a-f]{8}`)
)

// normal replaces what is different in every run, in tables by something of equal length.
func (p *player) normal(text string) string {
	if p.runs == nil {
		p.runs = map[string]string{}
	}
	text = runID.ReplaceAllStringFunc(text, func(id string) string {
		if p.runs[id] == "" {
			p.runs[id] = fmt.Sprintf("run-%032d", len(p.runs)+1)
		}
		return p.runs[id]
	})
	text = nodeID.ReplaceAllString(text, "node-1/xxxxxxxx")
	text = choice.ReplaceAllString(text, `"s1.SELECTION"`)
	text = strings.NewReplacer(p.tokens...).Replace(text)
	if p.names != nil {
		text = p.names.Replace(text)
	}
	return strings.ReplaceAll(text, p.dir, "$WORK")
}
