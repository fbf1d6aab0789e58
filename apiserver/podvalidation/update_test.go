package podvalidation

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/podvalidation/poddefaults"
	"github.com/berthproject/berth/apiserver/podvalidation/podstrategy"
	"github.com/berthproject/berth/apiserver/podvalidation/podtest"
)

// change is an update of a pod with its expected errors.
type change struct {
	name, before, after string
	want                []string
}

// checkChanges compares the first line of each error, because diffs are not stable.
func checkChanges(t *testing.T, changes []change, update func(newPod, oldPod *corev1.Pod) field.ErrorList) {
	t.Helper()
	for _, c := range changes {
		t.Run(c.name, func(t *testing.T) {
			oldPod, newPod := storedPod(t, c.before), podtest.Pod(t, c.after)
			poddefaults.DefaultPod(newPod)
			newPod.ResourceVersion = "1"
			errs := update(newPod, oldPod)
			for _, err := range errs {
				err.Detail, _, _ = strings.Cut(err.Detail, "\n")
			}
			wantErrors(t, errs, c.want)
		})
	}
}

const immutableSpec = "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`," +
	"`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations)," +
	"`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"

func TestPodUpdateIsValidated(t *testing.T) {
	checkChanges(t, []change{
		{"the image is mutable", ``, `spec: {containers: [{name: c, image: "app:2", imagePullPolicy: IfNotPresent}]}`, nil},
		{"the host name is immutable", ``, `spec: {hostname: h}`, []string{immutableSpec}},
		{"the grace period is immutable", ``, `spec: {terminationGracePeriodSeconds: 1}`, []string{immutableSpec}},
		{"containers cannot be added", ``, `spec: {containers: [{name: c, image: x}, {name: d, image: x}]}`,
			[]string{`spec.containers: Forbidden: pod updates may not add or remove containers`}},
		{"tolerationSeconds is mutable", `spec: {tolerations: [{key: k, operator: Exists, effect: NoExecute}]}`,
			`spec: {tolerations: [{key: k, operator: Exists, effect: NoExecute, tolerationSeconds: 5}]}`, nil},
		{"the value of a toleration is immutable", `spec: {tolerations: [{key: k, value: v}]}`, `spec: {tolerations: [{key: k, value: w}]}`,
			[]string{`spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds`}},
		{"the deadline can be decreased", `spec: {activeDeadlineSeconds: 9}`, `spec: {activeDeadlineSeconds: 8}`, nil},
		{"scheduling gates can be removed", `spec: {schedulingGates: [{name: a}, {name: b}]}`, `spec: {schedulingGates: [{name: b}]}`, nil},
		{"preferred node affinity of a gated pod is mutable", `spec: {schedulingGates: [{name: a}]}`,
			`spec: {schedulingGates: [{name: a}], affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {matchExpressions: [{key: k, operator: Exists}]}}]}}}`, nil},
		{"required node affinity can be added to a gated pod", `spec: {schedulingGates: [{name: a}]}`,
			`spec: {schedulingGates: [{name: a}], affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: k, operator: Exists}]}]}}}}`, nil},
	}, func(newPod, oldPod *corev1.Pod) field.ErrorList {
		podstrategy.PrepareForUpdate(newPod, oldPod)
		return ValidatePodUpdate(newPod, oldPod)
	})
}

func TestGatedPodUpdateIsValidated(t *testing.T) {
	gated := func(terms string) string {
		return `spec: {schedulingGates: [{name: a}], affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: ` + terms + `}}}}`
	}
	const path = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
	k, l := `{matchExpressions: [{key: k, operator: Exists}]}`, `{matchExpressions: [{key: l, operator: Exists}]}`
	checkChanges(t, []change{
		{"a requirement is added", gated("[" + k + "]"), gated(`[{matchExpressions: [{key: k, operator: Exists}, {key: l, operator: Exists}]}]`), nil},
		{"a term is added", gated("[" + k + "]"), gated("[" + k + "," + l + "]"),
			[]string{path + `: Invalid value: [{"matchExpressions":[{"key":"k","operator":"Exists"}]},{"matchExpressions":[{"key":"l","operator":"Exists"}]}]: no additions/deletions to non-empty NodeSelectorTerms list are allowed`}},
		{"a requirement is changed", gated("[" + k + "]"), gated("[" + l + "]"),
			[]string{path + `[0]: Invalid value: {"matchExpressions":[{"key":"l","operator":"Exists"}]}: only additions are allowed (no mutations or deletions)`}},
	}, func(newPod, oldPod *corev1.Pod) field.ErrorList {
		podstrategy.PrepareForUpdate(newPod, oldPod)
		return ValidatePodUpdate(newPod, oldPod)
	})
}

func TestPodResizeIsValidated(t *testing.T) {
	resources := func(r string) string { return `spec: {containers: [{name: c, image: x, resources: ` + r + `}]}` }
	checkChanges(t, []change{
		{"a request grows", resources(`{requests: {cpu: 1}}`), resources(`{requests: {cpu: 2}}`), nil},
		{"other changes are ignored", resources(`{requests: {cpu: 1}}`), `spec: {hostname: h, containers: [{name: c, image: z, resources: {requests: {cpu: 1}}}]}`, nil},
		{"a request cannot be removed", resources(`{requests: {cpu: 1, memory: 1Gi}}`), resources(`{requests: {cpu: 1}}`),
			[]string{`spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed`}},
		{"storage cannot change", resources(`{requests: {cpu: 1, ephemeral-storage: 1Gi}}`), resources(`{requests: {cpu: 1, ephemeral-storage: 2Gi}}`),
			[]string{`spec: Forbidden: only cpu and memory resources are mutable`}},
		{"the QoS class cannot change", ``, resources(`{requests: {cpu: 1}}`),
			[]string{`spec: Invalid value: "BestEffort": Pod QOS Class may not change as a result of resizing`}},
	}, func(newPod, oldPod *corev1.Pod) field.ErrorList {
		podstrategy.PrepareForResize(newPod, oldPod)
		return ValidatePodResize(newPod, oldPod)
	})
}

func TestEphemeralContainersUpdateIsValidated(t *testing.T) {
	oldPod := storedPod(t, `spec: {ephemeralContainers: [{name: e, image: x}]}`)
	newPod := oldPod.DeepCopy()
	newPod.Spec.Hostname = "ignored"
	newPod.Spec.EphemeralContainers[0].Image = "z"
	podstrategy.PrepareForEphemeralContainersUpdate(newPod, oldPod)
	errs := ValidatePodEphemeralContainersUpdate(newPod, oldPod)
	if newPod.Spec.Hostname != "" || len(errs) != 1 || !strings.HasPrefix(errs[0].Detail, `existing ephemeral containers "e" may not be changed`) {
		t.Errorf("got host name %q and errors %v, want no host name and one error of container e", newPod.Spec.Hostname, errs)
	}
}
