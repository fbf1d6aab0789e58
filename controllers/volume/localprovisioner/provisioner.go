package localprovisioner

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/component-helpers/storage/volume"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/controllers/workqueue"
	"github.com/berthproject/berth/internal/apierror"
)

const workers = 4

// key names a claim or, without a namespace, a volume.
type key struct {
	namespace, name string
	uid             types.UID
}

// provisioner creates and deletes volumes.
type provisioner struct {
	client  kubernetes.Interface
	storage *storage
	queue   *workqueue.Queue[key]
	volumes corelisters.PersistentVolumeLister
	claims  corelisters.PersistentVolumeClaimLister
	classes storagelisters.StorageClassLister
	events  record.EventRecorder
	log     klog.Logger
}

// Run provisions directories below root until ctx is done. It returns an error only if it
// cannot start.
func Run(ctx context.Context, client kubernetes.Interface, root string, log klog.Logger) error {
	storage, err := openStorage(root)
	if err != nil {
		return fmt.Errorf("opening the volume directory: %w", err)
	}
	defer storage.close()
	factory := informers.NewSharedInformerFactory(client, 10*time.Minute)
	volumes, claims := factory.Core().V1().PersistentVolumes(), factory.Core().V1().PersistentVolumeClaims()
	classes := factory.Storage().V1().StorageClasses()
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	p := &provisioner{client: client, storage: storage, log: log,
		volumes: volumes.Lister(), claims: claims.Lister(), classes: classes.Lister(),
		events: broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: ProvisionerName})}
	p.queue = workqueue.New(ctx, "directory_provisioner", "Provisioning or deleting the volume", log, func(ctx context.Context, k key) (time.Duration, error) { return 0, p.sync(ctx, k) })
	if err := p.watch(volumes.Informer(), claims.Informer()); err != nil {
		return err
	}
	classes.Informer()
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	factory.WaitForCacheSync(ctx.Done())
	p.queue.Run(ctx, workers)
	return nil
}

// watch enqueues the claims and volumes of this provisioner.
func (p *provisioner) watch(volumes, claims cache.SharedIndexInformer) error {
	add := func(obj any) {
		if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
			obj = tombstone.Obj
		}
		switch o := obj.(type) {
		case *corev1.PersistentVolumeClaim:
			if o.Annotations[volume.AnnStorageProvisioner] == ProvisionerName {
				p.queue.Add(key{o.Namespace, o.Name, o.UID})
			}
		case *corev1.PersistentVolume:
			if o.Annotations[volume.AnnDynamicallyProvisioned] == ProvisionerName {
				p.queue.Add(key{name: o.Name, uid: o.UID})
			}
		}
	}
	handler := cache.ResourceEventHandlerFuncs{AddFunc: add, UpdateFunc: func(_, obj any) { add(obj) }, DeleteFunc: add}
	if _, err := volumes.AddEventHandler(handler); err != nil {
		return err
	}
	_, err := claims.AddEventHandler(handler)
	return err
}

func (p *provisioner) sync(ctx context.Context, k key) error {
	if k.namespace == "" {
		v, err := p.volumes.Get(k.name)
		if err != nil || v.UID != k.uid {
			return apierror.IgnoreNotFound(err)
		}
		return p.reclaim(ctx, v)
	}
	c, err := p.claims.PersistentVolumeClaims(k.namespace).Get(k.name)
	switch {
	case apierrors.IsNotFound(err), err == nil && (c.UID != k.uid || c.DeletionTimestamp != nil):
		return p.cleanUp(ctx, k.uid)
	case err != nil:
		return err
	case c.Spec.VolumeName != "" || c.Annotations[volume.AnnStorageProvisioner] != ProvisionerName:
		return nil
	}
	return p.provision(ctx, c)
}

// cleanUp removes the directory of a claim that was deleted before it had a volume.
func (p *provisioner) cleanUp(ctx context.Context, claim types.UID) error {
	name := volumeName(claim)
	_, err := p.client.CoreV1().PersistentVolumes().Get(ctx, name, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		return err // if there is a volume, its reclamation removes the directory
	}
	for _, node := range p.storage.nodes() {
		if err := p.storage.remove(node, name); err != nil {
			return err
		}
	}
	return nil
}
