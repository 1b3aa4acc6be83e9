package logs

import "time"

// BreakerOpened is written when a breaker opens, and again when its probe fails. The key is that of the
// runs to which alone it belongs, "" if it belongs to all.
func (l *Log) BreakerOpened(gate, key string, until time.Time, failures int) {
	l.write(breakerOpened, gate, key, until, failures)
}

// BreakerClosed is written when the probe of a breaker succeeds.
func (l *Log) BreakerClosed(gate, key string) { l.write(breakerClosed, gate, key) }

// GatePaused is written when a gate is paused.
func (l *Log) GatePaused(gate, by, reason string) { l.write(gatePaused, gate, by, reason) }

// GateResumed is written when a gate is resumed.
func (l *Log) GateResumed(gate string) { l.write(gateResumed, gate) }

// GateEdited is written when a gate is edited.
func (l *Log) GateEdited(gate, by, reason, change string) {
	l.write(gateEdited, gate, by, reason, change)
}

// BreakerProbed is written when a person requests a probe of an open breaker.
func (l *Log) BreakerProbed(gate, by, reason string) { l.write(breakerProbed, gate, by, reason) }

// GateConflict is written once for each gate that calls declare differently.
func (l *Log) GateConflict(gate, before, now string) { l.write(gateConflict, gate, before, now) }

// EntityStuck is written when a gate or schedule cannot be read or written.
func (l *Log) EntityStuck(kind, name string, err error) { l.write(entityStuck, kind, name, err) }

// EntityFault is written when a gate or schedule gets a message that it cannot carry out.
func (l *Log) EntityFault(kind, name string, err error) { l.write(entityFault, kind, name, err) }
