package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// fakeControllers simulates the kubelet and the volume controller, and records deleted pods.
type fakeControllers struct {
	c   *cluster
	ctx context.Context

	mu        sync.Mutex
	preempted map[string]bool // deleted pods with the condition of a preemption victim
	deleted   map[string]bool
}

// startFakeControllers starts the controllers, which run until ctx is done.
func (c *cluster) startFakeControllers(ctx context.Context) *fakeControllers {
	p := &fakeControllers{c: c, ctx: ctx, preempted: map[string]bool{}, deleted: map[string]bool{}}
	factory := informers.NewSharedInformerFactory(c.client, 0)
	_, _ = factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(_, updated any) { p.finishDeletion(updated.(*corev1.Pod)) }})
	_, _ = factory.Core().V1().PersistentVolumes().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(_, updated any) { p.bindClaim(updated.(*corev1.PersistentVolume)) }})
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return p
}

// finishDeletion removes a pod as the kubelet does.
func (p *fakeControllers) finishDeletion(pod *corev1.Pod) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if pod.DeletionTimestamp == nil || p.deleted[pod.Name] {
		return
	}
	p.deleted[pod.Name] = true
	p.preempted[pod.Name] = slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue && c.Reason == corev1.PodReasonPreemptionByScheduler
	})
	go func() {
		time.Sleep(200 * time.Millisecond) // until the scheduler has observed the deletion of victims
		p.logError(p.c.client.CoreV1().Pods(pod.Namespace).Delete(p.ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}))
	}()
}

// bindClaim completes a binding that the scheduler started, as the volume controller does.
func (p *fakeControllers) bindClaim(v *corev1.PersistentVolume) {
	ref := v.Spec.ClaimRef
	if ref == nil || v.Status.Phase == corev1.VolumeBound {
		return
	}
	claims := p.c.client.CoreV1().PersistentVolumeClaims(ref.Namespace)
	claim, err := claims.Get(p.ctx, ref.Name, metav1.GetOptions{})
	if err == nil && claim.UID != ref.UID {
		err = fmt.Errorf("got UID %s, want %s", claim.UID, ref.UID)
	}
	if err != nil {
		p.logError(fmt.Errorf("volume %s: reading its claim %s/%s: %w", v.Name, ref.Namespace, ref.Name, err))
		return
	}
	claim.Spec.VolumeName = v.Name
	metav1.SetMetaDataAnnotation(&claim.ObjectMeta, "pv.kubernetes.io/bind-completed", "yes")
	metav1.SetMetaDataAnnotation(&claim.ObjectMeta, "pv.kubernetes.io/bound-by-controller", "yes")
	claim, err = claims.Update(p.ctx, claim, metav1.UpdateOptions{})
	p.logError(err)
	if err != nil {
		return
	}
	claim.Status.Phase, claim.Status.AccessModes, claim.Status.Capacity = corev1.ClaimBound, v.Spec.AccessModes, v.Spec.Capacity
	_, err = claims.UpdateStatus(p.ctx, claim, metav1.UpdateOptions{})
	p.logError(err)
	v = v.DeepCopy()
	v.Status.Phase = corev1.VolumeBound
	_, err = p.c.client.CoreV1().PersistentVolumes().UpdateStatus(p.ctx, v, metav1.UpdateOptions{})
	p.logError(err)
}

func (p *fakeControllers) logError(err error) {
	if err != nil && p.ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "cluster: fake controllers:", err)
	}
}
