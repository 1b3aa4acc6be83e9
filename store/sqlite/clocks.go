package sqlite

import "time"

// markEvery is how far the recorded clock of a partition may fall behind the one in memory.
// Recording it in every commit would cost a page each time. A process that dies loses at
// most this much, which matters only if the machine's clock is also set back.
const markEvery = int64(time.Second)

// clocks are the clocks of the partitions to which this handle committed turns: the
// high-water marks of engine time. The holder of the writer guards them.
type clocks map[int]int64

// clock returns a partition's clock: now, unless the mark is later.
func (m clocks) clock(partition int, now int64) int64 { return max(now, m[partition]) }

// advance notes the clock of a commit.
func (m clocks) advance(partition int, clock int64) {
	m[partition] = max(m[partition], clock)
}

// save records the clocks.
func (m clocks) save(c *conn) error {
	for partition, clock := range m {
		if err := c.recordClock(partition, clock); err != nil {
			return err
		}
	}
	return nil
}

func (c *conn) recordClock(partition int, clock int64) error {
	_, err := c.exec(`UPDATE partitions SET clock = max(clock, ?) WHERE id = ?`, clock, int64(partition))
	return err
}
