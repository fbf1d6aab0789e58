package drainactor

import (
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
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
	_ = c.API().Update(store.Nodes, node, store.Precondition{}, func(o store.Object) error {
		if n, ok := o.(*corev1.Node); ok {
			n.Spec.Unschedulable = true
		}
		return nil
	})
	k := &kubectl{c: c}
	c.OnClose(k.group.Kill)
	remaining := 0
	for _, o := range c.API().List(store.Pods) {
		p, ok := o.(*corev1.Pod)
		if owner := metav1.GetControllerOfNoCopy(o); !ok || p.Spec.NodeName != node || owner != nil && owner.Kind == "DaemonSet" {
			continue
		}
		remaining++
		e, gaveUp := displacement.EvictionRequest{Pod: store.KeyOf(p), UID: string(p.UID), Requester: requester}, false
		c.Notify(sim.Evicting{Pod: e.Pod, UID: e.UID, Ended: func() bool { return gaveUp }})
		k.group.Go(requester, func() {
			if gaveUp = !k.evict(e); gaveUp {
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
	c     *cluster.Cluster
	group coroutine.Group
}

func (k *kubectl) sleep(d time.Duration) {
	k.group.Wait(func(resume func()) { k.c.After(d, resume) })
}

// evict evicts a pod and returns true when it is deleted. It returns false after errors other than the refusal of a budget
// and an injected fault.
func (k *kubectl) evict(e displacement.EvictionRequest) bool {
	for requested := false; ; {
		p := k.c.API().Pod(e.Pod)
		switch {
		case p == nil || string(p.UID) != e.UID:
			return true
		case requested && p.DeletionTimestamp != nil:
			k.sleep(time.Second)
			continue
		}
		var r displacement.EvictionResponse
		k.group.Wait(func(resume func()) {
			k.c.Displacement.Evict(e, func(response displacement.EvictionResponse) {
				r = response
				resume()
			})
		})
		switch requested = r.Code == http.StatusCreated; {
		case requested:
			k.sleep(time.Second)
		case r.Code == http.StatusTooManyRequests:
			k.c.Log("drain", "refused", e.Pod, fmt.Sprintf("the eviction of %s is refused: %s", e.Pod, r))
			k.sleep(kubectlRetryInterval)
		case r.Code == 0 || r.Code == http.StatusGatewayTimeout || r.Code == http.StatusInternalServerError && r.Message == displacement.InjectedFailure:
			k.sleep(kubectlRetryInterval)
		case r.Code != http.StatusNotFound:
			k.c.Log("drain", "failed", e.Pod, fmt.Sprintf("the drain gives up on %s: %s", e.Pod, r))
			return false
		}
	}
}
