package workload

import (
	"cmp"
	"slices"
	"time"

	"github.com/berthproject/berth/engine/order"
)

// Schedule is a cron schedule.
type Schedule interface {
	// Next returns the first time after t; zero if there is none.
	Next(t time.Time) time.Time
}

// TooManyMissed is the number of missed times above which a CronJob warns.
const TooManyMissed = 100

// Concurrency is a CronJob's concurrencyPolicy.
type Concurrency uint8

// The policies.
const (
	Allow Concurrency = iota
	Forbid
	Replace
)

// CronJob is the desired and actual state of a CronJob.
type CronJob struct {
	Schedule      Schedule
	Created       time.Time
	LastScheduled time.Time // scheduled time of the last job; zero: none
	Deadline      time.Duration
	HasDeadline   bool // Deadline is startingDeadlineSeconds
	Suspend       bool
	Deleting      bool
	Concurrency   Concurrency
	Active        int // jobs that are not finished
}

// CronPlan holds the changes to make now.
type CronPlan struct {
	Create         bool      // create a job
	Due            time.Time // its scheduled time
	Replace        bool      // delete the active jobs first
	StillActive    bool      // due, but a job is still active and Concurrency is Forbid
	DeadlineMissed bool      // due, but past its deadline
	Missed         int       // times since the last job and within Deadline, including Due; at most TooManyMissed+1
	Next           time.Time // when to plan again; zero: never
}

// Plan plans a CronJob. Of several missed times only the last one counts.
func (c *CronJob) Plan(now time.Time) CronPlan {
	var p CronPlan
	if c.Suspend || c.Deleting {
		return p
	}
	p.Next = c.Schedule.Next(now)
	since := c.LastScheduled
	if since.IsZero() {
		since = c.Created
	}
	due := LastDue(c.Schedule, since, now)
	if due.IsZero() {
		return p
	}
	p.Due = due
	if c.HasDeadline && due.Add(c.Deadline).Before(now) {
		p.DeadlineMissed = true
		return p
	}
	from := since
	if oldest := now.Add(-c.Deadline - 1); c.HasDeadline && oldest.After(from) {
		from = oldest
	}
	for t := c.Schedule.Next(from); !t.IsZero() && !t.After(now) && p.Missed <= TooManyMissed; t = c.Schedule.Next(t) {
		p.Missed++
	}
	switch {
	case c.Active > 0 && c.Concurrency == Forbid:
		p.StillActive = true
	default:
		p.Create, p.Replace = true, c.Active > 0 && c.Concurrency == Replace
	}
	return p
}

// LastDue returns the last scheduled time after since and not after now; zero if there is none. It
// searches back from now in doubling steps, so that a large clock jump is cheap.
func LastDue(s Schedule, since, now time.Time) time.Time {
	var last time.Time
	for window := time.Minute; ; window *= 2 {
		from := now.Add(-window)
		if !from.After(since) {
			from = since
		}
		for t := s.Next(from); !t.IsZero() && !t.After(now); t = s.Next(t) {
			last = t
		}
		if !last.IsZero() || from.Equal(since) || window > 1<<61 {
			return last
		}
	}
}

// FinishedJob is a finished job of a CronJob.
type FinishedJob struct {
	Name     string
	Failed   bool
	Started  time.Time // zero if it never started
	Finished time.Time
}

// ExcessJobs returns the indexes of the finished jobs that exceed the history limits, first
// succeeded jobs, then failed ones, each oldest first. A nil limit keeps all.
func ExcessJobs(jobs []FinishedJob, succeeded, failed *int32) (out []int) {
	for _, limit := range []struct {
		failed bool
		keep   *int32
	}{{false, succeeded}, {true, failed}} {
		if limit.keep == nil {
			continue
		}
		var indexes []int
		for i := range jobs {
			if jobs[i].Failed == limit.failed {
				indexes = append(indexes, i)
			}
		}
		slices.SortFunc(indexes, func(i, j int) int {
			a, b := &jobs[i], &jobs[j]
			return cmp.Or(order.TrueFirst(!a.Started.IsZero(), !b.Started.IsZero()), a.Started.Compare(b.Started), cmp.Compare(a.Name, b.Name))
		})
		out = append(out, indexes[:max(0, len(indexes)-int(*limit.keep))]...)
	}
	return out
}
