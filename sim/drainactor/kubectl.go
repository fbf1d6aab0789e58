package drainactor

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/cluster"
	"github.com/berthproject/berth/sim/coroutine"
	"github.com/berthproject/berth/sim/displacement"
	"github.com/berthproject/berth/sim/store"
)

// kubectlRetryInterval is the retry interval of kubectl drain.
const kubectlRetryInterval = 5 * time.Second

// Kubectl simulates kubectl drain --ignore-daemonsets: it cordons a node and evicts its pods, retries when a budget
// refuses, and gives up after other errors.
func Kubectl(c *cluster.Cluster, node, requester string) {
	_ = store.Update(c.API(), node, store.Precondition{}, func(n *corev1.Node) error {
		n.Spec.Unschedulable = true
		return nil
	})
	k := &kubectl{c: c, requester: requester}
	c.OnClose(k.group.Kill)
	remaining := 0
	for p := range store.All[*corev1.Pod](c.API()) {
		if owner := metav1.GetControllerOfNoCopy(p); p.Spec.NodeName != node || owner != nil && owner.Kind == "DaemonSet" {
			continue
		}
		remaining++
		gaveUp := false
		c.Notify(sim.Evicting{Pod: store.KeyOf(p), UID: string(p.UID), Ended: func() bool { return gaveUp }})
		k.group.Go(requester, func() {
			if gaveUp = !k.evict(p); gaveUp {
				return
			}
			if remaining--; remaining == 0 {
				c.Log("drain", "drained", node, "node "+node+" is drained by "+requester)
			}
		})
	}
}

// kubectl is a running kubectl drain, with a coroutine for each pod.
type kubectl struct {
	c         *cluster.Cluster
	requester string
	group     coroutine.Group
}

func (k *kubectl) sleep(d time.Duration) {
	k.group.Wait(func(resume func()) { k.c.After(d, resume) })
}

// evict evicts a pod and returns true when it is deleted. It returns false after errors other than the refusal of a budget
// and an injected fault.
func (k *kubectl) evict(pod *corev1.Pod) bool {
	key := store.KeyOf(pod)
	e := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod.Name}, DeleteOptions: metav1.NewPreconditionDeleteOptions(string(pod.UID))}
	for requested := false; ; {
		p := k.c.API().Pod(key)
		switch {
		case p == nil || p.UID != pod.UID:
			return true
		case requested && p.DeletionTimestamp != nil:
			k.sleep(time.Second)
			continue
		}
		var err error
		k.group.Wait(func(resume func()) {
			k.c.Displacement.Evict(k.requester, pod.Namespace, e, func(response error) {
				err = response
				resume()
			})
		})
		switch requested = err == nil; {
		case requested:
			k.sleep(time.Second)
		case apierrors.IsTooManyRequests(err):
			k.c.Log("drain", "refused", key, fmt.Sprintf("the eviction of %s is refused: %s", key, displacement.DescribeResponse(err)))
			k.sleep(kubectlRetryInterval)
		case errors.Is(err, displacement.ErrNoResponse) || errors.Is(err, displacement.ErrInjected) || apierrors.IsTimeout(err):
			k.sleep(kubectlRetryInterval)
		case !apierrors.IsNotFound(err):
			k.c.Log("drain", "failed", key, fmt.Sprintf("the drain gives up on %s: %s", key, displacement.DescribeResponse(err)))
			return false
		}
	}
}
