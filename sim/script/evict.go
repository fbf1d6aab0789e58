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

func readEvict(p *parser, w *tokens) {
	names := p.readNames(w, "the pod")
	o := w.options("grace=", "by=", "uid=", "dry")
	d := metav1.DeleteOptions{GracePeriodSeconds: o.grace()}
	if o.values["uid"] != "" {
		d.Preconditions = metav1.NewUIDPreconditions(o.values["uid"])
	}
	if o.has("dry") {
		d.DryRun = []string{metav1.DryRunAll}
	}
	p.addStep(func(r *run) {
		for _, n := range names {
			pod := objectKey(store.Pods, n)
			namespace, name, _ := strings.Cut(pod, "/")
			e := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: name}, DeleteOptions: &d}
			r.w.Displacement.Evict(o.values["by"], namespace, e, func(err error) {
				r.w.Log("scenario", "response", pod, fmt.Sprintf("the eviction of %s returns %s", pod, displacement.DescribeResponse(err)))
			})
		}
	})
}

func readDrain(p *parser, w *tokens) {
	node, o := w.name("the node"), w.options("by=", "berth", "surge", "timeout=")
	requester, timeout := o.values["by"], time.Hour
	if o.has("timeout") {
		timeout = o.value("timeout").duration()
	}
	switch {
	case o.has("surge") && !o.has("berth"):
		w.fail(errors.New("surge: must be set with berth: only berth drain supports it"))
	case o.has("timeout") && !o.has("berth"):
		w.fail(errors.New("timeout: must be set with berth"))
	case o.has("berth"):
		requester = "berth drain"
	case requester == "":
		requester = "kubectl"
	}
	p.addStep(func(r *run) {
		r.log("node " + node + " is being drained by " + requester)
		if !o.has("berth") {
			drainactor.Kubectl(r.w, node, requester)
			return
		}
		drainactor.Start(r.w.World, drain.Drain{Nodes: []string{node}, Scheduler: r.scheduler(), Timeout: timeout,
			Options: drain.Options{IgnoreDaemonSets: true, DeleteEmptyDirData: true, Surge: o.has("surge")}}, nil)
	})
}

func readPressure(p *parser, w *tokens) {
	name, resource := w.name("the pod"), w.name("what its node is low on")
	if resource != "memory" && resource != "ephemeral-storage" && resource != "pids" {
		w.failf("%q: must be memory, ephemeral-storage or pids", resource)
	}
	p.addStep(func(r *run) {
		if !r.w.Agents.EvictForPressure(objectKey(store.Pods, name), resource) {
			r.log("pod " + name + " does not run")
		}
	})
}

// readTolerate replaces the tolerations of a pod.
func readTolerate(p *parser, w *tokens) {
	name := w.name("the pod")
	text, ok := w.next()
	if !ok {
		w.failf("the tolerations are missing")
	}
	p.addStep(func(r *run) {
		change(r, name, "tolerates "+text, func(p *corev1.Pod) {
			p.Spec.Tolerations = parseTolerations(strings.Split(text, ","))
		})
	})
}

// budgetStatus is the status of a budget and the time.
type budgetStatus struct {
	*policyv1.PodDisruptionBudget
	now time.Time
}

var statusWords = words[budgetStatus]{
	{"allowed=", func(b budgetStatus, v value) { b.Status.DisruptionsAllowed = int32(v.number(-1000, 1<<31-1)) }},
	{"entries=", func(b budgetStatus, v value) {
		b.Status.DisruptedPods = map[string]metav1.Time{}
		for i := range v.number(0, 100_000) {
			b.Status.DisruptedPods[fmt.Sprintf("unknown%d", i)] = metav1.NewTime(b.now)
		}
	}},
	{"stale", func(b budgetStatus, _ value) { b.Generation++ }},
}

// readStatus sets a wrong or outdated budget status.
func readStatus(p *parser, w *tokens) {
	name, set := w.name("the budget"), statusWords.read(w)
	set(budgetStatus{PodDisruptionBudget: &policyv1.PodDisruptionBudget{}}) // checks the values
	p.addStep(func(r *run) {
		change(r, name, "gets another status", func(b *policyv1.PodDisruptionBudget) { set(budgetStatus{b, r.w.Now()}) })
	})
}

// readCondition makes a node report a condition from now on.
func readCondition(p *parser, w *tokens) {
	node, o := w.name("the node"), w.options("Ready=", "MemoryPressure=", "DiskPressure=", "PIDPressure=", "NetworkUnavailable=")
	for kind, status := range o.values {
		if status != "True" && status != "False" {
			o.value(kind).invalid("True or False")
		}
	}
	p.addStep(func(r *run) {
		for _, kind := range o.accepted {
			if kind = strings.TrimSuffix(kind, "="); o.has(kind) {
				r.log("node " + node + " reports " + kind + "=" + o.values[kind])
				r.w.Agents.ReportCondition(node, corev1.NodeConditionType(kind), corev1.ConditionStatus(o.values[kind]))
			}
		}
	})
}
