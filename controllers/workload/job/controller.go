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
	s := &controller{env: p.Environment, client: p.Client, lister: jobs.Lister(), pods: pods, podInformer: p.Informers.Core().V1().Pods().Informer(), avoidHolds: avoid, events: p.Events,
		dedup: workloadcontroller.NewEventDeduplicator(), untracked: newUntrackedPods(), writes: newWriteCache(), metrics: metrics}
	s.queue = runner.NewQueue(p, runner.QueueOptions{Name: "job", Action: "Reconciling the Job", Workers: workers}, s.sync)
	s.orphanQueue = runner.NewQueue(p, runner.QueueOptions{Name: "job_orphan_pod", Action: "Releasing an orphaned pod", Workers: 1}, s.releaseOrphan)
	p.Queues.WaitFor(jobs.Informer().HasSynced, pods.HasSynced)
	return s.watch(jobs.Informer())
}

// watch enqueues a Job when it, its pods or its Holds change, or when a pod appears that it may adopt. It
// enqueues a tracked pod in orphanQueue if the pod has no controller or its Job does not exist.
func (s *controller) watch(jobs cache.SharedInformer) error {
	err := workqueue.Watch(jobs, func(old, cur *batchv1.Job) {
		if cur != nil {
			s.queue.Add(workloadcontroller.KeyOf(cur))
			return
		}
		s.queue.Add(workloadcontroller.KeyOf(old)) // remove it from the write cache
		for _, p := range s.pods.ListOwned(old) {
			s.orphanQueue.Add(workloadcontroller.KeyOf(p))
		}
	})
	if err != nil {
		return err
	}
	s.avoidHolds.OnChange(func(kind string, owner types.NamespacedName) {
		if kind == Kind.Kind {
			s.queue.Add(owner)
		}
	})
	err = workqueue.Watch(s.podInformer, func(_, cur *corev1.Pod) {
		if cur != nil && isTracked(cur) {
			if ref := metav1.GetControllerOfNoCopy(cur); ref == nil || ref.Kind == Kind.Kind && s.jobMissing(cur.Namespace, ref) {
				s.orphanQueue.Add(workloadcontroller.KeyOf(cur))
			}
		}
	})
	if err != nil {
		return err
	}
	err = workqueue.Watch(s.podInformer, func(old, cur *corev1.Pod) {
		if cur == nil || !isTracked(cur) {
			s.untracked.observe(old, cur)
		}
	})
	if err != nil {
		return err
	}
	return s.pods.Watch(Kind, func(owner types.NamespacedName) { s.queue.AddAfter(owner, batchDelay) }, s.enqueueForOrphan)
}

// jobMissing reports whether a pod's Job is missing in the cache.
func (s *controller) jobMissing(namespace string, ref *metav1.OwnerReference) bool {
	job, err := s.lister.Jobs(namespace).Get(ref.Name)
	return err != nil || job.UID != ref.UID
}

// enqueueForOrphan enqueues the Jobs that may adopt a pod.
func (s *controller) enqueueForOrphan(p *corev1.Pod) {
	if !isTracked(p) {
		return
	}
	list, _ := s.lister.Jobs(p.Namespace).List(labels.Everything())
	for _, job := range list {
		if workloadcontroller.Selects(job.Spec.Selector, p) {
			s.queue.Add(workloadcontroller.KeyOf(job))
		}
	}
}

// sync reconciles one Job.
func (s *controller) sync(ctx context.Context, key types.NamespacedName) (requeueAfter time.Duration, err error) {
	job, err := s.lister.Jobs(key.Namespace).Get(key.Name)
	if job = s.writes.overlay(key, job); err != nil {
		return 0, apierror.IgnoreNotFound(err)
	}
	selector, err := metav1.LabelSelectorAsSelector(job.Spec.Selector)
	if err != nil || job.Spec.ManagedBy != nil && *job.Spec.ManagedBy != managedBy {
		return 0, nil
	}
	if err := s.pods.VerifyOverdue(ctx, job.UID); err != nil {
		return 0, err
	}
	owner := &workloadcontroller.Owner{Kind: Kind, Object: job, Selector: selector, Adopts: isTracked, GetLive: func(ctx context.Context) (metav1.Object, error) {
		return s.client.BatchV1().Jobs(job.Namespace).Get(ctx, job.Name, metav1.GetOptions{})
	}}
	pods, err := s.pods.Claim(ctx, owner)
	if err != nil {
		return 0, err
	}
	start := s.env.Now()
	wake, action, err := s.apply(ctx, owner, job, pods)
	s.metrics.observeSync(job, action, s.env.Since(start), err)
	return workloadcontroller.EarliestRequeue(s.env.Now(), s.pods.RequeueAfter(job.UID), wake), err
}
