package cronjob

import (
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // time zones independent of the operating system

	"github.com/robfig/cron/v3"
	batchv1 "k8s.io/api/batch/v1"

	"github.com/berthproject/berth/engine/workload"
)

// scheduleOf parses the schedule of a CronJob. reason is the event reason of an error.
func scheduleOf(cj *batchv1.CronJob) (s workload.Schedule, reason string, err error) {
	text := cj.Spec.Schedule
	if tz := cj.Spec.TimeZone; tz != nil && !strings.Contains(text, "TZ=") {
		if _, err := time.LoadLocation(*tz); err != nil {
			return nil, "UnknownTimeZone", fmt.Errorf("invalid timeZone: %q: %w", *tz, err)
		}
		text = "CRON_TZ=" + *tz + " " + text
	}
	parsed, err := cron.ParseStandard(text)
	if err != nil {
		return nil, "UnparseableSchedule", fmt.Errorf("unparseable schedule: %q : %w", cj.Spec.Schedule, err)
	}
	if every, ok := parsed.(cron.ConstantDelaySchedule); ok {
		anchor := cj.CreationTimestamp.Time
		if cj.Status.LastScheduleTime != nil {
			anchor = cj.Status.LastScheduleTime.Time
		}
		return intervalSchedule{anchor, every.Delay}, "", nil
	}
	return parsed, "", nil
}

// intervalSchedule is due at a fixed interval, counted from an anchor ("@every 90s").
type intervalSchedule struct {
	anchor time.Time
	every  time.Duration // at least one second
}

// Next returns the first time after t.
func (s intervalSchedule) Next(t time.Time) time.Time {
	if t.Before(s.anchor) {
		return s.anchor.Add(s.every)
	}
	return s.anchor.Add((t.Sub(s.anchor)/s.every + 1) * s.every)
}
