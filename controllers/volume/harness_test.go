package volume

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"
	"k8s.io/component-helpers/storage/volume"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/controllers/runner"
)

// fakeAPI is a fake API server that checks resource versions, finalizers and status updates.
type fakeAPI struct {
	*fake.Clientset
	mu      sync.Mutex
	version int
}

func newFakeAPI(objects ...runtime.Object) *fakeAPI {
	a := &fakeAPI{Clientset: fake.NewClientset()}
	for _, kind := range []string{"persistentvolumes", "persistentvolumeclaims"} {
		a.PrependReactor("create", kind, a.create)
		a.PrependReactor("update", kind, a.update)
		a.PrependReactor("delete", kind, a.remove)
	}
	for _, o := range objects {
		if err := a.Tracker().Add(a.withNextVersion(o)); err != nil {
			panic(err)
		}
	}
	return a
}

// withNextVersion returns a copy of an object with the next resource version.
func (a *fakeAPI) withNextVersion(o runtime.Object) runtime.Object {
	o = o.DeepCopyObject()
	m, _ := meta.Accessor(o)
	a.version++
	m.SetResourceVersion(fmt.Sprint(a.version))
	if m.GetUID() == "" {
		m.SetUID(types.UID("uid-" + m.GetName()))
	}
	return o
}

func (a *fakeAPI) create(action ktesting.Action) (bool, runtime.Object, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := action.(ktesting.CreateAction)
	o := a.withNextVersion(c.GetObject())
	if v, ok := o.(*corev1.PersistentVolume); ok {
		v.Status.Phase = corev1.VolumePending
	}
	return true, o, a.Tracker().Create(c.GetResource(), o, c.GetNamespace())
}

func (a *fakeAPI) update(action ktesting.Action) (bool, runtime.Object, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	u := action.(ktesting.UpdateAction)
	m, _ := meta.Accessor(u.GetObject())
	current, err := a.Tracker().Get(u.GetResource(), u.GetNamespace(), m.GetName())
	if err != nil {
		return true, nil, err
	}
	if stored, _ := meta.Accessor(current); stored.GetResourceVersion() != m.GetResourceVersion() {
		return true, nil, apierrors.NewConflict(u.GetResource().GroupResource(), m.GetName(), fmt.Errorf("resource version is %s: must be %s", m.GetResourceVersion(), stored.GetResourceVersion()))
	}
	o := a.withNextVersion(mergeStatus(u.GetObject(), current, u.GetSubresource() == "status"))
	if m, _ := meta.Accessor(o); m.GetDeletionTimestamp() != nil && len(m.GetFinalizers()) == 0 {
		return true, o, a.Tracker().Delete(u.GetResource(), u.GetNamespace(), m.GetName())
	}
	return true, o, a.Tracker().Update(u.GetResource(), o, u.GetNamespace())
}

// mergeStatus returns updated with the status of current or, for a status update, current with the status of updated.
func mergeStatus(updated, current runtime.Object, status bool) runtime.Object {
	if status {
		updated, current = current, updated
	}
	updated = updated.DeepCopyObject()
	switch o := updated.(type) {
	case *corev1.PersistentVolume:
		o.Status = current.(*corev1.PersistentVolume).Status
	case *corev1.PersistentVolumeClaim:
		o.Status = current.(*corev1.PersistentVolumeClaim).Status
	}
	return updated
}

func (a *fakeAPI) remove(action ktesting.Action) (bool, runtime.Object, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	d := action.(ktesting.DeleteAction)
	o, err := a.Tracker().Get(d.GetResource(), d.GetNamespace(), d.GetName())
	if err != nil {
		return true, nil, err
	}
	o = a.withNextVersion(o)
	m, _ := meta.Accessor(o)
	if len(m.GetFinalizers()) == 0 {
		return true, nil, a.Tracker().Delete(d.GetResource(), d.GetNamespace(), d.GetName())
	}
	now := metav1.Now()
	m.SetDeletionTimestamp(&now)
	return true, nil, a.Tracker().Update(d.GetResource(), o, d.GetNamespace())
}

// runController calls f while the controller runs on an API server with the objects.
func runController(t *testing.T, f func(h *harness), objects ...runtime.Object) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := &harness{t: t, api: newFakeAPI(objects...), ctx: t.Context()}
		done := make(chan error, 1)
		ctx, stop := context.WithCancel(t.Context())
		go func() {
			done <- Run(ctx, runner.Process{Environment: runner.Production(), Client: h.api, Informers: informers.NewSharedInformerFactory(h.api, 0), Log: klog.Background()})
		}()
		h.waitIdle()
		f(h)
		stop()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
		time.Sleep(time.Minute) // virtual time; remaining goroutines end
	})
}

type harness struct {
	t   *testing.T
	api *fakeAPI
	ctx context.Context
}

// waitIdle waits until the controller is idle.
func (h *harness) waitIdle() {
	time.Sleep(10 * time.Second)
	synctest.Wait()
}

func (h *harness) claim(name string) *corev1.PersistentVolumeClaim {
	h.t.Helper()
	c, err := h.api.CoreV1().PersistentVolumeClaims("ns").Get(h.ctx, name, metav1.GetOptions{})
	if err != nil {
		h.t.Fatal(err)
	}
	return c
}

func (h *harness) volume(name string) *corev1.PersistentVolume {
	h.t.Helper()
	v, err := h.api.CoreV1().PersistentVolumes().Get(h.ctx, name, metav1.GetOptions{})
	if err != nil {
		h.t.Fatal(err)
	}
	return v
}

// state formats volumes and claims by name: "a Bound c; c Bound a".
func (h *harness) state() string {
	h.t.Helper()
	var out []string
	volumes, _ := h.api.CoreV1().PersistentVolumes().List(h.ctx, metav1.ListOptions{})
	for _, v := range volumes.Items {
		line := v.Name + " " + string(v.Status.Phase)
		if r := v.Spec.ClaimRef; r != nil {
			line += " " + r.Name
		}
		out = append(out, line)
	}
	claims, _ := h.api.CoreV1().PersistentVolumeClaims("ns").List(h.ctx, metav1.ListOptions{})
	for _, c := range claims.Items {
		out = append(out, strings.TrimSpace(c.Name+" "+string(c.Status.Phase)+" "+c.Spec.VolumeName))
	}
	slices.Sort(out)
	return strings.Join(out, "; ")
}

func (h *harness) checkState(want string) {
	h.t.Helper()
	h.waitIdle()
	if got := h.state(); got != want {
		h.t.Errorf("volumes and claims:\ngot  %s\nwant %s", got, want)
	}
}

// events returns the events of an object as "Reason: text".
func (h *harness) events(name string) []string {
	var out []string
	for _, namespace := range []string{"ns", "default"} {
		events, _ := h.api.CoreV1().Events(namespace).List(h.ctx, metav1.ListOptions{})
		for _, e := range events.Items {
			if e.InvolvedObject.Name == name {
				out = append(out, e.Reason+": "+e.Message)
			}
		}
	}
	return out
}

func (h *harness) checkEvent(name, prefix string) {
	h.t.Helper()
	if messages := h.events(name); !slices.ContainsFunc(messages, func(s string) bool { return strings.HasPrefix(s, prefix) }) {
		h.t.Errorf("events of %s: %q, want one with prefix %q", name, messages, prefix)
	}
}

func newClass(name, provisioner string, mode storagev1.VolumeBindingMode) *storagev1.StorageClass {
	return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: provisioner, VolumeBindingMode: &mode}
}

// freeVolume returns an Available volume with the access mode ReadWriteOnce.
func freeVolume(name, class, size string, change ...func(*corev1.PersistentVolume)) *corev1.PersistentVolume {
	v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeSpec{
		StorageClassName: class, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Capacity:                      corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)},
		PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain}}
	v.Status.Phase = corev1.VolumeAvailable
	for _, f := range change {
		f(v)
	}
	return v
}

// newClaim returns a Pending claim with the access mode ReadWriteOnce. The class "-" stands for a claim without
// storageClassName.
func newClaim(name, class, size string, change ...func(*corev1.PersistentVolumeClaim)) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}}}}
	if class != "-" {
		c.Spec.StorageClassName = &class
	}
	c.Status.Phase = corev1.ClaimPending
	for _, f := range change {
		f(c)
	}
	return c
}

// reserved sets a claimRef as the scheduler does.
func reserved(claim string, uid types.UID) func(*corev1.PersistentVolume) {
	return func(v *corev1.PersistentVolume) {
		v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "ns", Name: claim, UID: uid}
		metav1.SetMetaDataAnnotation(&v.ObjectMeta, volume.AnnBoundByController, "yes")
	}
}
