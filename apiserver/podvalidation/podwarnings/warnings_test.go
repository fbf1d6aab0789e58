package podwarnings

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/podvalidation/poddefaults"
	"github.com/berthproject/berth/apiserver/podvalidation/podtest"
)

func TestPodWarnings(t *testing.T) {
	for _, tc := range []struct {
		name, patch string
		want        []string
	}{
		{"a minimal pod has none", ``, nil},
		{"a name with a dot is not a DNS label", `metadata: {name: a.b}`,
			[]string{`metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: [must not contain dots]`}},
		{"memory is whole bytes", `spec: {containers: [{name: c, image: x, resources: {limits: {memory: 100m}}}]}`,
			[]string{`spec.containers[0].resources.limits[memory]: fractional byte value "100m" is invalid, must be an integer`,
				`spec.containers[0].resources.requests[memory]: fractional byte value "100m" is invalid, must be an integer`}},
		{"a variable hides another", `spec: {containers: [{name: c, image: x, env: [{name: A, value: a}, {name: A, value: b}, {name: A, value: "$(A)c"}]}]}`,
			[]string{`spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when using apply`}},
		{"a port has two definitions", `spec: {containers: [{name: c, image: x, ports: [{containerPort: 1}]}, {name: d, image: x, ports: [{containerPort: 1}]}]}`,
			[]string{`spec.containers[1].ports[0]: duplicate port definition with spec.containers[0].ports[0]`}},
		{"a node label was renamed", `spec: {nodeSelector: {beta.kubernetes.io/os: linux}}`,
			[]string{`spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead`}},
		{"a topology label was renamed", `spec: {topologySpreadConstraints: [{maxSkew: 1, whenUnsatisfiable: DoNotSchedule, labelSelector: {}, topologyKey: failure-domain.beta.kubernetes.io/zone}]}`,
			[]string{`spec.topologySpreadConstraints[0].topologyKey: failure-domain.beta.kubernetes.io/zone is deprecated since v1.17; use "topology.kubernetes.io/zone" instead`}},
		{"a missing selector selects no pods", `spec: {topologySpreadConstraints: [{maxSkew: 1, whenUnsatisfiable: DoNotSchedule, topologyKey: z}]}`,
			[]string{`spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod`}},
		{"a volume plugin was removed", `spec: {volumes: [{name: v, glusterfs: {endpoints: e, path: p}}]}`,
			[]string{`spec.volumes[0].glusterfs: deprecated in v1.25, non-functional in v1.26+`}},
		{"a pull secret has no name", `spec: {imagePullSecrets: [{name: ""}]}`,
			[]string{`spec.imagePullSecrets[0].name: invalid empty name ""`}},
		{"an alias is repeated", `spec: {hostAliases: [{ip: 10.0.0.1, hostnames: [a]}, {ip: 10.0.0.1, hostnames: [b]}]}`,
			[]string{`spec.hostAliases[1].ip: duplicate ip "10.0.0.1"`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := PodWarnings(t.Context(), defaultedPod(t, tc.patch), nil); !slices.Equal(got, tc.want) {
				t.Errorf("\n got %q\nwant %q", got, tc.want)
			}
		})
	}
}

func TestPodTemplateWarningsHavePath(t *testing.T) {
	pod := defaultedPod(t, `spec: {nodeSelector: {beta.kubernetes.io/os: linux}}`)
	template := &corev1.PodTemplateSpec{Spec: pod.Spec}
	got := PodTemplateWarnings(t.Context(), field.NewPath("spec", "template"), template, nil)
	want := `spec.template.spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead`
	if len(got) != 1 || got[0] != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// defaultedPod returns the test pod with a patch and defaults.
func defaultedPod(t *testing.T, patch string) *corev1.Pod {
	t.Helper()
	pod := podtest.Pod(t, patch)
	poddefaults.DefaultPod(pod)
	return pod
}
