package see

// The sections, in the order of the pages' menu. The comment says what an error that leads there
// is about.
const (
	CodeRules   = "(see docs/workflows.md#rules)"                            // workflow code that loops or waits for nothing
	Updates     = "(see docs/workflows.md#updates)"                          // an update whose handler did not return
	Testing     = "(see docs/testing.md#histories-from-production-in-ci)"    // recordings for replay
	Unknown     = "(see docs/retries.md#unknown-outcomes)"                   // an attempt whose outcome is unknown
	FlowTests   = "(see docs/flow.md#tests)"                                 // a test file beside a flow file
	FlowSecrets = "(see docs/flow.md#secrets)"                               // a secret that an action needs
	Transaction = "(see docs/transactions.md#which-type-of-transaction)"     // a transaction that the engine cannot use
	Commit      = "(see docs/transactions.md#a-step-that-writes-rows)"       // a body that writes in the engine's transaction
	Access      = "(see docs/http.md#access)"                                // a server that others can reach
	Misfit      = "(see docs/deploying.md#changes-that-do-not-fit)"          // code that does not fit the history
	NoCode      = "(see docs/deploying.md#runs-move-to-code-that-fits)"      // a run without a node that has its code
	Schema      = "(see docs/deploying.md#the-schema-of-the-database)"       // a schema of another version
	Pinned      = "(see docs/deploying.md#pinned-runs)"                      // runs that stay on a build
	Copying     = "(see docs/moving.md#the-copy-step-by-step)"               // a database that was copied
	Files       = "(see docs/moving.md#runs-as-files)"                       // runs in files
	SQLite      = "(see docs/production.md#sqlite)"                          // an SQLite file and where it lies
	PostgreSQL  = "(see docs/production.md#postgresql)"                      // the rights of a database user
	Damage      = "(see docs/production.md#damage)"                          // a database that is damaged
	Nodes       = "(see docs/scaling.md#nodes)"                              // names of nodes, connections, poolers
	Failover    = "(see docs/scaling.md#failover)"                           // a lease that is lost
	Citus       = "(see docs/scaling.md#past-one-server-citus)"              // distributed tables
	Queues      = "(see docs/queues.md#what-waits-where)"                    // calls that no process serves
	Workers     = "(see docs/queues.md#when-a-worker-leaves)"                // a worker that was taken for dead
	Limits      = "(see docs/limits.md#what-to-do-at-a-limit)"               // a limit that is reached
	Decoding    = "(see docs/codec.md#when-a-document-cannot-be-decoded)"    // a document that cannot be decoded
	Codecs      = "(see docs/codec.md#turn-on-and-off)"                      // a database that is written with codecs
	Probation   = "(see docs/retries-reference.md#probation-and-quarantine)" // code that ends its process
)
