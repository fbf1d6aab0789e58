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

// fakeControllers is what a cluster has besides an API server and a scheduler, and notes what it sees.
type fakeControllers struct {
	c   *cluster
	ctx context.Context

	mu            sync.Mutex
	markedVictims map[string]bool // deleted pods that had the condition of a preempted one
	deleted       map[string]bool
}

// startFakeControllers starts to act until ctx ends.
func (c *cluster) startFakeControllers(ctx context.Context) *fakeControllers {
	p := &fakeControllers{c: c, ctx: ctx, markedVictims: map[string]bool{}, deleted: map[string]bool{}}
	factory := informers.NewSharedInformerFactory(c.client, 0)
	_, _ = factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(_, now any) { p.finishDeletion(now.(*corev1.Pod)) }})
	_, _ = factory.Core().V1().PersistentVolumes().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(_, now any) { p.bindClaim(now.(*corev1.PersistentVolume)) }})
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return p
}

// finishDeletion is the kubelet's end of a pod.
func (p *fakeControllers) finishDeletion(pod *corev1.Pod) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if pod.DeletionTimestamp == nil || p.deleted[pod.Name] {
		return
	}
	p.deleted[pod.Name] = true
	p.markedVictims[pod.Name] = slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue && c.Reason == corev1.PodReasonPreemptionByScheduler
	})
	go func() {
		time.Sleep(200 * time.Millisecond) // so that victims are seen to leave
		p.logError(p.c.client.CoreV1().Pods(pod.Namespace).Delete(p.ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}))
	}()
}

// bindClaim is the volume controller's end of a binding that the scheduler began.
func (p *fakeControllers) bindClaim(v *corev1.PersistentVolume) {
	ref := v.Spec.ClaimRef
	if ref == nil || v.Status.Phase == corev1.VolumeBound {
		return
	}
	claims := p.c.client.CoreV1().PersistentVolumeClaims(ref.Namespace)
	claim, err := claims.Get(p.ctx, ref.Name, metav1.GetOptions{})
	if err != nil || claim.UID != ref.UID {
		p.logError(fmt.Errorf("volume %s: its claim %s/%s is not there: %v", v.Name, ref.Namespace, ref.Name, err))
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

// logError tells what went wrong in what is only played.
func (p *fakeControllers) logError(err error) {
	if err != nil && p.ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "cluster: played part:", err)
	}
}
