package script

import (
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/drain"
	"github.com/berthproject/berth/sim/displacement"
	"github.com/berthproject/berth/sim/drainactor"
	"github.com/berthproject/berth/sim/store"
)

func readEvict(p *parser, w *tokens) error {
	name, err := w.name("the pod")
	if err != nil {
		return err
	}
	names, err := p.expand(name)
	if err != nil {
		return err
	}
	o, err := w.options("grace=", "by=", "uid=", "dry")
	if err != nil {
		return err
	}
	e := displacement.EvictionRequest{Requester: o.values["by"], UID: o.values["uid"], DryRun: o.has("dry"), Grace: o.grace()}
	p.addStep(func(r *run) error {
		for _, n := range names {
			e := e
			e.Pod = objectKey(store.Pods, n)
			r.w.Displacement.Evict(e, func(response displacement.EvictionResponse) {
				r.w.Log("scenario", "response", e.Pod, fmt.Sprintf("the eviction of %s returns %s", e.Pod, response))
			})
		}
		return nil
	})
	return o.err
}

func readDrain(p *parser, w *tokens) error {
	node, err := w.name("the node")
	if err != nil {
		return err
	}
	o, err := w.options("by=", "berth", "surge", "timeout=")
	if err != nil {
		return err
	}
	requester := o.values["by"]
	switch {
	case o.has("surge") && !o.has("berth"):
		return errors.New("surge: must be set with berth: only berth drain supports it")
	case o.has("timeout") && !o.has("berth"):
		return errors.New("timeout: must be set with berth")
	case o.has("berth"):
		p.addStep(func(r *run) error {
			r.log("node " + node + " is being drained by berth drain")
			drainactor.Start(r.w.World, drain.Drain{Nodes: []string{node}, Scheduler: r.scheduler(), Timeout: o.duration("timeout", time.Hour),
				Options: drain.Options{IgnoreDaemonSets: true, DeleteEmptyDirData: true, Surge: o.has("surge")}}, nil)
			return nil
		})
		return o.err
	case requester == "":
		requester = "kubectl"
	}
	p.addStep(func(r *run) error {
		r.log("node " + node + " is being drained by " + requester)
		drainactor.Kubectl(r.w, node, requester)
		return nil
	})
	return nil
}

func readPressure(p *parser, w *tokens) error {
	name, err := w.name("the pod")
	if err != nil {
		return err
	}
	resource, err := w.name("what its node is low on")
	if err == nil && resource != "memory" && resource != "ephemeral-storage" && resource != "pids" {
		err = fmt.Errorf("%q: must be memory, ephemeral-storage or pids", resource)
	}
	p.addStep(func(r *run) error {
		if !r.w.Agents.EvictForPressure(objectKey(store.Pods, name), resource) {
			r.log("pod " + name + " does not run")
		}
		return nil
	})
	return err
}

// readTolerate replaces the tolerations of a pod.
func readTolerate(p *parser, w *tokens) error {
	name, err := w.name("the pod")
	if err != nil {
		return err
	}
	text, ok := w.next()
	if !ok {
		return errors.New("the tolerations are missing")
	}
	p.addStep(func(r *run) error {
		return r.change(store.Pods, objectKey(store.Pods, name), "tolerates "+text, func(o store.Object) {
			if pod, ok := o.(*corev1.Pod); ok {
				pod.Spec.Tolerations = nil
				for _, t := range strings.Split(text, ",") {
					pod.Spec.Tolerations = append(pod.Spec.Tolerations, parseToleration(t))
				}
			}
		})
	})
	return nil
}

// readStatus sets a wrong or outdated budget status.
func readStatus(p *parser, w *tokens) error {
	name, err := w.name("the budget")
	if err != nil {
		return err
	}
	o, err := w.options("allowed=", "entries=", "stale")
	if err != nil {
		return err
	}
	allowed, entries := o.number("allowed", 0, -1000, 1<<31-1), o.number("entries", 0, 0, 100_000)
	p.addStep(func(r *run) error {
		return r.change(store.PodDisruptionBudgets, objectKey(store.PodDisruptionBudgets, name), "gets another status", func(obj store.Object) {
			b, ok := obj.(*policyv1.PodDisruptionBudget)
			if !ok {
				return
			}
			if o.has("allowed") {
				b.Status.DisruptionsAllowed = int32(allowed)
			}
			if o.has("stale") {
				b.Generation++
			}
			if o.has("entries") {
				b.Status.DisruptedPods = map[string]metav1.Time{}
				for i := range entries {
					b.Status.DisruptedPods[fmt.Sprintf("unknown%d", i)] = metav1.NewTime(r.w.Now())
				}
			}
		})
	})
	return o.err
}

// readCondition makes a node report a condition from now on.
func readCondition(p *parser, w *tokens) error {
	node, err := w.name("the node")
	if err != nil {
		return err
	}
	o, err := w.options("Ready=", "MemoryPressure=", "DiskPressure=", "PIDPressure=", "NetworkUnavailable=")
	if err != nil {
		return err
	}
	for kind, status := range o.values {
		if status != "True" && status != "False" {
			o.fail(kind, "True or False")
		}
	}
	p.addStep(func(r *run) error {
		for _, kind := range o.accepted {
			kind = strings.TrimSuffix(kind, "=")
			if o.has(kind) {
				r.log("node " + node + " reports " + kind + "=" + o.values[kind])
				r.w.Agents.ReportCondition(node, corev1.NodeConditionType(kind), corev1.ConditionStatus(o.values[kind]))
			}
		}
		return nil
	})
	return o.err
}
