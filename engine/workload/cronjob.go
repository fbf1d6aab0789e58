package workload

import (
	"cmp"
	"slices"
	"time"
)

// Schedule tells when something is due.
type Schedule interface {
	// Next is the first time after t; zero if there is none.
	Next(t time.Time) time.Time
}

// TooManyMissed is above how many missed times a CronJob says so.
const TooManyMissed = 100

// Concurrency is what a CronJob does when its last job still runs.
type Concurrency uint8

// The policies.
const (
	Allow Concurrency = iota
	Forbid
	Replace
)

// CronJob is what is asked for.
type CronJob struct {
	Schedule      Schedule
	Created       time.Time
	LastScheduled time.Time // when it was due for the last job that was made; zero: never
	Deadline      time.Duration
	HasDeadline   bool // a job may be Deadline late; else any time
	Suspend       bool
	Deleting      bool
	Concurrency   Concurrency
	Active        int // jobs of it that are not over
}

// CronPlan is what to do now.
type CronPlan struct {
	Create         bool      // make a job
	Due            time.Time // for this time
	Replace        bool      // after deleting the active ones
	StillActive    bool      // it was due, but the last one still runs
	DeadlineMissed bool      // it was due, but its deadline is over
	Missed         int       // times since the last one, Due included, counted up to MissedMany+1
	Next           time.Time // when to look again; zero: never
}

// Plan decides about a CronJob. Of several times that were missed only the last one counts.
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

// LastDue is the last time after since, and not after now, at which something was due; zero if there is
// none. It looks back from now by steps that double, so a clock that jumped by years costs no more than one by hours.
func LastDue(s Schedule, since, now time.Time) time.Time {
	var last time.Time
	for back := time.Minute; ; back *= 2 {
		from := now.Add(-back)
		if !from.After(since) {
			from = since
		}
		for t := s.Next(from); !t.IsZero() && !t.After(now); t = s.Next(t) {
			last = t
		}
		if !last.IsZero() || from.Equal(since) || back > 1<<61 {
			return last
		}
	}
}

// FinishedJob is a job of a CronJob that is over.
type FinishedJob struct {
	Name     string
	Failed   bool
	Started  time.Time // zero if it never was
	Finished time.Time
}

// ExcessJobs tells which of the jobs that are over are to be deleted, as indexes, oldest first: beyond the limits, nil being none.
func ExcessJobs(jobs []FinishedJob, succeeded, failed *int32) (out []int) {
	for _, limit := range []struct {
		failed bool
		keep   *int32
	}{{false, succeeded}, {true, failed}} {
		if limit.keep == nil {
			continue
		}
		var of []int
		for i := range jobs {
			if jobs[i].Failed == limit.failed {
				of = append(of, i)
			}
		}
		slices.SortFunc(of, func(i, j int) int {
			a, b := &jobs[i], &jobs[j]
			return cmp.Or(trueFirst(!a.Started.IsZero(), !b.Started.IsZero()), a.Started.Compare(b.Started), cmp.Compare(a.Name, b.Name))
		})
		out = append(out, of[:max(0, len(of)-int(*limit.keep))]...)
	}
	return out
}
