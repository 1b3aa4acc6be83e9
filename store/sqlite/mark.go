package sqlite

import "time"

// markEvery is how far the clock of a partition on record may fall behind the
// one in memory. To write it in every commit would cost a page each time. A
// process that dies loses less than this of it, which matters only if the
// machine's clock is set back besides.
const markEvery = int64(time.Second)

// marks are the clocks of the partitions to which this handle committed turns:
// the high-water marks of engine time. They are guarded by holding the writer.
type marks map[int]int64

// clock is a partition's clock now, unless there is a later one on record.
func (m marks) clock(partition int, now int64) int64 { return max(now, m[partition]) }

// moved notes the clock of a commit.
func (m marks) moved(partition int, clock int64) {
	m[partition] = max(m[partition], clock)
}

// save puts the clocks on record.
func (m marks) save(c *conn) error {
	for partition, clock := range m {
		if err := c.mark(partition, clock); err != nil {
			return err
		}
	}
	return nil
}

func (c *conn) mark(partition int, clock int64) error {
	_, err := c.exec(`UPDATE partitions SET clock = max(clock, ?) WHERE id = ?`, clock, int64(partition))
	return err
}
