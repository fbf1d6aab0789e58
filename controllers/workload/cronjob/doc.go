// Package cronjob makes the Jobs of CronJobs when they are due: the shell of engine/workload's CronJob over
// the API. Schedules are read by github.com/robfig/cron, as in Kubernetes.
//
// A Job's name is made of the minute that it was due, so none is made twice, however often the loop is
// killed. Of several times that were missed only the last one is made up for, if startingDeadlineSeconds allows.
//
// Differences from Kubernetes: which Jobs are active is told from the Jobs that are there; one whose making
// was not written down any more is taken up without an event; the last missed time is exact for every schedule, over
// changes of the clock too, however many were missed (Kubernetes estimates it from the distance of the first two).
package cronjob
