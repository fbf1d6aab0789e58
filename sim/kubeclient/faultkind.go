package kubeclient

import (
	"bytes"
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/berthproject/berth/internal/conversion"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/store"
)

// verbKinds are the kinds of requests about objects without a kind of their own.
var verbKinds = map[string]string{"get": sim.RequestGet, "list": sim.RequestGet, "create": sim.RequestCreate, "create/binding": sim.RequestBind, "update": sim.RequestUpdate,
	"update/status": sim.RequestSetStatus, "patch": sim.RequestPatch, "patch/status": sim.RequestPatch, "delete": sim.RequestDelete}

// faultKind returns the request kind and the key by which faults are injected. The key of an event and of a budget debit
// is that of the pod.
func (e endpoint) faultKind(r request, key string) (kind, faultKey string) {
	verb := r.verb
	if r.subresource != "" {
		verb += "/" + r.subresource
	}
	kind = verbKinds[verb]
	isScheduler := e.c.actor.Name() == "scheduler"
	switch {
	case kind == sim.RequestGet && isScheduler && e.kind == store.Pods:
		return sim.RequestRefresh, key
	case kind == sim.RequestGet:
		return kind, key
	}
	switch e.kind {
	case store.Events:
		if event, ok := r.object.(*eventsv1.Event); ok {
			key = store.Key(event.Regarding.Namespace, event.Regarding.Name)
		}
		return sim.RequestEvent, key
	case store.CoreEvents:
		if event, ok := r.object.(*corev1.Event); ok {
			key = store.Key(event.InvolvedObject.Namespace, event.InvolvedObject.Name)
		}
		return sim.RequestEvent, key
	case store.Holds:
		return sim.RequestHold, key
	case store.PersistentVolumes, store.PersistentVolumeClaims:
		if isScheduler {
			return sim.RequestBindVolumes, key
		}
	case store.Nodes:
		return sim.RequestNode, key
	case store.ReplicaSets:
		if verb == "update" {
			return sim.RequestScale, key // faults are a hash of the kind, so it keeps the name in recorded runs
		}
	case store.PodDisruptionBudgets:
		if b, ok := r.object.(*policyv1.PodDisruptionBudget); ok && r.subresource == status && e.c.actor.Name() != "disruption" {
			if pod := e.debitedPod(b, key); pod != "" {
				return sim.RequestBudgetEntry, store.Key(b.Namespace, pod)
			}
		}
		return sim.RequestStatus, key
	case store.Pods:
		if verb == "patch/status" {
			return podStatusKind(r.patch), key
		}
	}
	return kind, key
}

// debitedPod returns the name of the first pod that an update of a budget's status adds an entry for, or "".
func (e endpoint) debitedPod(update *policyv1.PodDisruptionBudget, key string) (first string) {
	stored, _ := e.stored(key).(*policyv1.PodDisruptionBudget)
	for name := range update.Status.DisruptedPods {
		if stored == nil {
			continue
		}
		if _, exists := stored.Status.DisruptedPods[name]; !exists && (first == "" || name < first) {
			first = name
		}
	}
	return first
}

// podStatusKind returns the kind of a patch of a pod's status. It decodes no patch of the scheduler, which sends most
// patches. Texts in a patch cannot match, since their quotes are escaped.
func podStatusKind(patch []byte) string {
	contains := func(part string) bool { return bytes.Contains(patch, []byte(part)) }
	switch isScheduled := contains(`"type":"` + string(corev1.PodScheduled) + `"`); {
	case contains(`"nominatedNodeName":null`):
		return sim.RequestClearNomination
	case contains(`"nominatedNodeName":`):
		return sim.RequestPreempt
	case isScheduled && contains(`"reason":"`+corev1.PodReasonSchedulingGated+`"`):
		return sim.RequestHold
	case isScheduled:
		return sim.RequestUnschedulable
	}
	var p corev1.Pod
	_ = json.Unmarshal(patch, &p) // the API server rejects a malformed patch
	switch {
	case conversion.ActiveDisruptionTarget(&p) != nil:
		return sim.RequestDisruptionTarget
	case conversion.DisruptionTarget(&p) != nil:
		return sim.RequestResetTarget
	case slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady }):
		return sim.RequestPodNotReady
	}
	return sim.RequestPatch
}
