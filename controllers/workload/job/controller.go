package job

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	batchlisters "k8s.io/client-go/listers/batch/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	"github.com/berthproject/berth/controllers/runner"
	workloadcontroller "github.com/berthproject/berth/controllers/workload"
	"github.com/berthproject/berth/controllers/workqueue"
	"github.com/berthproject/berth/internal/apierror"
)

const (
	workers = 5
	// component is the upstream source of the events.
	component = "job-controller"
	// managedBy is the value of spec.managedBy that selects this controller.
	managedBy = "kubernetes.io/job-controller"
	// batchDelay is how long pod changes are collected, so that a Job with many pods is not updated for each of them.
	batchDelay = 100 * time.Millisecond
)

// Kind is the kind that this controller reconciles.
var Kind = batchv1.SchemeGroupVersion.WithKind("Job")

type controller struct {
	env         runner.Environment
	client      kubernetes.Interface
	lister      batchlisters.JobLister
	pods        *workloadcontroller.Pods
	podInformer cache.SharedIndexInformer
	avoidHolds  *workloadcontroller.AvoidHolds
	dedup       *workloadcontroller.EventDeduplicator
	untracked   *untrackedPods
	writes      *writeCache
	metrics     *jobMetrics
	events      record.EventRecorder
	queue       runner.Queue[types.NamespacedName]
	orphanQueue runner.Queue[types.NamespacedName] // tracked pods without a controller, or whose Job does not exist
}

// Run reconciles Jobs until ctx is done; see workqueue.Run. avoid supplies Avoid Holds and may be nil. Metrics are
// registered with registerer, which may be nil.
func Run(ctx context.Context, p runner.Process, avoid *workloadcontroller.AvoidHolds, registerer prometheus.Registerer) error {
	metrics, err := newMetrics(registerer)
	if err != nil {
		return err
	}
	return workqueue.Run(ctx, p, component, func(p *runner.Process) error { return add(p, avoid, metrics) })
}

func add(p *runner.Process, avoid *workloadcontroller.AvoidHolds, metrics *jobMetrics) error {
	pods, err := workloadcontroller.NewPods(p)
	if err != nil {
		return err
	}
	jobs := p.Informers.Batch().V1().Jobs()
	c := &controller{env: p.Environment, client: p.Client, lister: jobs.Lister(), pods: pods, podInformer: p.Informers.Core().V1().Pods().Informer(), avoidHolds: avoid, events: p.Events,
		dedup: workloadcontroller.NewEventDeduplicator(), untracked: newUntrackedPods(), writes: newWriteCache(), metrics: metrics}
	c.queue = runner.NewQueue(p, runner.QueueOptions{Name: "job", Action: "Reconciling the Job", Workers: workers}, c.sync)
	c.orphanQueue = runner.NewQueue(p, runner.QueueOptions{Name: "job_orphan_pod", Action: "Releasing an orphaned pod", Workers: 1}, c.releaseOrphan)
	p.Queues.WaitFor(jobs.Informer().HasSynced, pods.HasSynced)
	return c.watch(jobs.Informer())
}

// watch enqueues a Job when it, its pods or its Holds change, or when a pod appears that it may adopt. It
// enqueues a tracked pod in orphanQueue if the pod has no controller or its Job does not exist.
func (c *controller) watch(jobs cache.SharedInformer) error {
	err := workqueue.Watch(jobs, func(old, cur *batchv1.Job) {
		if cur != nil {
			c.queue.Add(workloadcontroller.KeyOf(cur))
			return
		}
		c.queue.Add(workloadcontroller.KeyOf(old)) // remove it from the write cache
		for _, p := range c.pods.ListOwned(old) {
			c.orphanQueue.Add(workloadcontroller.KeyOf(p))
		}
	})
	if err != nil {
		return err
	}
	c.avoidHolds.OnChange(func(kind string, owner types.NamespacedName) {
		if kind == Kind.Kind {
			c.queue.Add(owner)
		}
	})
	err = workqueue.Watch(c.podInformer, func(_, cur *corev1.Pod) {
		if cur != nil && isTracked(cur) {
			if ref := metav1.GetControllerOfNoCopy(cur); ref == nil || ref.Kind == Kind.Kind && c.jobMissing(cur.Namespace, ref) {
				c.orphanQueue.Add(workloadcontroller.KeyOf(cur))
			}
		}
	})
	if err != nil {
		return err
	}
	err = workqueue.Watch(c.podInformer, func(old, cur *corev1.Pod) {
		if cur == nil || !isTracked(cur) {
			c.untracked.observe(old, cur)
		}
	})
	if err != nil {
		return err
	}
	return c.pods.Watch(Kind, func(owner types.NamespacedName) { c.queue.AddAfter(owner, batchDelay) }, c.enqueueForOrphan)
}

// jobMissing reports whether a pod's Job is missing in the cache.
func (c *controller) jobMissing(namespace string, ref *metav1.OwnerReference) bool {
	job, err := c.lister.Jobs(namespace).Get(ref.Name)
	return err != nil || job.UID != ref.UID
}

// enqueueForOrphan enqueues the Jobs that may adopt a pod.
func (c *controller) enqueueForOrphan(p *corev1.Pod) {
	if !isTracked(p) {
		return
	}
	list, _ := c.lister.Jobs(p.Namespace).List(labels.Everything())
	for _, job := range list {
		if workloadcontroller.Selects(job.Spec.Selector, p) {
			c.queue.Add(workloadcontroller.KeyOf(job))
		}
	}
}

// sync reconciles one Job.
func (c *controller) sync(ctx context.Context, key types.NamespacedName) (requeueAfter time.Duration, err error) {
	job, err := c.lister.Jobs(key.Namespace).Get(key.Name)
	if job = c.writes.overlay(key, job); err != nil {
		return 0, apierror.IgnoreNotFound(err)
	}
	selector, err := metav1.LabelSelectorAsSelector(job.Spec.Selector)
	if err != nil || job.Spec.ManagedBy != nil && *job.Spec.ManagedBy != managedBy {
		return 0, nil
	}
	if err := c.pods.VerifyOverdue(ctx, job.UID); err != nil {
		return 0, err
	}
	owner := &workloadcontroller.Owner{Kind: Kind, Object: job, Selector: selector, Adopts: isTracked, GetLive: func(ctx context.Context) (metav1.Object, error) {
		return c.client.BatchV1().Jobs(job.Namespace).Get(ctx, job.Name, metav1.GetOptions{})
	}}
	pods, err := c.pods.Claim(ctx, owner)
	if err != nil {
		return 0, err
	}
	start := c.env.Now()
	wake, action, err := c.apply(ctx, owner, job, pods)
	c.metrics.observeSync(job, action, c.env.Since(start), err)
	return workloadcontroller.EarliestRequeue(c.env.Now(), c.pods.RequeueAfter(job.UID), wake), err
}
