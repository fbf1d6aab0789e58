// Package cronjob creates the Jobs of CronJobs. It runs engine/workload's CronJob against the API.
// It parses schedules with github.com/robfig/cron, as Kubernetes does.
//
// A Job's name is derived from its scheduled minute, so no Job is created twice, even after crashes. Only
// the last of several missed times gets a Job, if startingDeadlineSeconds allows.
//
// Differences from Kubernetes:
//
//   - The active Jobs follow from the existing Jobs.
//   - A Job whose creation was not recorded in the status is adopted without an event.
//   - The last missed time is exact for every schedule, also across changes to daylight saving time and for any
//     number of missed times. Kubernetes extrapolates from the first two.
package cronjob
