package pgtest

// Option changes how a server is started.
type Option func(*Cluster)

// Set sets a configuration parameter of the server, such as work_mem to "64MB".
func Set(name, value string) Option {
	return func(c *Cluster) { c.settings = append(c.settings, name+"="+value) }
}

// Only makes these, such as "work_mem=64MB", the settings of the server: for the others it has
// PostgreSQL's defaults.
func Only(settings ...string) Option { return func(c *Cluster) { c.settings = settings } }

// Durable makes commits survive a crash of the machine, as they do in
// production: without it nothing is flushed to the disk, which is enough to
// survive a crash of the server.
func Durable() Option {
	return func(c *Cluster) {
		c.settings = append(c.settings, "fsync=on", "full_page_writes=on", "synchronous_commit=on")
	}
}

// quick are the settings of a server whose data is not needed tomorrow.
func quick() []string {
	return []string{
		"fsync=off", "full_page_writes=off", "jit=off", "max_connections=200", "shared_buffers=64MB",
		"wal_level=minimal", "max_wal_senders=0", "max_wal_size=1GB", "log_min_messages=warning", "log_checkpoints=off",
	}
}

// In keeps the server's files in a directory, which may be a small file system.
func In(dir string) Option { return func(c *Cluster) { c.parent = dir } }
