package volume

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/component-helpers/storage/volume"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/controllers/runner"
	"github.com/berthproject/berth/controllers/workqueue"
	"github.com/berthproject/berth/internal/apierror"
)

const (
	workers = 8
	// resync is the interval at which all objects are reconciled, in case an event was lost.
	resync = 10 * time.Minute
	// component is the upstream source of the events.
	component = "persistentvolume-controller"
)

// key names a claim or, without a namespace, a volume.
type key struct{ namespace, name string }

// controller binds claims and volumes.
type controller struct {
	env     runner.Environment
	client  kubernetes.Interface
	queue   runner.Queue[key]
	volumes corelisters.PersistentVolumeLister
	claims  corelisters.PersistentVolumeClaimLister
	classes storagelisters.StorageClassLister
	// volumeIndex and claimIndex have the indexes below.
	volumeIndex, claimIndex cache.Indexer
	events                  record.EventRecorder
	log                     klog.Logger
}

// The indexes. Available volumes are indexed by class, others by the claim that they name. Claims are indexed by the
// volume that they name, others by class.
const (
	byClass  = "berth-class"
	byClaim  = "berth-claim"
	byVolume = "berth-volume"
)

var volumeIndexers = cache.Indexers{
	byClass: func(obj any) ([]string, error) {
		v, ok := obj.(*corev1.PersistentVolume)
		if !ok || v.Spec.ClaimRef != nil {
			return nil, nil
		}
		return []string{volume.GetPersistentVolumeClass(v)}, nil
	},
	byClaim: func(obj any) ([]string, error) {
		v, ok := obj.(*corev1.PersistentVolume)
		if !ok || v.Spec.ClaimRef == nil {
			return nil, nil
		}
		return []string{v.Spec.ClaimRef.Namespace + "/" + v.Spec.ClaimRef.Name}, nil
	},
}

var claimIndexers = cache.Indexers{
	byVolume: func(obj any) ([]string, error) {
		c, ok := obj.(*corev1.PersistentVolumeClaim)
		if !ok || c.Spec.VolumeName == "" {
			return nil, nil
		}
		return []string{c.Spec.VolumeName}, nil
	},
	byClass: func(obj any) ([]string, error) {
		c, ok := obj.(*corev1.PersistentVolumeClaim)
		if !ok || c.Spec.VolumeName != "" {
			return nil, nil
		}
		return []string{volume.GetPersistentVolumeClaimClass(c)}, nil
	},
}

// Run binds volumes until ctx is done; see workqueue.Run.
func Run(ctx context.Context, p runner.Process) error { return workqueue.Run(ctx, p, component, Add) }

// Add adds the controller to a process.
func Add(p *runner.Process) error {
	volumes, claims := p.Informers.Core().V1().PersistentVolumes(), p.Informers.Core().V1().PersistentVolumeClaims()
	classes := p.Informers.Storage().V1().StorageClasses()
	ctrl := &controller{
		env: p.Environment, client: p.Client, log: p.Log,
		volumes: volumes.Lister(), claims: claims.Lister(), classes: classes.Lister(),
		volumeIndex: volumes.Informer().GetIndexer(), claimIndex: claims.Informer().GetIndexer(),
		events: p.Events,
	}
	ctrl.queue = runner.NewQueue(p, runner.QueueOptions{Name: "volumes", Action: "Binding volumes", Workers: workers}, func(ctx context.Context, k key) (time.Duration, error) { return 0, ctrl.sync(ctx, k) })
	runner.Repeat(p, resync, func(context.Context) { ctrl.enqueueAll() })
	p.Queues.WaitFor(volumes.Informer().HasSynced, claims.Informer().HasSynced, classes.Informer().HasSynced)
	return ctrl.watch(volumes.Informer(), claims.Informer(), classes.Informer())
}

// enqueueAll enqueues every volume and claim.
func (ctrl *controller) enqueueAll() {
	volumes, _ := ctrl.volumes.List(labels.Everything())
	for _, v := range volumes {
		ctrl.queue.Add(key{name: v.Name})
	}
	claims, _ := ctrl.claims.List(labels.Everything())
	for _, c := range claims {
		ctrl.queue.Add(key{c.Namespace, c.Name})
	}
}

func (ctrl *controller) sync(ctx context.Context, k key) error {
	if k.namespace == "" {
		v, err := ctrl.volumes.Get(k.name)
		if err != nil {
			return apierror.IgnoreNotFound(err)
		}
		return apierror.IgnoreNotFound(ctrl.syncVolume(ctx, v))
	}
	c, err := ctrl.claims.PersistentVolumeClaims(k.namespace).Get(k.name)
	if err != nil {
		return apierror.IgnoreNotFound(err)
	}
	return apierror.IgnoreNotFound(ctrl.syncClaim(ctx, c))
}

// isDefault reports whether a class is marked as the default.
func isDefault(c *storagev1.StorageClass) bool {
	return c.Annotations["storageclass.kubernetes.io/is-default-class"] == "true" ||
		c.Annotations["storageclass.beta.kubernetes.io/is-default-class"] == "true"
}
