package job

import (
	"context"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	batchlisters "k8s.io/client-go/listers/batch/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/control/loop"
	shared "github.com/berthproject/berth/control/workload"
)

const (
	workers = 5
	// component is the name under which Kubernetes reports the same events.
	component = "job-controller"
	// manager is who Jobs are managed by that are ours.
	manager = "kubernetes.io/job-controller"
	// gather is how long changes of pods are gathered, so that a Job of many pods is not written for each.
	gather = 100 * time.Millisecond
)

// Kind is what the loop looks after.
var Kind = batchv1.SchemeGroupVersion.WithKind("Job")

type shell struct {
	client kubernetes.Interface
	lister batchlisters.JobLister
	pods   *shared.Pods
	cache  cache.SharedIndexInformer // pods
	avoid  *shared.Avoid
	told   *shared.Once
	free   *free
	wrote  *wrote
	events record.EventRecorder
	loop   *loop.Loop[types.NamespacedName]
	strays *loop.Loop[types.NamespacedName] // pods whose Job is gone
}

// Run runs Jobs until ctx ends. factory (started here if it is not yet) supplies them and their pods; avoid (nil: nobody)
// knows the Holds. It returns an error only if it could not start.
func Run(ctx context.Context, client kubernetes.Interface, factory informers.SharedInformerFactory, avoid *shared.Avoid, log klog.Logger) error {
	events, stop := shared.Recorder(ctx, client, component)
	defer stop()
	pods, err := shared.NewPods(client, factory, events)
	if err != nil {
		return err
	}
	jobs := factory.Batch().V1().Jobs()
	s := &shell{client: client, lister: jobs.Lister(), pods: pods, cache: factory.Core().V1().Pods().Informer(), avoid: avoid, events: events, told: shared.NewOnce(), free: newFree(), wrote: newWrote()}
	s.loop = loop.New("job", "Running the Job", log, s.sync)
	s.strays = loop.New("job_orphan_pod", "Releasing a pod of a Job that is gone", log, s.release)
	if err := s.watch(jobs.Informer()); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), jobs.Informer().HasSynced, pods.HasSynced) {
		return nil
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.strays.Run(ctx, 1)
	}()
	s.loop.Run(ctx, workers)
	<-done
	return nil
}

// watch has a Job looked at when it, its pods or its Holds change, or a pod comes that it may adopt; and a pod when its
// Job is not there.
func (s *shell) watch(jobs cache.SharedInformer) error {
	err := loop.Watch(jobs, func(old, now *batchv1.Job) {
		if now != nil {
			s.loop.Add(shared.KeyOf(now))
			return
		}
		s.loop.Add(shared.KeyOf(old)) // to forget what was written
		for _, p := range s.pods.Of(old) {
			s.strays.Add(shared.KeyOf(p))
		}
	})
	if err != nil {
		return err
	}
	s.avoid.Tell(func(kind string, owner types.NamespacedName) {
		if kind == Kind.Kind {
			s.loop.Add(owner)
		}
	})
	err = loop.Watch(s.cache, func(_, now *corev1.Pod) {
		if now != nil && tracked(now) {
			if ref := metav1.GetControllerOfNoCopy(now); ref == nil || ref.Kind == Kind.Kind && s.gone(now.Namespace, ref) {
				s.strays.Add(shared.KeyOf(now))
			}
		}
	})
	if err != nil {
		return err
	}
	err = loop.Watch(s.cache, func(old, now *corev1.Pod) {
		if now == nil || !tracked(now) {
			s.free.seen(old, now)
		}
	})
	if err != nil {
		return err
	}
	return s.pods.Watch(Kind, func(owner types.NamespacedName) { s.loop.AddAfter(owner, gather) }, s.orphan)
}

// gone says that the cache does not have the Job that a pod names.
func (s *shell) gone(namespace string, ref *metav1.OwnerReference) bool {
	job, err := s.lister.Jobs(namespace).Get(ref.Name)
	return err != nil || job.UID != ref.UID
}

// orphan has those looked at that may adopt a pod.
func (s *shell) orphan(p *corev1.Pod) {
	if !tracked(p) {
		return
	}
	list, _ := s.lister.Jobs(p.Namespace).List(labels.Everything())
	for _, job := range list {
		if shared.Selects(job.Spec.Selector, p) {
			s.loop.Add(shared.KeyOf(job))
		}
	}
}

// sync brings one Job up to date.
func (s *shell) sync(ctx context.Context, key types.NamespacedName) (again time.Duration, err error) {
	job, err := s.lister.Jobs(key.Namespace).Get(key.Name)
	if job = s.wrote.over(key, job); err != nil {
		return 0, shared.UnlessGone(err)
	}
	selector, err := metav1.LabelSelectorAsSelector(job.Spec.Selector)
	if err != nil || job.Spec.ManagedBy != nil && *job.Spec.ManagedBy != manager {
		return 0, nil
	}
	if err := s.pods.Settle(ctx, job.UID); err != nil {
		return 0, err
	}
	owner := &shared.Owner{Kind: Kind, Object: job, Selector: selector, Adopts: tracked, Fresh: func(ctx context.Context) (metav1.Object, error) {
		return s.client.BatchV1().Jobs(job.Namespace).Get(ctx, job.Name, metav1.GetOptions{})
	}}
	pods, err := s.pods.Claim(ctx, owner)
	if err != nil {
		return 0, err
	}
	wake, err := s.carryOut(ctx, owner, job, pods)
	return shared.Sooner(s.pods.Pending(job.UID), wake), err
}
