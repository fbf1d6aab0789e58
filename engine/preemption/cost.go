package preemption

import (
	"cmp"

	"github.com/berthproject/berth/engine/model"
)

// cost is the cost of preemption on a node: the criteria that compare victims, in order.
type cost struct {
	violations int32
	highest    int32 // priority of the most important victim
	sum        int64 // sum of the victims' priorities, each plus 2^31 so that every victim counts
	victims    int32
	// earliestStart is the earliest start, in Unix seconds, among the victims of the highest
	// priority. Later is better, because less work is lost.
	earliestStart int64
}

// costOf returns the cost of victims, which are sorted by descending importance.
func costOf(victims []*model.Pod, violations int) cost {
	c := cost{violations: int32(violations), highest: victims[0].Spec.Priority,
		victims: int32(len(victims)), earliestStart: startSeconds(victims[0])}
	for _, p := range victims {
		c.sum += int64(p.Spec.Priority) + 1<<31
	}
	return c
}

// compare returns a negative number if c is lower than d, a positive number if c is higher, and 0 if both
// are equal.
func (c *cost) compare(d *cost) int {
	switch {
	case c.violations != d.violations:
		return cmp.Compare(c.violations, d.violations)
	case c.highest != d.highest:
		return cmp.Compare(c.highest, d.highest)
	case c.sum != d.sum:
		return cmp.Compare(c.sum, d.sum)
	case c.victims != d.victims:
		return cmp.Compare(c.victims, d.victims)
	}
	return -cmp.Compare(c.earliestStart, d.earliestStart)
}
