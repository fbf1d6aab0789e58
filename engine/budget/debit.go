package budget

import (
	"slices"
	"time"

	"github.com/berthproject/berth/engine/model"
)

// Debit returns the budget after it granted the disruption of a pod.
func Debit(b *model.Budget, p *model.Pod, now time.Time) *model.Budget {
	c := *b
	c.DisruptionsAllowed--
	i, found := slices.BinarySearch(c.Disrupted, p.Name)
	if found {
		c.DisruptedAt = slices.Clone(c.DisruptedAt)
		c.DisruptedAt[i] = now
		return &c
	}
	c.Disrupted = slices.Insert(slices.Clone(c.Disrupted), i, p.Name)
	c.DisruptedAt = slices.Insert(slices.Clone(c.DisruptedAt), i, now)
	return &c
}
