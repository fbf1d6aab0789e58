package script

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/agent/runtime/simulated"
	"github.com/berthproject/berth/engine/nodepressure/usage"
	"github.com/berthproject/berth/sim/fakeowners"
	"github.com/berthproject/berth/sim/store"
)

// podOptions are the options of a pod line.
var podOptions = []string{"cpu=", "memory=", "storage=", "res=", "priority=", "class=", "never", "labels=", "ns=", "node=",
	"selector=", "tolerate=", "spread=", "affinity=", "anti=", "prefer=", "prefer-affinity=", "prefer-anti=", "gates=", "claims=", "ports=", "scheduler=",
	"owner=", "replace", "grace=", "starts=", "prestop=", "runs=", "exit=", "stops=", "restart=",
	"usage=", "storagelimit=", "emptydir=", "containers="}

func readPod(p *parser, w *tokens) { p.addNamedObjects(w, "pod", podOptions, newPod) }

// newPod returns the pod of a line.
func newPod(name string, o *options) store.Object {
	pod := &corev1.Pod{ObjectMeta: o.metadata(name)}
	pod.Labels = o.labels("labels")
	s := &pod.Spec
	s.Containers = []corev1.Container{{Name: "main", Image: "main"}}
	setRequests(&s.Containers[0], o)
	s.NodeName, s.SchedulerName, s.PriorityClassName = o.values["node"], o.values["scheduler"], o.values["class"]
	if o.has("priority") {
		s.Priority = new(int32(o.number("priority", 0, -1<<31, 2_000_001_000)))
	}
	if o.has("never") {
		s.PreemptionPolicy = new(corev1.PreemptNever)
	}
	s.NodeSelector = o.labels("selector")
	for _, t := range o.list("tolerate") {
		s.Tolerations = append(s.Tolerations, parseToleration(t))
	}
	for _, g := range o.list("gates") {
		s.SchedulingGates = append(s.SchedulingGates, corev1.PodSchedulingGate{Name: g})
	}
	for i, c := range o.list("claims") {
		s.Volumes = append(s.Volumes, corev1.Volume{Name: "v" + strconv.Itoa(i), VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: c}}})
	}
	o.setAffinity(s)
	o.setLifecycle(pod)
	o.setLocalStorage(s)
	store.ApplyDefaults(pod)
	return pod
}

// setRequests reads the requests and host ports of a container.
func setRequests(c *corev1.Container, o *options) {
	r := corev1.ResourceList{}
	for key, name := range map[string]corev1.ResourceName{"cpu": corev1.ResourceCPU, "memory": corev1.ResourceMemory, "storage": corev1.ResourceEphemeralStorage} {
		if o.has(key) {
			r[name] = o.quantity(key, "")
		}
	}
	o.resources("res", r)
	c.Resources.Requests = r
	for _, s := range o.list("ports") {
		n, err := strconv.ParseInt(s, 10, 32)
		if err != nil || n < 1 || n > 65535 {
			o.invalid("ports", "ports from 1 to 65535, such as 80,443")
		}
		c.Ports = append(c.Ports, corev1.ContainerPort{ContainerPort: int32(n), HostPort: int32(n), Protocol: corev1.ProtocolTCP})
	}
}

// parseToleration reads key[=value][:effect[:seconds]]; * tolerates everything.
func parseToleration(s string) corev1.Toleration {
	pair, effect, _ := strings.Cut(s, ":")
	effect, seconds, hasTime := strings.Cut(effect, ":")
	k, v, hasValue := strings.Cut(pair, "=")
	t := corev1.Toleration{Key: k, Value: v, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffect(effect)}
	if hasValue {
		t.Operator = corev1.TolerationOpEqual
	}
	if n, err := strconv.ParseInt(seconds, 10, 64); hasTime && err == nil {
		t.TolerationSeconds = &n
	}
	if k == "*" {
		t.Key = ""
	}
	return t
}

// setLifecycle reads how the containers start, run and stop, and the owner and the annotations of the pod.
func (o *options) setLifecycle(p *corev1.Pod) {
	annotations := map[string]string{}
	addSeconds := func(key, annotation string) {
		if o.has(key) {
			annotations[annotation] = strconv.FormatFloat(o.duration(key, 0).Seconds(), 'f', -1, 64)
		}
	}
	addSeconds("starts", simulated.StartSeconds)
	if o.has("prestop") {
		sleep := &corev1.SleepAction{Seconds: int64(o.duration("prestop", 0) / time.Second)}
		p.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: sleep}}
	}
	addSeconds("runs", simulated.RunSeconds)
	addSeconds("stops", simulated.StopSeconds)
	if o.has("exit") {
		annotations[simulated.ExitCode] = strconv.FormatInt(o.number("exit", 0, 0, 255), 10)
	}
	if o.has("replace") {
		annotations[fakeowners.ReplaceAnnotation] = "true"
	}
	maps.Copy(annotations, o.usageAnnotation(usage.ParsePod))
	if len(annotations) > 0 {
		p.Annotations = annotations
	}
	p.Spec.TerminationGracePeriodSeconds = o.grace()
	switch r := corev1.RestartPolicy(o.values["restart"]); r {
	case "", corev1.RestartPolicyAlways, corev1.RestartPolicyNever, corev1.RestartPolicyOnFailure:
		p.Spec.RestartPolicy = r
	default:
		o.invalid("restart", "Always, OnFailure or Never")
	}
	if owner := o.values["owner"]; owner != "" {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: owner, UID: types.UID(fakeowners.UIDPrefix + owner), Controller: new(true)}}
		if name, missing := strings.CutPrefix(owner, "!"); missing {
			p.OwnerReferences[0].Name, p.OwnerReferences[0].UID = name, types.UID("missing/"+name)
		}
	}
}

// setAffinity reads spread and affinity: KEY:..., where KEY is a node label or "host".
func (o *options) setAffinity(s *corev1.PodSpec) {
	if o.has("spread") {
		c, err := parseSpreadConstraint(o.values["spread"])
		if err != nil {
			o.invalid("spread", err.Error())
		}
		s.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{c}
	}
	a := corev1.Affinity{NodeAffinity: o.nodeAffinity()}
	if required, preferred := o.affinityTerms("affinity"); required != nil || preferred != nil {
		a.PodAffinity = &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required, PreferredDuringSchedulingIgnoredDuringExecution: preferred}
	}
	if required, preferred := o.affinityTerms("anti"); required != nil || preferred != nil {
		a.PodAntiAffinity = &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required, PreferredDuringSchedulingIgnoredDuringExecution: preferred}
	}
	if a != (corev1.Affinity{}) {
		s.Affinity = &a
	}
}

// affinityTerms returns the terms of the options key and prefer-key.
func (o *options) affinityTerms(key string) (required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm) {
	term := func(key string) corev1.PodAffinityTerm {
		t, err := parsePodAffinityTerm(o.values[key])
		if err != nil {
			o.invalid(key, err.Error())
		}
		return t
	}
	if o.has(key) {
		required = []corev1.PodAffinityTerm{term(key)}
	}
	if o.has("prefer-" + key) {
		preferred = []corev1.WeightedPodAffinityTerm{{Weight: 50, PodAffinityTerm: term("prefer-" + key)}}
	}
	return required, preferred
}

// nodeAffinity returns the preferred node affinity, or nil.
func (o *options) nodeAffinity() *corev1.NodeAffinity {
	if !o.has("prefer") {
		return nil
	}
	var terms []corev1.PreferredSchedulingTerm
	m := o.labels("prefer")
	for _, k := range slices.Sorted(maps.Keys(m)) {
		terms = append(terms, corev1.PreferredSchedulingTerm{Weight: 50, Preference: corev1.NodeSelectorTerm{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: k, Operator: corev1.NodeSelectorOpIn, Values: []string{m[k]}}}}})
	}
	return &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: terms}
}

// topologyKey returns the node label for KEY.
func topologyKey(key string) string {
	if key == "host" {
		return corev1.LabelHostname
	}
	return key
}

func parsePodAffinityTerm(s string) (corev1.PodAffinityTerm, error) {
	key, match, _ := strings.Cut(s, ":")
	m, err := parseLabels(match)
	if err != nil || key == "" {
		return corev1.PodAffinityTerm{}, errors.New("KEY:a=b, such as zone:app=web or host:app=web")
	}
	return corev1.PodAffinityTerm{TopologyKey: topologyKey(key), LabelSelector: &metav1.LabelSelector{MatchLabels: m}}, nil
}

func parseSpreadConstraint(s string) (c corev1.TopologySpreadConstraint, err error) {
	parts := strings.Split(s, ":")
	c.WhenUnsatisfiable = corev1.DoNotSchedule
	if len(parts) == 4 && parts[2] == "soft" {
		c.WhenUnsatisfiable = corev1.ScheduleAnyway
		parts = append(parts[:2], parts[3])
	}
	errWant := errors.New("KEY:SKEW:a=b or KEY:SKEW:soft:a=b, such as zone:1:app=web")
	if len(parts) != 3 || parts[0] == "" {
		return c, errWant
	}
	skew, err := strconv.ParseInt(parts[1], 10, 32)
	if err != nil || skew < 1 {
		return c, errWant
	}
	m, err := parseLabels(parts[2])
	if err != nil {
		return c, fmt.Errorf("%w (%w)", errWant, err)
	}
	c.TopologyKey, c.MaxSkew, c.LabelSelector = topologyKey(parts[0]), int32(skew), &metav1.LabelSelector{MatchLabels: m}
	return c, nil
}
