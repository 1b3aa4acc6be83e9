package layout

// Packages are named without the path of the module; "." is its root. A name
// that ends in "/..." stands for the package and all below it.

// row says what one package may import besides the standard library. Tests are
// not bound by it: they may import any package of this module.
type row struct {
	pkg  string
	may  []string // packages of this module
	from []string // modules of others, by the beginning of their paths
	test []string // modules that only its tests use besides
	why  string
}

var table = []row{
	{
		pkg: "internal/human",
		why: "the command and the dashboard say durations, times and texts of others in the same words; policies and gates print theirs by it",
	},
	{
		pkg: "internal/see",
		why: "errors of all storeys lead to sections of the documents; a constant needs nothing",
	},
	{
		pkg: "internal/wording",
		may: []string{"gate", "retry", "schedule", "view", "internal/human"},
		why: "the command, the dashboard and the API say in the same words what runs are found by, and the first two how runs, gates, schedules and trials stand",
	},
	{
		pkg: "internal/policyedit",
		may: []string{"retry", "view", "internal/human"},
		why: "the command and the dashboard say the same about an edit before it is done",
	},
	{
		pkg: "internal/lossy",
		why: "values and errors are judged by one walk over their types",
	},
	{
		pkg: "internal/errname",
		may: []string{"internal/lossy"},
		why: "the names of errors belong to the process; retry gives them, history and its readers find them again",
	},
	{
		pkg: "internal/mark",
		why: "retry makes the marks on errors, and the codec of history writes them apart from what they mark",
	},
	{
		pkg: "internal/attemptkey",
		why: "the contexts of retry.Do and of activities carry attempts under one key",
	},
	{
		pkg: "internal/notation",
		why: "the parser of policies and the documentation read one list of keys",
	},
	{
		pkg: "internal/heap",
		why: "what is due next and who is first is found in one way, whatever waits",
	},
	{
		pkg: "internal/fair",
		may: []string{"internal/heap"},
		why: "who is next is the same question at a gate and at a process, and needs neither to be answered",
	},
	{
		pkg: "internal/firstlast",
		why: "calls in process and blocks of workflow code bound their records alike",
	},
	{
		pkg: "retry",
		may: []string{"internal/attemptkey", "internal/errname", "internal/firstlast", "internal/human", "internal/lossy", "internal/mark", "internal/notation"},
		why: "the policy is useful without the engine, so it brings nothing along but plain tables",
	},
	{
		pkg: "retry/grpcretry",
		may: []string{"retry"},
		why: "it reads what gRPC servers say about retries, without gRPC",
	},
	{
		pkg: "retry/httpretry",
		may: []string{"retry"},
		why: "it makes errors for policies, whoever runs them; package retry itself does not link net/http",
	},
	{
		pkg: "internal/envelope",
		why: "history shows of an encoded document what is not secret; the codecs make the envelope, which must outlive all code around it",
	},
	{
		pkg: "internal/history",
		may: []string{"retry", "view/bounds", "internal/envelope", "internal/errname", "gate/spec", "internal/mark", "internal/see"},
		why: "the format of history must outlive all code around it; it knows policies and durable errors, and refuses what is out of bounds",
	},
	{
		pkg: "gate/spec",
		may: []string{"internal/human"},
		why: "users write these types, the format of history holds them and the machine obeys them: they stand below all three",
	},
	{
		pkg: "internal/gates",
		may: []string{"gate/spec", "internal/fair", "internal/heap", "retry"},
		why: "the discipline of a gate is pure, so that the gate in process and the durable one are the same",
	},
	{
		pkg: "gate",
		may: []string{"retry", "gate/spec", "internal/gates"},
		why: "a gate is useful without the engine; what it decides is decided by the machine of internal/gates",
	},
	{
		pkg:  "schedule",
		may:  []string{"internal/wall"},
		from: []string{"github.com/robfig/cron/v3"},
		why:  "when a schedule fires is data, and can be told without an engine; nobody else parses cron expressions",
	},
	{
		pkg: "internal/suspects",
		why: "which calls and runs are tried together is decided by what is on record of them, and by nothing else",
	},
	{
		pkg: "internal/core",
		may: []string{"internal/history", "gate/spec", "internal/gates", "internal/heap", "internal/suspects", "retry", "internal/see"},
		why: "the core is pure: what it does is decided by its arguments, so that replay decides the same",
	},
	{
		pkg: "internal/coro",
		why: "the scheduler of user code knows nothing of workflows",
	},
	{
		pkg: "internal/seal",
		may: []string{"gate", "retry", "internal/around", "internal/core", "internal/history"},
		why: "what public types hold and users do not see: definitions for engines, settings, addresses of messages. It is pure, and one package although activity needs only its part: each program links the rest with the root. It does not know the engine, which the root hides in it",
	},
	{
		pkg: "intercept",
		may: []string{"retry"},
		why: "interceptors are functions of users; who calls them does not concern them",
	},
	{
		pkg: "telemetry/internal/metric",
		why: "counters, histograms and Prometheus' text format are small, and need nothing",
	},
	{
		pkg: "telemetry/internal/measure",
		may: []string{".", "ops", "view", "internal/engine", "internal/core", "internal/history", "telemetry/internal/metric", "internal/seal", "internal/settings"},
		why: "one table of metrics for all faces; it counts the turns that the engine makes durable",
	},
	{
		pkg:  "telemetry/tracing",
		may:  []string{".", "intercept", "internal/around", "activity", "retry", "internal/core", "internal/history", "internal/seal", "internal/settings"},
		from: []string{"go.opentelemetry.io/otel"},
		why:  "a watcher of verbs and attempts, and an observer of what has closed; OpenTelemetry is linked by those who trace",
	},
	{
		pkg: "telemetry",
		may: []string{".", "telemetry/internal/measure", "telemetry/internal/metric"},
		why: "the face of the metrics for Prometheus; who does not import it does not link it",
	},
	{
		pkg:  "telemetry/meter",
		may:  []string{".", "telemetry/internal/measure", "telemetry/internal/metric"},
		from: []string{"go.opentelemetry.io/otel"},
		why:  "the face of the metrics for OpenTelemetry, which is linked by those who measure with it",
	},
	{
		pkg: "internal/around",
		may: []string{"intercept", "retry", "internal/history"},
		why: "clients, attempts and workflow code call interceptors by the same rules",
	},
	{
		pkg: "ops",
		may: []string{".", "view", "retry", "schedule", "workflow", "internal/engine", "internal/request", "internal/core", "internal/history", "internal/near", "internal/seal"},
		why: "operator verbs stand beside the root, which stays small; they reach the engine that is hidden in the public one",
	},
	{
		pkg: "activity",
		may: []string{"retry", "gate", "internal/attemptkey", "internal/seal"},
		why: "a declaration; who runs it does not concern it",
	},
	{
		pkg: "workflow",
		may: []string{"intercept", "internal/around", "activity", "retry", "gate", "internal/core", "internal/coro", "internal/firstlast", "internal/history", "internal/seal"},
		why: "verbs turn into commands of the core; no verb does I/O",
	},
	{
		pkg: "internal/near",
		why: "finding the word that was meant needs words only; flow files and the policies of the dashboard have such words",
	},
	{
		pkg: "internal/wall",
		why: "schedules and flow files read a clock by one rule, which needs a database of time zones only",
	},
	{
		pkg: "internal/flow/syntax",
		may: []string{"retry", "internal/near"},
		why: "reading and printing flow files is pure; editors and checkers need nothing else",
	},
	{
		pkg: "internal/flow/eval",
		may: []string{"internal/flow/syntax", "internal/wall", "retry"},
		why: "what a program asks of the world is an interface, so that the durable interpreter and a plain one are the same code",
	},
	{
		pkg: "internal/flow/check",
		may: []string{"internal/flow/syntax", "internal/flow/eval", "internal/near", "retry"},
		why: "what is wrong with a program can be told without running it, and without an engine",
	},
	{
		pkg: "internal/flow/rehearsal",
		may: []string{"internal/flow/syntax", "internal/flow/eval", "retry", "internal/coro"},
		why: "a rehearsal is the evaluator in virtual time: it needs coroutines and decisions, and no engine",
	},
	{
		pkg: "flow",
		may: []string{".", "activity", "workflow", "gate", "retry", "retry/httpretry", "internal/flow/syntax", "internal/flow/eval", "internal/flow/check", "internal/seal", "internal/see"},
		why: "the interpreter is an ordinary workflow: what it cannot do with the public packages, no user can. Activities it takes apart, because it knows neither their types nor what files add: gates and secrets",
	},
	{
		pkg: "internal/dbname",
		why: "names of databases are read in one way by programs and by the command line; it knows no driver",
	},
	{
		pkg: "store",
		may: []string{"internal/dbname", "internal/see"},
		why: "the contract is for those who write stores: they need no other package, and texts only an address",
	},
	{
		pkg:  "store/storetest",
		may:  []string{"store"},
		from: []string{"pgregory.net/rapid"},
		why:  "the suite knows the contract and no implementation",
	},
	{
		pkg: "internal/mailbox",
		may: []string{"store"},
		why: "stores whose listeners are in the same process share it; it knows nothing else of them",
	},
	{
		pkg: "internal/migration",
		why: "it reads scripts; what they do to a database is the store's own",
	},
	{
		pkg:  "internal/filelock",
		from: []string{"golang.org/x/sys"},
		why:  "it knows files only",
	},
	{
		pkg:  "codec",
		may:  []string{"store", "retry", "internal/entity", "internal/envelope", "internal/history", "internal/see"},
		test: []string{"github.com/jackc/pgx/v5"},
		why:  "it stands between the engine and any store, and knows of the engine only who wrote a turn; nothing but programs imports it, so nobody pays who does not",
	},
	{
		pkg: "store/copying",
		may: []string{"store", "internal/entity", "internal/envelope", "internal/history", "internal/ident", "internal/see"},
		why: "it copies over the contract, whatever the stores; it knows where an engine places rows, and the form of a recording",
	},
	{
		pkg: "store/memory",
		may: []string{"store", "internal/mailbox"},
		why: "a store knows the contract, not the engine",
	},
	{
		pkg:  "store/sqlite",
		may:  []string{"store", "internal/dbname", "internal/mailbox", "internal/filelock", "internal/migration", "internal/see"},
		from: []string{"modernc.org/sqlite"},
		test: []string{"modernc.org/libc"},
		why:  "a store knows the contract, not the engine; each database driver lives in one package. A test replaces the file layer below SQLite",
	},
	{
		pkg:  "store/postgres",
		may:  []string{"store", "internal/dbname", "internal/ident", "internal/migration", "internal/see"},
		from: []string{"github.com/jackc/pgx/v5"},
		why:  "a store knows the contract, not the engine; each database driver lives in one package. The texts of run IDs are kept as the bytes that they stand for",
	},
	{
		pkg:  "internal/pgtest",
		may:  []string{"internal/extent"},
		from: []string{"github.com/jackc/pgx/v5"},
		why:  "it starts a server for any test; what runs on it does not concern it",
	},
	{
		pkg:  "internal/pgbubble",
		may:  []string{"store", "store/postgres", "internal/mailbox", "internal/pgtest"},
		from: []string{"github.com/jackc/pgx/v5"},
		why:  "it gives tests a database in virtual time, so that they need not know its driver",
	},
	{
		pkg: "internal/faulty",
		may: []string{"store"},
		why: "it wraps any store to make it fail",
	},
	{
		pkg: "internal/golden",
		may: []string{"retry", "internal/errname"},
		why: "the table of decisions that every runner of a policy is held to, so it knows none of them",
	},
	{
		pkg: "internal/extent",
		why: "tests of any package play more at night and less in the short form, by one rule",
	},
	{
		pkg: "internal/sqlitetest",
		may: []string{"store/sqlite"},
		why: "it makes files for any test; what they hold does not concern it",
	},
	{
		pkg: "internal/upgradetest",
		may: []string{".", "activity", "ops", "retry", "store", "view", "workflow"},
		why: "it runs an engine on two versions of a schema, whichever store they are of",
	},
	{
		pkg: "internal/goldenfile",
		why: "it compares texts; what they are about is the business of tests",
	},
	{
		pkg: "view/bounds",
		may: []string{"retry"},
		why: "users read these errors and the format of history returns them: they stand below both",
	},
	{
		pkg: "view",
		may: []string{"retry", "gate", "gate/spec", "schedule", "view/bounds", "internal/errname"},
		why: "what users read is plain data: it must show in go doc and bring nothing along",
	},
	{
		pkg: "internal/ident",
		why: "identifiers are made of time and chance alone",
	},
	{
		pkg: "internal/entity",
		may: []string{"store", "internal/history"},
		why: "what an ID names and in which partition it is are part of the format: they depend on no code that runs",
	},
	{
		pkg: "internal/record",
		may: []string{"internal/entity", "schedule", "store", "internal/core", "internal/history", "view", "internal/ident", "internal/message"},
		why: "it translates between the store, which knows bytes, and the core, which knows no store; under which name the runs of a flow file are counted and shown is one rule",
	},
	{
		pkg: "internal/roomtest",
		may: []string{"retry", "store", "store/memory", "internal/core", "internal/entity", "gate/spec", "internal/history", "internal/ident", "internal/message", "internal/record"},
		why: "tests of rooms make their runs without an engine, so that they run again only when their own room has changed",
	},
	{
		pkg: "internal/policylab",
		may: []string{"retry", "view", "internal/core"},
		why: "what another policy would have done is computed from the record by retry.Decide: that needs no database and no clock",
	},
	{
		pkg: "internal/inspect",
		may: []string{"internal/policylab", "store", "view", "gate/spec", "retry", "internal/core", "internal/entity", "internal/near", "internal/history", "internal/ident", "internal/message", "internal/record", "internal/gates", "internal/suspects", "internal/replay"},
		why: "what only reads stands on store.Reader: it can change nothing and needs no engine",
	},
	{
		pkg: "internal/replay",
		may: []string{"internal/workers", "internal/core", "internal/history", "internal/coro", "internal/seal", "internal/see"},
		why: "recorded histories are replayed beside tests: that needs no store and no engine",
	},
	{
		pkg: "internal/message",
		may: []string{"store", "internal/core", "internal/history", "internal/entity", "internal/ident"},
		why: "those who send and those who read a message share its format and nothing else",
	},
	{
		pkg: "internal/clock",
		why: "time is read where it is kept, and depends on nothing else",
	},
	{
		pkg: "internal/workers",
		why: "a pool of goroutines does not know what runs on them",
	},
	{
		pkg: "internal/outage",
		may: []string{"internal/clock", "retry", "internal/logs", "store"},
		why: "whether the database answers is noted by all who use it, and asked by the engine: it stands below them",
	},
	{
		pkg: "internal/steptx",
		may: []string{"internal/workers", "retry", "store"},
		why: "it bounds what users do in a transaction; whose transaction that is does not matter",
	},
	{
		pkg: "internal/logs",
		why: "what is logged is written in one place, by those who know what happened; it knows none of them",
	},
	{
		pkg: "internal/commit",
		may: []string{"internal/clock", "internal/logs", "internal/outage", "retry", "store"},
		why: "to a committer a turn is bytes with a result: it knows neither runs nor the engine",
	},
	{
		pkg: "internal/member",
		may: []string{"store", "internal/clock", "internal/ident", "internal/logs", "internal/outage", "internal/see"},
		why: "who owns a partition is decided without knowing what is done in it",
	},
	{
		pkg: "internal/request",
		may: []string{"gate/spec", "intercept", "internal/around", "retry", "internal/core", "internal/entity", "internal/history", "internal/ident", "internal/inspect", "internal/message", "internal/record", "internal/steptx", "schedule", "store", "view", "internal/see"},
		why: "it asks by rows, in a process that serves runs and in one that does not; what the engine does faster is an interface",
	},
	{
		pkg: "internal/dispatch",
		may: []string{"store", "internal/core", "internal/fair", "internal/heap", "internal/suspects", "internal/clock", "internal/see"},
		why: "who may start is decided by who waits for what: it knows neither runs nor bodies",
	},
	{
		pkg: "internal/post",
		may: []string{"store", "internal/attempt", "internal/core"},
		why: "where a message waits is decided without reading the inbox, and without the runs that get it",
	},
	{
		pkg: "internal/feed",
		may: []string{"internal/clock", "internal/dispatch", "internal/logs", "internal/outage", "internal/post", "store"},
		why: "what is read ahead is handed to whoever asked for it: it knows no run, and no lock but that of a reader",
	},
	{
		pkg: "internal/settings",
		may: []string{"intercept", "internal/around", "internal/core", "internal/history", "internal/logs", "internal/program", "internal/record", "internal/registry", "internal/seal", "internal/see", "internal/sweep", "retry", "store", "view"},
		why: "what an engine is told is checked before there is one",
	},
	{
		pkg: "internal/placement",
		may: []string{"store", "internal/clock", "internal/core", "internal/entity", "internal/history", "internal/outage", "internal/record", "internal/dispatch"},
		why: "where a run continues is decided by what nodes have of its code; who moves it is the engine",
	},
	{
		pkg: "internal/suspicion",
		may: []string{"store", "internal/clock", "internal/core", "internal/dispatch", "internal/entity", "internal/ident", "internal/logs", "internal/outage", "internal/placement", "internal/record", "internal/suspects"},
		why: "what may kill a process is known from what is on record: it runs no code, and asks for no run",
	},
	{
		pkg: "internal/sweep",
		may: []string{"store", "view", "internal/clock", "internal/core", "internal/history", "internal/inspect", "internal/logs"},
		why: "what is deleted follows from the rows of closed runs: it needs nothing that runs",
	},
	{
		pkg: "internal/attempt",
		may: []string{"activity", "workflow", "retry", "internal/core", "internal/dispatch", "internal/history", "internal/clock", "internal/steptx", "internal/workers", "internal/seal"},
		why: "a body runs without knowing who owns its run, or whether there is a database",
	},
	{
		pkg: "internal/serve",
		may: []string{"activity", "retry", "store", "internal/attempt", "internal/clock", "internal/core", "internal/dispatch", "internal/history", "internal/ident", "internal/logs", "internal/message", "internal/outage", "internal/record", "internal/seal", "internal/see"},
		why: "a process that serves queues runs attempts as a node does, and has neither runs nor partitions",
	},
	{
		pkg: "internal/registry",
		may: []string{"activity", "intercept", "internal/around", "internal/core", "internal/errname", "internal/history", "internal/logs", "internal/lossy", "internal/near", "internal/program", "internal/record", "internal/seal", "internal/see", "retry"},
		why: "what is registered is known before anything runs, to workers of queues as to nodes",
	},
	{
		pkg: "internal/program",
		why: "which program this is depends on nothing",
	},
	{
		pkg: "internal/report",
		may: []string{"internal/core", "internal/history", "internal/logs", "retry"},
		why: "what a durable turn is worth telling follows from the turn",
	},
	{
		pkg: "internal/hold",
		may: []string{"internal/core", "internal/coro", "internal/history", "internal/placement", "internal/post", "internal/registry", "internal/replay", "internal/seal", "internal/suspects", "internal/suspicion", "store", "view", "internal/clock"},
		why: "why a run has no code follows from its record, from what is registered and from what is under suspicion; what is done about it is the engine's",
	},
	{
		pkg: "internal/codecheck",
		may: []string{"internal/core", "internal/coro", "internal/history", "internal/hold", "internal/inspect", "internal/record", "internal/replay", "internal/seal", "store", "view"},
		why: "it reads and replays, and needs no engine that runs",
	},
	{
		pkg: "internal/engine",
		may: []string{"activity", "intercept", "internal/around", "internal/attempt", "internal/clock", "internal/codecheck", "internal/commit", "internal/core", "internal/dispatch", "internal/entity", "internal/history", "internal/hold", "internal/ident", "internal/inspect", "internal/logs", "internal/member", "internal/message", "internal/outage", "internal/placement", "internal/post", "internal/record", "internal/registry", "internal/replay", "internal/report", "internal/request", "internal/seal", "internal/see", "internal/serve", "internal/steptx", "internal/suspects", "internal/suspicion", "internal/sweep", "internal/workers", "retry", "store", "view", "internal/feed", "internal/settings"},
		why: "the engine drives the core over any store; it must not know which",
	},
	{
		pkg: ".",
		may: []string{"intercept", "view", "workflow", "retry", "schedule", "store", "internal/engine", "internal/request", "internal/history", "internal/core", "internal/seal", "internal/record", "internal/settings"},
		why: "the face of the engine; the store is an argument, so users get no driver they did not import",
	},
	{
		pkg: "access",
		may: []string{"internal/see"},
		why: "who may ask over HTTP is data, the same for every handler; it needs no engine",
	},
	{
		pkg: "internal/web",
		may: []string{"access"},
		why: "what a request must pass is decided by the table of routes, without knowing what the routes do",
	},
	{
		pkg: "internal/param",
		may: []string{"internal/human"},
		why: "what people and programs give is read from fields of structs, whatever these are about",
	},
	{
		pkg: "internal/listing",
		may: []string{".", "ops", "view", "internal/human", "internal/param", "internal/wording"},
		why: "the table of lists is a user of the public verbs; what it says is the same in all faces, and it knows none of them",
	},
	{
		pkg: "internal/command",
		may: []string{".", "ops", "retry", "gate", "gate/spec", "schedule", "view", "workflow", "internal/human", "internal/param", "internal/policyedit", "internal/wording"},
		why: "the table of commands is a user of the public verbs; the faces are made from it, and it knows none of them",
	},
	{
		pkg: "api",
		may: []string{".", "access", "gate", "internal/command", "internal/human", "internal/listing", "internal/near", "internal/param", "internal/policyedit", "internal/web", "internal/wording", "ops", "retry", "schedule", "store", "view", "workflow"},
		why: "it serves what the public packages do; what it cannot do, their users cannot",
	},
	{
		pkg: "internal/web/webtest",
		may: []string{"access", "internal/web"},
		why: "it tests any table of routes, whatever they do",
	},
	{
		pkg: "perduretest",
		may: []string{"internal/replay", "view", ".", "ops", "activity", "workflow", "store", "store/memory", "internal/engine", "internal/faulty", "internal/history", "internal/core", "internal/seal", "internal/see", "internal/settings"},
		why: "it runs the engine in virtual time, in memory",
	},
	{
		pkg:  "dashboard",
		may:  []string{".", "access", "ops", "view", "retry", "schedule", "store", "internal/command", "internal/human", "internal/listing", "internal/near", "internal/param", "internal/policyedit", "internal/web", "internal/wording"},
		test: []string{"github.com/chromedp"},
		why:  "the pages are a user of the public verbs, as the command is; the tests look at them in a browser",
	},
	{
		pkg:  "cmd/perdure/...",
		may:  []string{"view", ".", "ops", "activity", "workflow", "retry", "retry/httpretry", "gate", "schedule", "store", "codec", "store/copying", "store/memory", "store/sqlite", "store/postgres", "flow", "internal/flow/syntax", "internal/flow/eval", "internal/flow/check", "internal/flow/rehearsal", "access", "api", "dashboard", "internal/dbname", "internal/filelock", "internal/human", "internal/see", "internal/near", "internal/notation", "internal/command", "internal/listing", "internal/param", "internal/policyedit", "internal/torture", "internal/wording", "telemetry", "cmd/perdure/...", "internal/seal"},
		from: []string{"github.com/spf13/cobra", "github.com/spf13/pflag", "github.com/mattn/go-isatty", "github.com/clipperhouse/displaywidth", "golang.org/x/sys", "github.com/jackc/pgx/v5"},
		test: []string{"github.com/rogpeppe/go-internal/testscript"},
		why:  "the command is a user of the public packages like any other; what it cannot do, they cannot. Its help lists the keys of internal/notation, as docs/notation.md does. It checks, formats and rehearses flow files, which needs their trees",
	},
	{
		pkg:  "examples/...",
		may:  []string{"view", ".", "ops", "activity", "gate", "workflow", "retry", "retry/httpretry", "schedule", "store", "store/sqlite", "store/postgres", "examples/internal/kill"},
		from: []string{"modernc.org/sqlite"},
		why:  "they are copied into other modules, so they use what others can use; kill is for their tests",
	},
	{
		pkg: "internal/docs",
		why: "tests only; it holds pages to code",
	},
	{
		pkg: "internal/chart",
		may: []string{"internal/human"},
		why: "it draws the pictures of the documents from numbers; the bench and the storm laboratory have them",
	},
	{
		pkg: "internal/layout",
		why: "tests only",
	},
	{
		pkg: "internal/witness",
		may: []string{".", "ops", "activity", "gate", "view", "workflow", "retry", "store"},
		why: "what all share that hurt processes: it uses the library as anybody would, on whatever store it is handed",
	},
	{
		pkg: "internal/torture",
		may: []string{".", "ops", "view", "store", "internal/witness"},
		why: "it hurts processes that work on any database it is handed; which driver that needs is the business of its users",
	},
	{
		pkg: "internal/killtest",
		why: "tests only",
	},
	{
		pkg:  "internal/sim",
		test: []string{"github.com/anishathalye/porcupine"},
		why:  "tests only",
	},
	{
		pkg:  "internal/clustertest",
		from: []string{"github.com/jackc/pgx/v5"},
		why:  "tests only; they look into the tables themselves",
	},
}

// testsMayUse are the modules of others that any test may import.
var testsMayUse = []string{"pgregory.net/rapid"}

// ban forbids a package to a few of ours. A deep ban covers all that they
// import, directly or not; the others only what they name themselves.
type ban struct {
	of   []string
	what []string
	deep bool
	why  string
}

var bans = []ban{
	{
		of:   []string{".", "retry", "gate", "activity", "workflow", "internal/flow/syntax", "internal/flow/eval", "internal/flow/check", "flow", "store", "store/storetest", "store/memory", "internal/history", "internal/gates", "internal/core", "internal/coro", "internal/engine", "perduretest"},
		what: []string{"database/sql/...", "modernc.org/...", "github.com/mattn/...", "github.com/ncruces/...", "github.com/jackc/..."},
		deep: true,
		why:  "users link no database driver that they did not import, and the engine must not know which store it has",
	},
	{
		of:   []string{".", "retry", "gate", "activity", "workflow", "internal/flow/syntax", "internal/flow/eval", "internal/flow/check", "flow", "store", "store/memory", "store/sqlite", "internal/history", "internal/gates", "internal/core", "internal/coro", "internal/engine", "cmd/perdure"},
		what: []string{"testing/...", "pgregory.net/..."},
		deep: true,
		why:  "package testing registers flags and does not belong into programs",
	},
	{
		of:   []string{"internal/core", "internal/history", "internal/gates"},
		what: []string{"github.com/robfig/...", "time/tzdata"},
		deep: true,
		why:  "what is recorded, and what is decided by it, does not depend on how a cron expression is read",
	},
	{
		of:   []string{"internal/core", "internal/fair", "internal/gates", "internal/heap"},
		what: []string{"os/...", "io/fs", "net/...", "database/...", "syscall", "runtime/...", "context", "embed"},
		why:  "the core does no I/O; its shell does",
	},
	{
		of:   []string{"internal/core", "internal/fair", "internal/gates", "internal/heap"},
		what: []string{"math/rand/...", "crypto/...", "hash/maphash"},
		why:  "randomness is an argument of the core; a replay must draw the same",
	},
	{
		of:   []string{"internal/core", "internal/fair", "internal/gates", "internal/heap"},
		what: []string{"log/..."},
		why:  "the core logs nothing: a replay would log it again",
	},
	{
		of:   []string{"internal/core", "internal/fair", "internal/gates", "internal/heap"},
		what: []string{"sync/..."},
		why:  "the core is stepped by one goroutine and shares nothing",
	},
}

// clocks are the functions of package time that read a clock or wait for one.
var clocks = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}

// pure are the packages without a clock and without goroutines.
var pure = []string{"internal/core", "internal/fair", "internal/gates", "internal/heap"}

const (
	maxFileLines     = 500
	maxFunctionLines = 80
)
