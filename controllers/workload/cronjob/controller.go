package cronjob

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	batchlisters "k8s.io/client-go/listers/batch/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	"github.com/berthproject/berth/controllers/runner"
	workloadcontroller "github.com/berthproject/berth/controllers/workload"
	"github.com/berthproject/berth/controllers/workqueue"
	"github.com/berthproject/berth/engine/workload"
	"github.com/berthproject/berth/internal/apierror"
)

const (
	workers = 4
	// component is the upstream source of the events.
	component = "cronjob-controller"
	// timerSlack prevents timers from firing slightly too early.
	timerSlack = 10 * time.Millisecond
)

// Kind is the kind that this controller reconciles.
var Kind = batchv1.SchemeGroupVersion.WithKind("CronJob")

type controller struct {
	env    runner.Environment
	client kubernetes.Interface
	lister batchlisters.CronJobLister
	jobs   cache.SharedIndexInformer
	dedup  *workloadcontroller.EventDeduplicator
	events record.EventRecorder
	skew   prometheus.Histogram // of Job creations

	mu          sync.Mutex
	lastCreates map[types.UID]lastCreate
}

// lastCreate is the last Job created for a CronJob. Until the cache shows it, the CronJob is not reconciled.
type lastCreate struct{ due, at time.Time }

// cacheLagTimeout bounds how long the cache may lag; after that, another writer must have changed the status.
const cacheLagTimeout = 10 * time.Second

// Run creates Jobs until ctx is done; see workqueue.Run. Metrics are registered with registerer, which may be nil.
func Run(ctx context.Context, p runner.Process, registerer prometheus.Registerer) error {
	skew, err := newMetrics(registerer)
	if err != nil {
		return err
	}
	return workqueue.Run(ctx, p, component, func(p *runner.Process) error { return add(p, skew) })
}

func add(p *runner.Process, skew prometheus.Histogram) error {
	crons, jobs := p.Informers.Batch().V1().CronJobs(), p.Informers.Batch().V1().Jobs().Informer()
	c := &controller{env: p.Environment, skew: skew, client: p.Client, lister: crons.Lister(), jobs: jobs, dedup: workloadcontroller.NewEventDeduplicator(), events: p.Events, lastCreates: map[types.UID]lastCreate{}}
	queue := runner.NewQueue(p, runner.QueueOptions{Name: "cronjob", Action: "Reconciling the CronJob", Workers: workers}, c.sync)
	p.Queues.WaitFor(crons.Informer().HasSynced, jobs.HasSynced)
	if err := workloadcontroller.IndexByController(jobs); err != nil {
		return err
	}
	err := workqueue.Watch(crons.Informer(), func(old, cur *batchv1.CronJob) {
		if cur != nil {
			queue.Add(workloadcontroller.KeyOf(cur))
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.lastCreates, old.UID)
	})
	if err != nil {
		return err
	}
	return workloadcontroller.WatchControlled[*batchv1.Job](jobs, Kind, queue.Add, nil)
}

// sync reconciles one CronJob.
func (c *controller) sync(ctx context.Context, key types.NamespacedName) (requeueAfter time.Duration, err error) {
	cj, err := c.lister.CronJobs(key.Namespace).Get(key.Name)
	if err != nil {
		return 0, apierror.IgnoreNotFound(err)
	}
	if cj.DeletionTimestamp != nil {
		return 0, nil // the garbage collector deletes or orphans its Jobs
	}
	if wait := c.cacheLag(cj); wait > 0 {
		return wait, nil
	}
	r := &reconciliation{controller: c, now: c.env.Now(), old: cj, cj: cj.DeepCopy(), jobs: workloadcontroller.Controlled[*batchv1.Job](c.jobs, cj, false)}
	if err := r.updateActive(ctx); err != nil {
		return 0, err
	}
	wake, err := r.schedule(ctx)
	if err != nil {
		return 0, err
	}
	if err := r.updateStatus(ctx); err != nil {
		return 0, err
	}
	if err := r.cleanUpFinishedJobs(ctx); err != nil || wake.IsZero() {
		return 0, err
	}
	return max(wake.Sub(c.env.Now())+timerSlack, timerSlack), nil
}

// cacheLag returns the maximum time to wait for the cache to show the last created Job.
func (c *controller) cacheLag(cj *batchv1.CronJob) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	last, ok := c.lastCreates[cj.UID]
	if !ok || cj.Status.LastScheduleTime != nil && !cj.Status.LastScheduleTime.Time.Before(last.due) {
		return 0
	}
	return max(0, cacheLagTimeout-c.env.Since(last.at))
}

// newCronJob converts a CronJob with the given number of active Jobs for engine/workload.
func newCronJob(cj *batchv1.CronJob, s workload.Schedule, active int) *workload.CronJob {
	out := &workload.CronJob{
		Schedule: s, Created: cj.CreationTimestamp.Time, Suspend: cj.Spec.Suspend != nil && *cj.Spec.Suspend, Deleting: cj.DeletionTimestamp != nil, Active: active,
		Concurrency: map[batchv1.ConcurrencyPolicy]workload.Concurrency{batchv1.ForbidConcurrent: workload.Forbid, batchv1.ReplaceConcurrent: workload.Replace}[cj.Spec.ConcurrencyPolicy],
	}
	if cj.Status.LastScheduleTime != nil {
		out.LastScheduled = cj.Status.LastScheduleTime.Time
	}
	if d := cj.Spec.StartingDeadlineSeconds; d != nil {
		out.HasDeadline, out.Deadline = true, time.Duration(min(*d, int64(100*365*24*time.Hour/time.Second)))*time.Second
	}
	return out
}
