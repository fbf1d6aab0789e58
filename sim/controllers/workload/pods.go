package workload

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/sim/store"
)

// newPod returns a pod of a template. Name counters survive restarts to keep runs comparable.
func (o *controller) newPod(owner store.Object, kind string, t *corev1.PodTemplateSpec) *corev1.Pod {
	isController := true
	o.lastSuffix[string(owner.GetUID())]++
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: owner.GetNamespace(), Name: fmt.Sprintf("%s-%d", owner.GetName(), o.lastSuffix[string(owner.GetUID())]),
			Labels: t.Labels, Annotations: t.Annotations,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: owner.GetName(), UID: owner.GetUID(), Controller: &isController}}},
		Spec: *t.Spec.DeepCopy(),
	}
}

func (o *controller) create(owner store.Object, kind string, p *corev1.Pod) {
	store.ApplyDefaults(p)
	o.w.API().AdmitPod(p)
	id, key := string(owner.GetUID()), store.KeyOf(p)
	if o.expected[id] == nil {
		o.expected[id] = map[string]bool{}
	}
	o.expected[id][key] = true
	ownerKey := kind + " " + store.KeyOf(owner)
	o.Request("create", key, func() error { return o.w.API().Create(p) }, func(err error) {
		if err != nil {
			delete(o.expected[id], key)
			o.queue.Add(ownerKey, time.Second)
			return
		}
		o.w.Log("workload", "create", key, key+" is created for "+strings.ToLower(kind)+" "+owner.GetName())
		o.After(time.Minute, func() { // the watch may have lost it
			if o.expected[id][key] {
				delete(o.expected[id], key)
				o.queue.Add(ownerKey, 0)
			}
		})
	})
}

func (o *controller) delete(key, uid string) {
	o.Request("delete", key, func() error {
		err := o.w.API().DeletePod(key, store.Precondition{UID: uid}, nil)
		if err == nil {
			o.w.Log("workload", "delete", key, key+" is deleted by its owner")
		}
		return err
	}, nil)
}
